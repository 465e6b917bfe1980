"""Layer by layer while training, forward and backward; the model is clean afterwards."""

import torch
import torch.nn as nn
from measurement import LayerwiseMeasurementTool


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(256, 84)
        self.fc2 = nn.Linear(84, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def count_hooks(model):
    return sum(
        len(m._forward_hooks) + len(m._forward_pre_hooks) + len(m._backward_hooks) + len(m._backward_pre_hooks)
        for m in model.modules()
    )


model = LeNet().cuda()
tool = LayerwiseMeasurementTool("layers.csv", gpu_num=0)
model = tool.start(model)
optimizer = torch.optim.Adam(model.parameters())
losses = []
for step in range(12):
    optimizer.zero_grad()
    loss = nn.functional.nll_loss(
        torch.log_softmax(model(torch.randn(8, 1, 28, 28).cuda()), 1), torch.randint(0, 10, (8,)).cuda()
    )
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
tool.stop()
text = open("layers.csv").read()
print(text)
for name in ("conv1", "conv2", "fc1", "fc2"):
    assert name in text, name
assert count_hooks(model) == 0
assert model(torch.randn(2, 1, 28, 28).cuda()).shape == (2, 10)
assert len(text.splitlines()) >= 5, "a header line and a line a layer"
