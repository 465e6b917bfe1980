#!/usr/bin/env python3
"""Write the seeds of fuzz/corpus/collector and .../counters anew.

After a change of src/record/timeline/ring_format.h or of src/record/counters/helper.h.
"""

import struct
from pathlib import Path

PID = 4100000  # as in fuzz_collector.c
NODE_RUN = 4096  # the node of a graph that kernels are of
MAGIC = 1  # 0: the ring is not ready yet; anything else: fuzz_collector.c puts the right one
MS = 1_000_000
T0 = 1_000_000_000
BEGIN, END, MARK, THREAD, NODE, GRAPH_GONE = 1, 2, 3, 4, 5, 6
KERNEL, MEMCPY, MEMSET, LAUNCH, DEVICE, LOST, NOTE, GRAPHS = 1, 2, 3, 4, 5, 6, 7, 8
PHASE, STEP, FORWARD, NVTX = 1, 3, 5, 9


def header(
    writer: str, records: int, *, capacity: int = 16, lost: int = 0, closed: int = 1, realtime: int = 0
) -> bytes:
    """Return a ring's header with `records` records published, none taken."""
    size = 64 if writer == "i" else 32
    out = struct.pack("<QIIiiIIq16s", MAGIC, size, capacity, PID, PID, ord(writer), realtime, T0, b"main")
    out = out.ljust(64, b"\0") + struct.pack("<QQ", records, lost)
    out = out.ljust(192, b"\0") + struct.pack("<IIq", closed, 0, T0 + 900 * MS)
    return out.ljust(256, b"\0")


def span(op: int, t_ms: float, id_: int, name: int = 0, kind: int = 0, type_: int = 0, samples: int = 0) -> bytes:
    """Return a record of a span ring."""
    return struct.pack("<qQIIIBBH", T0 + int(t_ms * MS), id_, name, type_, samples, op, kind, 0)


def kernel(op: int, start_ms: float, end_ms: float, name: int, correlation: int, context: int = 1) -> bytes:
    """Return a record of a kernel ring."""
    times = (T0 + int(start_ms * MS), T0 + int(end_ms * MS))
    return struct.pack("<qqQIIII3I3HBB", *times, NODE_RUN, name, correlation, context, 7, 64, 1, 1, 256, 1, 1, op, 0)


def names(*texts: bytes) -> bytes:
    """Return a names file."""
    return b"".join(struct.pack("<II", i, len(text)) + text for i, text in enumerate(texts, 1))


def file(kind: str, content: bytes) -> bytes:
    """Return one file of an input."""
    return struct.pack("<BH", ord(kind), len(content)) + content


def ring(writer: str, *records: bytes, **options: int) -> bytes:
    """Return a ring file of an input."""
    return file(writer, header(writer, options.pop("published", len(records)), **options) + b"".join(records))


