"""The type of a module: its class and sizes, which decide the cost of a call."""

from __future__ import annotations

from torch import nn


def describe(module: nn.Module) -> str:
    """Return the class of a module and the sizes that decide the cost of a call.

    >>> describe(nn.Linear(768, 3072))
    'Linear(768, 3072)'
    >>> describe(nn.Conv2d(64, 128, 3))
    'Conv2d(64, 128, 3x3)'
    """
    cls = type(module).__name__
    sizes: list[str]
    if isinstance(module, nn.modules.conv._ConvNd):
        sizes = [str(module.in_channels), str(module.out_channels), "x".join(map(str, module.kernel_size))]
        if any(stride != 1 for stride in module.stride):
            sizes.append("stride " + "x".join(map(str, module.stride)))
        if module.groups != 1:
            sizes.append(f"groups {module.groups}")
    elif isinstance(module, nn.Linear):
        sizes = [str(module.in_features), str(module.out_features)]
    elif isinstance(module, nn.MultiheadAttention):
        sizes = [str(module.embed_dim), f"{module.num_heads} heads"]
    elif isinstance(module, nn.modules.batchnorm._NormBase):
        sizes = [str(module.num_features)]
    elif isinstance(module, nn.LayerNorm):
        sizes = ["x".join(map(str, module.normalized_shape))]
    else:  # the shape of its own weight, without its children
        weight = module._parameters.get("weight")
        sizes = [] if weight is None else [str(size) for size in weight.shape]
    return f"{cls}({', '.join(sizes)})" if sizes else cls
