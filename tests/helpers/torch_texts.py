# SPDX-License-Identifier: Apache-2.0
"""Source texts of modules as users write them for torch: tests run each under both libraries."""

from torch_fourier_texts import FOURIER
from torch_network_texts import NETWORKS

#: By name: the text, which defines ``Net``, and the shapes of the inputs (``int`` for indices).
TEXTS = {
    "resnet block": (
        """
class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.downsample = None
        if stride != 1 or cin != cout:
            self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False),
                                            nn.BatchNorm2d(cout))

    def forward(self, x):
        identity = x
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return F.relu(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([BasicBlock(2, 4, 2), BasicBlock(4, 4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.mean(dim=(2, 3))
""",
        [(3, 2, 8, 8)],
    ),
    "learned parameters": (
        """
class Net(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(n))
        self.shift = nn.Parameter(torch.zeros(1, n), requires_grad=False)
        self.gates = nn.ParameterList([nn.Parameter(torch.full((n,), 0.5)) for _ in range(3)])

    def forward(self, x):
        for i, gate in enumerate(self.gates):
            x = x + torch.tanh(x * gate) / (i + 1)
        return x * self.scale + self.shift
""",
        [(3, 5)],
    ),
    "exponential average": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(4))

    def forward(self, x):
        if self.training:
            self.average = 0.9 * self.average + 0.1 * x.detach().mean(0)
        return x - self.average
""",
        [(3, 4)],
    ),
    "several inputs and results": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bilinear = nn.Bilinear(3, 4, 2)
        self.act = F.relu

    def forward(self, a, b=None):
        y = self.act(self.bilinear(a, b))
        return {"y": y, "both": (a.sum(), [b.abs().amax(dim=1)])}
""",
        [(2, 3), (2, 4)],
    ),
    "initialized by hand": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Conv2d(1, 2, 3)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.constant_(module.weight, 0.25)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        for name, p in module.named_parameters(recurse=False):
            if name == "bias":
                nn.init.ones_(p)

    def forward(self, x):
        return self.b(self.a(x)).flatten(1)
""",
        [(2, 1, 4, 4)],
    ),
    "inverted residual": (
        """
class ConvNormAct(nn.Sequential):
    def __init__(self, cin, cout, k, groups=1):
        padding = (k - 1) // 2
        super().__init__(nn.Conv2d(cin, cout, k, 1, padding, groups=groups, bias=False),
                         nn.BatchNorm2d(cout), nn.Hardswish(inplace=True))


class Net(nn.Module):
    def __init__(self, c=4, t=2):
        super().__init__()
        layers = [ConvNormAct(c, c * t, 1), ConvNormAct(c * t, c * t, 3, groups=c * t)]
        layers.extend([nn.Conv2d(c * t, c, 1, bias=False), nn.BatchNorm2d(c)])
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x)
""",
        [(2, 4, 5, 5)],
    ),
    **NETWORKS,
    **FOURIER,
}
