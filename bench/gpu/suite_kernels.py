"""Do the kernels of joulemap-suite compute what they are named after? Compared with PyTorch, on a GPU.

    python bench/gpu/suite_kernels.py

Prints a line a kernel; the exit code is 1 if one is off. For power alone a wrong product would do, but then nobody
knows what was measured.
"""

from __future__ import annotations

import ctypes as c
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

KERNELS = Path(__file__).parents[2] / "src/suite/kernels"
WIDE_BYTES = 4 * 384 * 128 + 1024  # of shared memory, as src/suite/needs.c has it
MAX_DYNAMIC_SHARED = 8
THREADS = 256
LEAST_FOR_MMA = (8, 0)
HOPPER = (9, 0)


class Work(c.Structure):
    """As common.cuh has it."""

    _fields_ = (
        *((name, c.c_void_p) for name in ("a", "b", "c", "out", "index")),
        ("n", c.c_uint64 * 4),
        ("rounds", c.c_uint32),
        ("seed", c.c_uint32),
    )


def load_nvrtc() -> c.CDLL:
    """Load the libnvrtc of PyTorch's packages, else the loader's."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for library in sorted(Path(place).glob("c*/lib/libnvrtc.so.*")):
            for builtins in library.parent.glob("libnvrtc-builtins.so.*"):
                c.CDLL(str(builtins))
            return c.CDLL(str(library))
    return c.CDLL("libnvrtc.so.13")


NVRTC = load_nvrtc()
CUDA = c.CDLL("libcuda.so.1")


def compiled(source: str, own: bool) -> c.c_void_p:
    """Compile and load a source for this GPU."""
    major, minor = torch.cuda.get_device_capability()
    options = (c.c_char_p * 2)(f"--gpu-architecture=sm_{major}{minor}{'a' if own else ''}".encode(), b"--std=c++14")
    program, module, size = c.c_void_p(), c.c_void_p(), c.c_size_t()
    header = (c.c_char_p * 1)((KERNELS / "common.cuh").read_bytes())
    name = (c.c_char_p * 1)(b"common.cuh")
    text = (KERNELS / f"{source}.cu").read_bytes()
    assert NVRTC.nvrtcCreateProgram(c.byref(program), text, source.encode(), 1, header, name) == 0
    assert NVRTC.nvrtcCompileProgram(program, 2, options) == 0, source
    assert NVRTC.nvrtcGetCUBINSize(program, c.byref(size)) == 0
    image = c.create_string_buffer(size.value)
    assert NVRTC.nvrtcGetCUBIN(program, image) == 0
    assert CUDA.cuModuleLoadData(c.byref(module), image) == 0
    return module


def run(source: str, function: str, n: tuple[int, ...], out: Tensor, *operands: Tensor, own: bool = False) -> Tensor:
    """Launch a kernel twice over, and return `out`."""
    handle = c.c_void_p()
    assert CUDA.cuModuleGetFunction(c.byref(handle), compiled(source, own), function.encode()) == 0, function
    shared = WIDE_BYTES if own else 0
    if own:
        assert CUDA.cuFuncSetAttribute(handle, MAX_DYNAMIC_SHARED, shared) == 0
    work = Work(out=out.data_ptr(), n=(c.c_uint64 * 4)(*n), rounds=2, seed=1)
    for name, operand in zip("abc", operands, strict=False):
        setattr(work, name, operand.data_ptr())
    arguments = (c.c_void_p * 1)(c.addressof(work))
    torch.cuda.synchronize()
    assert CUDA.cuLaunchKernel(handle, 66, 1, 1, THREADS, 1, 1, shared, None, arguments, None) == 0, function
    torch.cuda.synchronize()
    return out


def off_by(got: Tensor, wanted: Tensor) -> float:
    """Return the largest difference, as a part of the largest wanted."""
    return float((got.double() - wanted.double()).abs().max() / wanted.double().abs().max())


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return normal numbers; whole ones up to 40."""
    values = torch.randn(shape, device="cuda")
    return values.to(dtype) if dtype.is_floating_point else (13 * values).clamp(-40, 40).to(dtype)


def product(source: str, function: str, dtype: torch.dtype, out: torch.dtype, *, own: bool = False) -> float:
    """Try a matrix product."""
    m, n, k = 384, 768, 1024
    a, b = numbers(m, k, dtype=dtype), numbers(n, k, dtype=dtype)
    result = torch.zeros(m, n, dtype=out, device="cuda")
    return off_by(run(source, function, (m, n, k, 0), result, a, b, own=own), a.double() @ b.double().T)


def rows(source: str, function: str, wanted: Callable[[Tensor, Tensor, Tensor], Tensor]) -> float:
    """Try what works on rows of fp32, with a gain and a shift."""
    x, gain, shift = numbers(512, 1024), numbers(1024), numbers(1024)
    return off_by(run(source, function, (512, 1024, 0, 0), torch.zeros_like(x), x, gain, shift), wanted(x, gain, shift))


def transposed() -> float:
    """Try the transposition."""
    x = numbers(512, 1024)
    out = torch.zeros(1024, 512, device="cuda")
    return off_by(run("copy", "transpose_fp32", (512, 1024, 0, 0), out, x), x.T)


def convolved() -> float:
    """Try the direct convolution: images channels last, weights by tap, channel in, channel out."""
    batch, channels, outs, edge = 2, 64, 32, 28
    x, weight = numbers(batch, edge, edge, channels), numbers(9, channels, outs)
    out = torch.zeros(batch, edge, edge, outs, device="cuda")
    run("convolution", "direct_3x3_fp32", (batch, channels, outs, edge), out, x, weight)
    filters = weight.view(3, 3, channels, outs).permute(3, 2, 0, 1).double()
    wanted = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2).double(), filters, padding=1)
    return off_by(out, wanted.permute(0, 2, 3, 1))


def main() -> int:
    bf16, fp16, fp32, int8 = torch.bfloat16, torch.float16, torch.float32, torch.int8
    capability = torch.cuda.get_device_capability()
    tried = {
        "single product": (product("single", "product_fp32", fp32, fp32), 1e-5),
        "double product": (product("double", "product_fp64", torch.float64, torch.float64), 1e-12),
        "transpose": (transposed(), 0.0),
        "layer norm": (
            rows("norm", "layer_fp32", lambda x, g, s: torch.nn.functional.layer_norm(x, (1024,), g, s)),
            1e-5,
        ),
        "softmax": (rows("softmax", "forward_fp32", lambda x, _g, _s: x.softmax(1)), 1e-5),
        "convolution": (convolved(), 1e-5),
    }
    ways = [("product", "mma", False)] if capability >= LEAST_FOR_MMA else []
    ways += [("hopper", "wgmma", True)] if capability == HOPPER else []
    for source, name, own in ways:
        for text, dtype, out, most in (
            ("bf16", bf16, bf16, 5e-3),
            ("fp16", fp16, fp16, 1e-3),
            ("tf32", fp32, fp32, 3e-3),
            ("int8", int8, torch.int32, 0.0),
        ):
            tried[f"{name} {text}"] = (product(source, f"{name}_{text}", dtype, out, own=own), most)
    for what, (off, most) in tried.items():
        print(f"{what:16} off by {off:.1e}, {'good' if off <= most else f'MORE THAN {most:.0e}'}")
    return 0 if all(off <= most for off, most in tried.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
