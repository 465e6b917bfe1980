"""A loader that fails in the middle of an epoch; calls made outside the with block."""

import torch
from powerdl.highlevel import profile_torch


def loader():
    for step in range(10):
        if step == 4:
            raise OSError("shard 4 is corrupt")
        yield torch.randn(8, 5), torch.randint(0, 2, (8,))


model = torch.nn.Linear(5, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = torch.nn.CrossEntropyLoss()

session = profile_torch()
for call in (
    lambda: session.train(model, [], optimizer, loss, 1),
    lambda: session.infer_tensor(model),
    lambda: session.report(),
):
    try:
        call()
    except RuntimeError as e:
        assert "with" in str(e), e
    else:
        raise AssertionError("used outside the with block")

caught = None
with profile_torch(out_dir="crash", amp=False) as prof:
    try:
        prof.train(model, loader(), optimizer, loss, epochs=1)
    except OSError as e:
        caught = e
    report = prof.report()
assert caught is not None and "shard 4" in str(caught)
rows = report.summary["batch_rows"]
assert len(rows) == 4, rows
assert all(
    set(r) >= {"batch", "batch_size", "time_s", "energy_j", "avg_power_w", "j_per_sample", "throughput_img_s", "loss"}
    for r in rows
)
assert all(r["energy_j"] > 0 for r in rows)
report.export("crash_export")
lines = open("crash_export/batches.csv").read().splitlines()
assert len(lines) == 5 and all(line.count(",") == lines[0].count(",") for line in lines)

# the error of the body itself comes out of the with block
try:
    with profile_torch() as prof:
        raise KeyError("mine")
except KeyError:
    pass
else:
    raise AssertionError("swallowed")
