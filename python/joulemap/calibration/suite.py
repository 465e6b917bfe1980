"""The kernels of the suite, from which a board model is learnt. A new one is a line.

Sizes are for an H100: 10-50 us, 100-300 us, and 1 ms for heavy kernels. Kernels that are rarely supported, or that may
not be captured in a graph, come last, so that a failed capture does no harm.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from joulemap.calibration import attention as att
from joulemap.calibration import images, memory, norms, optimizers, pointwise, products
from joulemap.calibration.convolutions import Convolution
from joulemap.calibration.kernel import ALL, BOTH, RANDOM, TRAINED, Kernel
from joulemap.calibration.norms import BatchNorm

BF16, FP16, FP32, FP64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
INT8, INT32, INT64 = torch.int8, torch.int32, torch.int64

MI = 2**20
L2 = (4 * MI,)  # operands that stay in the cache of an H100
LARGE = (32 * MI,)

MAX_POOL = partial(functional.max_pool2d, kernel_size=3, stride=2, padding=1)


def _float(x: Tensor) -> Tensor:
    return x.float()


KERNELS: list[Kernel] = [
    # matrix products
    Kernel("product", "tn", products.product_tn, BF16, [(2048, 2048, 2048), (4096, 4096, 4096)], ALL),
    Kernel("product", "tn", products.product_tn, BF16, [(16384, 4096, 4096)], RANDOM),
    Kernel("product", "tn", products.product_tn, BF16, [(16384, 768, 3072)], TRAINED),
    Kernel("product", "nn", products.product_nn, BF16, [(8192, 1024, 4096)], RANDOM),
    Kernel("product", "nt", products.product_nt, BF16, [(1024, 8192, 4096)], BOTH),
    Kernel("product", "bias", products.product_bias, BF16, [(16384, 3072, 768)], TRAINED),
    Kernel("product", "skinny", products.product_tn, BF16, [(401408, 96, 384)], RANDOM),
    Kernel("product", "few-columns", products.product_tn, BF16, [(8192, 4096, 64)], RANDOM),
    Kernel("product", "few-rows", products.product_tn, BF16, [(64, 8192, 8192)], TRAINED),
    Kernel("product", "odd-rows", products.product_tn, BF16, [(8192, 768, 3050)], RANDOM),
    Kernel("product", "odd", products.product_nn, BF16, [(4096, 2047, 4095)], RANDOM),
    Kernel("product", "batched", products.product_batched, BF16, [(6144, 49, 32, 49), (96, 1024, 64, 1024)], RANDOM),
    Kernel("product", "vector", products.matrix_vector, BF16, [(32768, 2048)], TRAINED),
    Kernel("product", "tn", products.product_tn, FP16, [(4096, 4096, 4096)], BOTH),
    Kernel("product", "tf32", products.product_tf32, FP32, [(2048, 2048, 2048), (4096, 4096, 4096)], RANDOM),
    Kernel("product", "tn", products.product_tn, FP32, [(1024, 1024, 1024), (2048, 2048, 2048)], TRAINED),
    Kernel("double", "product-tn", products.product_tn, FP64, [(2048, 2048, 2048)], RANDOM),
    Kernel("double", "add", pointwise.of_two(torch.add), FP64, [(8 * MI,)], RANDOM),
    Kernel("double", "addcmul", pointwise.of_three(torch.addcmul), FP64, [(5 * MI,)], TRAINED),
    Kernel("double", "exp", pointwise.of_one(torch.exp), FP64, [(8 * MI,)], RANDOM),
    # attention: batch, heads, length, width of a head
    Kernel("attention", "plain", att.attention, BF16, [(16, 12, 512, 64)], ALL),
    Kernel("attention", "causal", partial(att.attention, is_causal=True), BF16, [(8, 16, 1024, 64)], TRAINED),
    Kernel("attention", "causal", partial(att.attention, is_causal=True), BF16, [(4, 16, 2048, 128)], BOTH),
    Kernel("attention", "dropout", partial(att.attention, dropout_p=0.1), BF16, [(32, 12, 512, 64)], RANDOM),
    Kernel(
        "attention", "both-ways", att.attention_forward_backward, BF16, [(16, 12, 512, 64), (8, 16, 1024, 128)], RANDOM
    ),
    Kernel(
        "attention",
        "both-ways-causal",
        partial(att.attention_forward_backward, is_causal=True),
        BF16,
        [(8, 16, 1024, 64)],
        TRAINED,
    ),
    Kernel(
        "attention",
        "both-ways-dropout",
        partial(att.attention_forward_backward, dropout_p=0.1),
        BF16,
        [(16, 12, 512, 64)],
        RANDOM,
    ),
    Kernel("attention", "single", att.attention, FP32, [(8, 12, 512, 64)], RANDOM),
    Kernel("attention", "of-one-token", att.attention_one_token, BF16, [(8, 32, 2048, 128)], TRAINED),
    # convolution: batch, channels in and out, edge
    Kernel("convolution", "3x3", Convolution(3).forward, BF16, [(128, 64, 64, 56), (128, 256, 256, 14)], BOTH),
    Kernel("convolution", "3x3-data", Convolution(3).data_gradient, BF16, [(128, 128, 128, 28)], BOTH),
    Kernel("convolution", "3x3-weight", Convolution(3).weight_gradient, BF16, [(128, 128, 128, 28)], BOTH),
    Kernel("convolution", "3x3-stride2", Convolution(3, 2).forward, BF16, [(128, 128, 128, 56)], RANDOM),
    Kernel("convolution", "3x3-stride2-data", Convolution(3, 2).data_gradient, BF16, [(128, 128, 128, 56)], TRAINED),
    Kernel("convolution", "1x1", Convolution(1).forward, BF16, [(64, 512, 128, 28)], ALL),
    Kernel("convolution", "1x1-data", Convolution(1).data_gradient, BF16, [(128, 256, 1024, 14)], TRAINED),
    Kernel("convolution", "1x1-weight", Convolution(1).weight_gradient, BF16, [(128, 256, 1024, 14)], RANDOM),
    Kernel("convolution", "7x7-stem", Convolution(7, 2).forward, BF16, [(128, 3, 64, 224)], RANDOM),
    Kernel("convolution", "7x7-each", Convolution(7, 1, 0).forward, BF16, [(64, 192, 192, 28)], TRAINED),
    Kernel("convolution", "3x3-each", Convolution(3, 1, 0).forward, BF16, [(64, 384, 384, 14)], RANDOM),
    Kernel("convolution", "3x3-each-data", Convolution(3, 1, 0).data_gradient, BF16, [(64, 384, 384, 14)], RANDOM),
    Kernel("convolution", "3x3-each-weight", Convolution(3, 1, 0).weight_gradient, BF16, [(64, 384, 384, 14)], RANDOM),
    Kernel("convolution", "3x3-grouped", Convolution(3, 1, 32).forward, BF16, [(64, 256, 256, 28)], RANDOM),
    Kernel("convolution", "3x3-rows", Convolution(3, last=False).forward, BF16, [(64, 128, 128, 28)], TRAINED),
    Kernel("convolution", "3x3-tf32", Convolution(3).forward, FP32, [(64, 128, 128, 28)], RANDOM),
    Kernel("convolution", "3x3-rows-data", Convolution(3, last=False).data_gradient, FP32, [(32, 128, 128, 28)]),
    # norms, softmax, losses
    Kernel("batch-norm", "train", BatchNorm().forward, BF16, [(128, 64, 56), (128, 512, 7)], ALL),
    Kernel("batch-norm", "train-rows", BatchNorm(last=False).forward, FP32, [(64, 64, 56)], RANDOM),
    Kernel("batch-norm", "backward", BatchNorm().backward, BF16, [(128, 64, 56), (128, 256, 14)], TRAINED),
    Kernel("batch-norm", "inference", BatchNorm(training=False).forward, BF16, [(128, 64, 56)], TRAINED),
    Kernel("norm", "layer", norms.layer_norm, FP32, [(16384, 768)], ALL),
    Kernel("norm", "layer", norms.layer_norm, BF16, [(8192, 4096)], RANDOM),
    Kernel("norm", "layer-backward", norms.layer_norm_backward, FP32, [(16384, 768)], TRAINED),
    Kernel("norm", "layer-backward", norms.layer_norm_backward, BF16, [(8192, 2048)], RANDOM),
    Kernel("norm", "rms-composed", norms.rms_norm, BF16, [(8192, 2048)], BOTH),
    Kernel("norm", "rms-composed-backward", norms.rms_norm_backward, BF16, [(8192, 2048)], RANDOM),
    Kernel("norm", "group", norms.group_norm, BF16, [(64, 128, 28)], RANDOM),
    Kernel("softmax", "forward", norms.softmax, FP32, [(65536, 512)], RANDOM),
    Kernel("softmax", "forward", norms.softmax, BF16, [(2048, 32000), (8192, 1024)], TRAINED),
    Kernel("softmax", "backward", norms.softmax_backward, FP32, [(32768, 512)], RANDOM),
    Kernel("softmax", "cross-entropy", norms.cross_entropy, FP32, [(1024, 32000)], TRAINED),
    # reductions
    Kernel("reduction", "rows", pointwise.of_one(lambda x: x.sum(1)), BF16, [(8192, 3072)], ALL),
    Kernel("reduction", "columns", pointwise.of_one(lambda x: x.sum(0)), BF16, [(16384, 3072)], RANDOM),
    Kernel("reduction", "columns", pointwise.of_one(lambda x: x.sum(0)), FP32, [(16384, 768)], TRAINED),
    Kernel("reduction", "all", pointwise.of_one(torch.sum), FP32, [LARGE, L2], RANDOM),
    Kernel("reduction", "norm", pointwise.of_one(torch.linalg.vector_norm), FP32, [LARGE], TRAINED),
    Kernel("reduction", "argmax", pointwise.of_one(lambda x: x.argmax(-1)), FP32, [(8192, 4096)], RANDOM),
    # elementwise
    Kernel("elementwise", "add", pointwise.of_two(torch.add), BF16, [LARGE, L2], ALL),
    Kernel("elementwise", "add", pointwise.of_two(torch.add), FP32, [LARGE, L2], RANDOM),
    Kernel("elementwise", "mul", pointwise.of_two(torch.mul), BF16, [(12 * MI,)], TRAINED),
    Kernel("elementwise", "mul-scalar", pointwise.of_one(lambda x: x * 1.5), FP32, [(12 * MI,)], RANDOM),
    Kernel("elementwise", "relu", pointwise.of_one(torch.relu), BF16, [LARGE, L2], RANDOM),
    Kernel("elementwise", "relu-in-place", pointwise.in_place(torch.relu_), BF16, [(24 * MI,)], TRAINED),
    Kernel("elementwise", "relu-backward", pointwise.backward(torch.relu), BF16, [(24 * MI,)], RANDOM),
    Kernel("elementwise", "addcmul", pointwise.of_three(torch.addcmul), FP32, [(20 * MI,)], TRAINED),
    Kernel("elementwise", "addcdiv", pointwise.of_three(torch.addcdiv), FP32, [(20 * MI,)], RANDOM),
    Kernel("elementwise", "bias", pointwise.with_channels(torch.add), BF16, [(16384, 3072)], TRAINED),
    Kernel("elementwise", "where", pointwise.with_mask(lambda x, m: torch.where(m, x, 0.5)), FP32, [(32 * MI,)]),
    Kernel("elementwise", "masked-fill", pointwise.with_mask(lambda x, m: x.masked_fill(m, 0.0)), BF16, [LARGE]),
    Kernel("elementwise", "dropout", pointwise.of_one(partial(functional.dropout, p=0.1)), BF16, [LARGE], TRAINED),
    Kernel("elementwise", "dropout", pointwise.of_one(partial(functional.dropout, p=0.1)), FP32, [L2], RANDOM),
    # transcendental
    Kernel("transcendental", "gelu", pointwise.of_one(functional.gelu), BF16, [LARGE, L2], RANDOM),
    Kernel("transcendental", "gelu-backward", pointwise.backward(functional.gelu), BF16, [(24 * MI,)], RANDOM),
    Kernel("transcendental", "silu", pointwise.of_one(functional.silu), BF16, [LARGE], TRAINED),
    Kernel("transcendental", "exp", pointwise.of_one(torch.exp), FP32, [(32 * MI,), L2], RANDOM),
    Kernel("transcendental", "sin", pointwise.of_one(torch.sin), FP32, [(32 * MI,)], TRAINED),
    Kernel("transcendental", "tanh", pointwise.of_one(torch.tanh), FP32, [(16 * MI,)], RANDOM),
    Kernel("transcendental", "rotary", pointwise.of_two(pointwise.rotate_half), BF16, [(65536, 128)], RANDOM),
    # copies and fills
    Kernel("copy", "plain", pointwise.of_one(torch.clone), BF16, [(32 * MI,), L2], ALL),
    Kernel("copy", "to-bf16", memory.copy_to(BF16), FP32, [LARGE, (9 * MI,)], RANDOM),
    Kernel("copy", "to-fp32", pointwise.of_one(_float), BF16, [LARGE], TRAINED),
    Kernel("copy", "transpose", pointwise.of_one(lambda x: x.t().contiguous()), BF16, [(16384, 3072)], RANDOM),
    Kernel("copy", "transpose", pointwise.of_one(lambda x: x.t().contiguous()), FP32, [(8192, 2048)], TRAINED),
    Kernel("copy", "heads", pointwise.of_one(lambda x: x.transpose(1, 2).contiguous()), BF16, [(16, 1024, 16, 64)]),
    Kernel("copy", "cat", memory.cat, BF16, [(16384, 1024)], RANDOM),
    Kernel("copy", "pad", pointwise.of_one(lambda x: functional.pad(x, (1, 1, 1, 1))), BF16, [(4096, 112, 56)]),
    Kernel("copy", "strided", pointwise.of_one(lambda x: x[:, ::2].contiguous()), FP32, [(16384, 2048)], TRAINED),
    Kernel(
        "copy",
        "channels-last",
        images.forward(lambda x: x.contiguous(memory_format=torch.channels_last), last=False),
        BF16,
        [(128, 64, 56)],
    ),
    Kernel("fill", "zero", pointwise.in_place(lambda x: x.zero_()), FP32, [(64 * MI,), L2], ("constant",)),
    Kernel("fill", "one", pointwise.in_place(lambda x: x.fill_(1)), BF16, [(64 * MI,)], ("constant",)),
    # integers and random numbers
    Kernel("integer", "mul", pointwise.of_two(torch.mul), INT32, [(16 * MI,)], RANDOM),
    Kernel("integer", "remainder", pointwise.of_one(lambda x: x.remainder(37)), INT64, [(12 * MI,)], RANDOM),
    Kernel("integer", "bits", pointwise.of_two(lambda x, y: (x ^ y) & 255), INT32, [(12 * MI,)], RANDOM),
    Kernel("integer", "add", pointwise.of_two(torch.add), INT8, [(16 * MI,)], RANDOM),
    Kernel("rng", "uniform", pointwise.in_place(lambda x: x.uniform_()), FP32, [(32 * MI,), L2], RANDOM),
    Kernel("rng", "bernoulli", pointwise.in_place(lambda x: x.bernoulli_(0.5)), FP32, [(32 * MI,)], RANDOM),
    Kernel("rng", "normal", pointwise.in_place(lambda x: x.normal_()), FP32, [(16 * MI,)], RANDOM),
    # images
    Kernel("pooling", "max", images.forward(MAX_POOL), BF16, [(64, 64, 112)]),
    Kernel("pooling", "max-backward", images.backward(MAX_POOL), BF16, [(64, 64, 56)]),
    Kernel("pooling", "mean", images.forward(lambda x: functional.avg_pool2d(x, 2)), BF16, [(128, 128, 56)], TRAINED),
    Kernel("pooling", "mean-backward", images.backward(lambda x: functional.avg_pool2d(x, 2)), BF16, [(128, 64, 56)]),
    Kernel("pooling", "whole", images.forward(lambda x: x.mean((2, 3))), BF16, [(128, 2048, 7)], TRAINED),
    Kernel("resize", "nearest", images.forward(partial(functional.interpolate, scale_factor=2)), BF16, [(32, 128, 28)]),
    Kernel(
        "resize",
        "bilinear",
        images.forward(partial(functional.interpolate, scale_factor=2, mode="bilinear")),
        BF16,
        [(32, 128, 28)],
        TRAINED,
    ),
    Kernel(
        "resize",
        "bilinear-backward",
        images.backward(partial(functional.interpolate, scale_factor=2, mode="bilinear"), last=False),
        FP32,
        [(16, 64, 28)],
    ),
    # optimizers: number of weights
    Kernel("optimizer", "adamw-fused", optimizers.step(torch.optim.AdamW, fused=True), FP32, [(16 * MI,)], TRAINED),
    Kernel("optimizer", "adamw-foreach", optimizers.step(torch.optim.AdamW, foreach=True), FP32, [(12 * MI,)], TRAINED),
    Kernel("optimizer", "sgd-momentum", optimizers.step(torch.optim.SGD, momentum=0.9), FP32, [(16 * MI,)], TRAINED),
    # gathers and scatters
    Kernel("gather", "index-select", memory.index_select, BF16, [(32768, 1024)], ALL),
    Kernel("gather", "gather", memory.gather, FP32, [(8192, 2048)], RANDOM),
    Kernel("gather", "embedding", memory.embedding, BF16, [(32768, 30522, 768)], TRAINED),
    Kernel("scatter", "embedding-backward", memory.embedding_backward, FP32, [(16384, 30522, 768)], RANDOM),
    Kernel("scatter", "scatter-add", memory.scatter_add, FP32, [(4096, 1024)], RANDOM),
    Kernel("scatter", "index-add", memory.index_add, FP32, [(16384, 1024)], RANDOM),
    # sorts and scans
    Kernel("sort", "sort", pointwise.of_one(lambda x: x.sort(-1)), FP32, [(2048, 1024)], RANDOM),
    Kernel("sort", "topk", pointwise.of_one(lambda x: x.topk(32)), FP32, [(1024, 8192)], RANDOM),
    Kernel("sort", "cumsum", pointwise.of_one(lambda x: x.cumsum(-1)), FP32, [(8192, 2048)], RANDOM),
    # not supported by all boards and libraries
    Kernel("product", "int8", products.product_int8, INT8, [(4096, 4096, 4096)], RANDOM),
    Kernel("product", "fp8", products.product_fp8, BF16, [(8192, 4096, 4096)], BOTH),
    Kernel("sparse", "csr-product", products.sparse_product, FP32, [(8192, 4096, 64)], RANDOM),
]
