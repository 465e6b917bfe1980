"""Matrix products: layouts of forward and backward passes, square to narrow shapes, all dtypes."""

from __future__ import annotations

import warnings

import torch
from torch.nn import functional

from joulemap._burst import Call
from joulemap.calibration.data import Data


def product_tn(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply as a Linear computes its output: the weight is transposed."""
    left, right = data.take(rows, inner), data.weight(columns, inner)
    return lambda: left @ right.t()


def product_nn(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply as a Linear computes the gradient of its input."""
    left, right = data.take(rows, inner), data.weight(inner, columns)
    return lambda: left @ right


def product_nt(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply as a Linear computes the gradient of its weight: the left matrix is transposed."""
    left, right = data.take(inner, rows), data.take(inner, columns)
    return lambda: left.t() @ right


def product_bias(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply as a Linear with bias."""
    left, right, bias = data.take(rows, inner), data.weight(columns, inner), data.weight(columns)
    return lambda: functional.linear(left, right, bias)


def product_batched(data: Data, batch: int, rows: int, inner: int, columns: int) -> Call:
    """Compute many small products."""
    left, right = data.take(batch, rows, inner), data.take(batch, inner, columns)
    return lambda: left @ right


def matrix_vector(data: Data, rows: int, columns: int) -> Call:
    """Multiply a matrix by a vector, as in generation of one token."""
    matrix, vector = data.weight(rows, columns), data.take(columns, 1)
    return lambda: matrix @ vector


def product_tf32(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply float32 on tensor cores."""
    plain = product_tn(data, rows, inner, columns)

    def call() -> object:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            return plain()
        finally:
            torch.set_float32_matmul_precision(before)

    return call


def product_int8(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply int8 to int32."""
    left, right = data.take(rows, inner), data.weight(columns, inner)
    return lambda: torch._int_mm(left, right.t())


def product_fp8(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply float8 (e4m3) to bfloat16; the data are drawn as bfloat16."""
    left = data.take(rows, inner).to(torch.float8_e4m3fn)
    right = data.weight(columns, inner).to(torch.float8_e4m3fn)
    scale = torch.ones((), device=data.device)
    return lambda: torch._scaled_mm(left, right.t(), scale, scale, out_dtype=torch.bfloat16)


def sparse_product(data: Data, rows: int, inner: int, columns: int) -> Call:
    """Multiply a sparse matrix (CSR, 2 % filled) by a dense one."""
    values = torch.where(data.mask(rows, inner, share=0.02), data.take(rows, inner), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sparse tensors are in beta
        sparse, dense = values.to_sparse_csr(), data.weight(inner, columns)
    return lambda: sparse @ dense