def seeds() -> dict[str, bytes]:
    """Return the inputs by name."""
    texts = file("C", names(b"train", b"blocks.0.attn", b"Linear(8, 8)", b'{"loss": 1.5}'))
    layers = [
        span(BEGIN, 0, 1, 1, PHASE),
        span(BEGIN, 1, 2, 1, STEP, samples=32),
        span(BEGIN, 2, 3, 2, FORWARD, type_=3),
        span(END, 5, 3),
        span(MARK, 6, 0, 2, type_=4),
        span(END, 8, 2),
        span(END, 9, 1),
    ]
    kernels = [
        kernel(DEVICE, 0, 0, 2, 0),
        kernel(LAUNCH, 2.5, 2.6, 0, 11, context=PID),
        kernel(KERNEL, 3, 4, 1, 11),
        kernel(LAUNCH, 2.7, 2.8, 0, 12, context=PID),
        kernel(MEMCPY, 4, 5, 0, 12),
        kernel(MEMSET, 5, 6, 0, 99),
        kernel(LOST, 0, 0, 0, 0),
        kernel(NOTE, 0, 0, 3, 0),
    ]
    nodes = [  # captured in a layer, cloned; its original goes
        span(NODE, 3, 77, samples=1),
        span(NODE, 4, NODE_RUN, samples=2),
        span(NODE, 4.1, NODE_RUN, name=77, samples=2),
        span(NODE, 4.2, 4097, name=5, samples=2),
        span(GRAPH_GONE, 4.5, 0, samples=1),
    ]
    launches = [
        kernel(GRAPHS, 0, 0, 0, 0),
        *(kernel(LAUNCH, 20 + i, 20.1 + i, 0, 20 + i, context=PID) for i in range(3)),
        *(kernel(KERNEL, 30 + i, 30.5 + i, 1, 20 + i) for i in range(3)),
    ]
    kernel_names = file("I", names(b"ampere_gemm", b"GPU-00000000-0000-0000-0000-000000000000", b"CUPTI is taken"))
    return {
        "spans": texts + ring("c", *layers),
        "spans_still_open": texts + ring("c", *layers[:3], closed=0),
        "spans_end_before_begin": texts + ring("c", *reversed(layers)),
        "spans_without_names": ring("c", *layers),
        "spans_lost": texts + ring("c", *layers, lost=12),
        "spans_head_far_ahead": texts + ring("c", *layers, published=2**63),
        "spans_ring_wrapped": texts + ring("c", *layers[:4], capacity=4, published=6),
        "thread_takes_over": texts + ring("c", layers[0], span(THREAD, 1, PID + 1), *layers[1:3]),
        "kernels": texts + kernel_names + ring("c", *layers) + ring("i", *kernels),
        "kernels_realtime": kernel_names + ring("i", *kernels, realtime=1),
        "kernels_without_spans": kernel_names + ring("i", *kernels),
        "nvtx": file("N", names(b"load batch")) + ring("n", span(BEGIN, 1, 1, 1, NVTX), span(END, 2, 1)),
        "graphs": texts + kernel_names + ring("c", *layers) + ring("n", *nodes) + ring("i", *launches),
        "graphs_gone_first": texts + ring("c", *layers) + ring("n", nodes[4], *nodes[:4]) + ring("i", *launches),
        "graphs_before": texts + ring("c", *layers) + ring("n", nodes[3]) + ring("i", *launches),
        "capacity_no_power_of_two": ring("c", *layers, capacity=7),
        "name_cut": file("C", names(b"train")[:-2]) + ring("c", *layers),
        "name_number_huge": file("C", struct.pack("<II", 0xFFFFFFF0, 3) + b"abc") + ring("c", *layers),
        "unknown_ops": ring("c", span(77, 1, 1, 1, 200), span(BEGIN, 1, 2, 1, 99)) + ring("i", kernel(77, 1, 2, 1, 1)),
    }


HELLO, STARTED, SAMPLES, LOST_TIMES, STOPPED, FAULT = 1, 2, 3, 4, 5, 6


def frame(kind: int, content: bytes = b"", *, magic: int = 0x434D504A, size: int | None = None, cpu: int = 1) -> bytes:
    """Return a frame of joulemap-counters."""
    return struct.pack("<IIIIq", magic, kind, len(content) if size is None else size, 0, cpu) + content


def hello(*texts: bytes, metrics: int = 2) -> bytes:
    """Return its first words."""
    return frame(HELLO, struct.pack("<qq", metrics, MS) + b"".join(text + b"\0" for text in texts))


def samples(count: int, *, start: int = 5 * MS, duration: int = MS, told: int | None = None) -> bytes:
    """Return a block of samples of two metrics."""
    data = b"".join(struct.pack("<QQdd", i * MS, duration, 1.5 * i, 100.0) for i in range(count))
    told = count if told is None else told
    return frame(SAMPLES, struct.pack("<qqq", start, start + count * MS, told) + data)


def counter_seeds() -> dict[str, bytes]:
    """Return the inputs of the target counters by name."""
    good = hello(b"GH100", b"sm__cycles_active.sum", b"count", b"dram__throughput.pct", b"%")
    return {
        "run": good + frame(STARTED) + samples(2) + samples(3) + frame(STOPPED),
        "lost": good + frame(STARTED) + samples(2) + frame(LOST_TIMES, struct.pack("<q", 1)) + samples(3),
        "fault": frame(FAULT, b"this user may not read hardware counters\0run as root\0"),
        "fault_later": good + frame(STARTED) + frame(FAULT, b"cuptiPmSamplingStop: it failed\0\0"),
        "fault_without_end": frame(FAULT, b"no end"),
        "hello_of_too_many": hello(b"GH100", b"a", b"count", metrics=2**62),
        "hello_of_too_few": hello(b"GH100", b"a", b"count", metrics=2),
        "samples_outside": good + frame(STARTED) + samples(2, duration=2**63),
        "samples_of_another_count": good + frame(STARTED) + samples(2, told=3),
        "samples_at_once": good + samples(1),
        "frame_cut": (good + frame(STARTED) + samples(4))[:-9],
        "frame_huge": frame(HELLO, size=2**32 - 1),
        "time_that_goes_back": good + frame(STARTED, cpu=0),
        "no_frame": b"what is this? it is no frame at all\n",
    }


def main() -> None:
    """Write them."""
    for target, inputs in (("collector", seeds()), ("counters", counter_seeds())):
        folder = Path(__file__).parent / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in inputs.items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
