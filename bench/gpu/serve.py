"""A server with batches in flight on a real board: joules a request, a token, prefill and decode apart.

The engine of examples/serve_batched.py with a Llama-like model of 0.9 billion random weights (1.7 GB) answers requests
that come one after the other. Checked are: that the requests' joules and what belongs to none are the run's, within
0.5 %; that they agree with what the sensors had for the phases prefill and decode, which are all of their time; and
what telling the requests costs a step. It takes about a minute.

    python bench/gpu/serve.py --out bench/results/serve.txt
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import joulemap
import torch
from joulemap import _serving as serving
from publish import head, publish

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from serve_batched import Config, Engine, Model, PagedCache, serve

SIZES = Config(width=2048, layers=16, heads=16, kv_heads=4, inner=5632, vocabulary=32000)
SMALL = Config()  # where there is no GPU: the same, to see that it runs
WITHIN = 0.005  # of the run's energy
PHASES_WITHIN = 0.02


def each_token(energy_j: float | None, low_j: float | None, high_j: float | None, tokens: int | None) -> str:
    if energy_j is None or low_j is None or high_j is None or not tokens:
        return "not known"
    return f"{1e3 * energy_j / tokens:.3f} ± {1e3 * (high_j - low_j) / 2 / tokens:.3f} mJ a token ({tokens})"


def telling_us(batch: int = 64) -> float:
    """Microseconds that a step takes to say who is in it, of so many, where one has come or gone."""
    requests = [joulemap.request(f"r{number}", tokens=1) for number in range(batch)]
    times = []
    for turn in range(200):
        began_s = time.perf_counter()
        serving.mark_batch(dict.fromkeys(requests[turn % 2 :], 1))
        times.append(time.perf_counter() - began_s)
    serving.mark_batch({})
    return 1e6 * statistics.median(times)


def check(what: str, figure: float, whole: float, within: float) -> str:
    off = figure / whole - 1
    return f"{what}: {figure:.1f} J of {whole:.1f} J, {100 * off:+.2f} %: {'holds' if abs(off) <= within else 'FAILS'}"


def by_context(costs: list[joulemap.types.RequestCost], bins: int = 4) -> list[str]:
    """Return a line a quarter of the requests, by how long their contexts were at the end: joules a decoded token."""
    known = sorted(
        ((each.prefill_tokens or 0) + (each.decode_tokens or 0), each.decode_j or 0.0, each.decode_tokens or 0)
        for each in costs
    )
    lines = []
    for part in range(bins):
        group = known[part * len(known) // bins : (part + 1) * len(known) // bins]
        tokens = sum(each[2] for each in group)
        if tokens:
            joules = sum(each[1] for each in group)
            lines.append(f"contexts of {group[0][0]} to {group[-1][0]}: decode {1e3 * joules / tokens:.2f} mJ a token")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of a prompt, about")
    parser.add_argument("--answer", type=int, default=128, help="tokens of an answer, about")
    parser.add_argument("--most", type=int, default=16, help="requests in a batch")
    parser.add_argument("--keep", type=Path, help="keep the recording as this file")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()

    cuda = torch.cuda.is_available()
    device, sizes, dtype = ("cuda", SIZES, torch.bfloat16) if cuda else ("cpu", SMALL, torch.float32)
    torch.manual_seed(0)
    model = Model(sizes).to(device, dtype).eval()
    pages = args.most * (2 + 3 * (args.prompt + args.answer) // (2 * PagedCache.page))

    cache = PagedCache(sizes, pages, device, dtype)
    with joulemap.Session(sim=None if cuda else "h200") as warm:  # whose figures nobody asks for
        serve(Engine(warm, model, cache, args.most), 4, args.prompt, 8, sizes.vocabulary)

    with joulemap.Session(args.keep, sim=None if cuda else "h200", overwrite=True) as run:
        run.watch(model)
        engine = Engine(run, model, cache, args.most)
        began_s = time.monotonic()
        serve(engine, args.requests, args.prompt, args.answer, sizes.vocabulary)
        wall_s = time.monotonic() - began_s
        telling = telling_us()
        report = run.report("request")
        totals, costs = report.totals, report.requests()
        phases = {row.path: row for row in run.report("phase") if row.depth == 0}

    requests_j = sum(each.energy_j or 0 for each in costs)
    rest_j = sum(row.energy_j or 0 for row in report if row.depth == 0 and row.kind != "request")
    parts_j = sum(phases[name].energy_j or 0 for name in ("prefill", "decode"))
    lines = [
        *head("serve"),
        f"{sum(each.numel() for each in model.parameters()) / 1e6:.0f} million weights, {engine.steps} steps in "
        f"{wall_s:.1f} s, {totals.tokens} tokens, {engine.preempted} times a request had to make room",
        f"{totals.requests} requests: median {totals.request_median_j:.2f} J, 95 % below {totals.request_p95_j:.2f} J",
        "prefill " + each_token(totals.prefill_j, totals.prefill_low_j, totals.prefill_high_j, totals.prefill_tokens),
        "decode " + each_token(totals.decode_j, totals.decode_low_j, totals.decode_high_j, totals.decode_tokens),
        *by_context(costs),
        check("requests and what belongs to none", requests_j + rest_j, totals.total_energy_j or 0, WITHIN),
        check("requests, against the phases as measured", requests_j, parts_j, PHASES_WITHIN),
        f"telling 64 requests: {telling:.0f} us a step; a step takes {1e3 * wall_s / engine.steps:.2f} ms",
        f"verdict: {report.verdict}",
        report.table(width=110, limit=16, depth=1),
    ]
    publish(lines, args.out)
    if any(line.endswith("FAILS") for line in lines):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
