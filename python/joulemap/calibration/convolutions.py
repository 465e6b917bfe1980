"""Convolutions: separate calls of forward, gradient of the data, and gradient of the weight."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from joulemap._burst import Call
from joulemap.calibration.data import Data


class Convolution:
    """A convolution; its methods make calls.

    Parameters
    ----------
    kernel, stride : int
        Edge length of the kernel, and its stride.
    groups : int
        Number of groups of channels; 0: depthwise.
    last : bool
        Whether channels are the last dimension in memory.
    """

    def __init__(self, kernel: int, stride: int = 1, groups: int = 1, *, last: bool = True) -> None:
        self.kernel = kernel
        self.stride = stride
        self.groups = groups
        self.last = last

    def _tensors(self, data: Data, batch: int, channels: int, outputs: int, edge: int) -> tuple[Tensor, Tensor, int]:
        groups = min(self.groups, channels) or channels
        images = data.images(batch, channels, edge, edge, last=self.last)
        weight = data.weight(outputs, channels // groups, self.kernel, self.kernel)
        layout = torch.channels_last if self.last else torch.contiguous_format
        return images, weight.contiguous(memory_format=layout), groups

    def forward(self, data: Data, batch: int, channels: int, outputs: int, edge: int) -> Call:
        """Return the forward call."""
        images, weight, groups = self._tensors(data, batch, channels, outputs, edge)
        stride, padding = self.stride, self.kernel // 2
        return lambda: functional.conv2d(images, weight, None, stride, padding, groups=groups)

    def _backward(
        self, data: Data, batch: int, channels: int, outputs: int, edge: int, gradients: tuple[bool, bool, bool]
    ) -> Call:
        images, weight, groups = self._tensors(data, batch, channels, outputs, edge)
        stride, padding = (self.stride, self.stride), (self.kernel // 2, self.kernel // 2)
        out_edge = (edge + 2 * padding[0] - self.kernel) // self.stride + 1
        gradient = data.images(batch, outputs, out_edge, out_edge, last=self.last)
        backward = torch.ops.aten.convolution_backward.default
        return lambda: backward(
            gradient, images, weight, None, stride, padding, (1, 1), False, (0, 0), groups, list(gradients)
        )

    def data_gradient(self, data: Data, batch: int, channels: int, outputs: int, edge: int) -> Call:
        """Return the call of the gradient of the images."""
        return self._backward(data, batch, channels, outputs, edge, (True, False, False))

    def weight_gradient(self, data: Data, batch: int, channels: int, outputs: int, edge: int) -> Call:
        """Return the call of the gradient of the weight."""
        return self._backward(data, batch, channels, outputs, edge, (False, True, False))
