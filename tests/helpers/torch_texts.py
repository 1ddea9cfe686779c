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
    "gpt": (
        """
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.mlp = nn.ModuleDict(dict(fc=nn.Linear(d, 4 * d), proj=nn.Linear(4 * d, d)))

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).flatten(2)
        return x + self.mlp["proj"](F.gelu(self.mlp.fc(self.ln_2(x)), approximate="tanh"))


class Net(nn.Module):
    def __init__(self, vocab=11, d=8, block=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(block, d)
        self.h = nn.Sequential(*[Block(d) for _ in range(2)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx):
        pos = torch.arange(0, idx.shape[1])
        x = self.wte(idx) + self.wpe(pos)
        return self.lm_head(self.ln_f(self.h(x)))[:, -1, :]
""",
        [((2, 6), int)],
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
    "statistics": (
        """
class Net(nn.Module):
    def forward(self, x):
        mean = x.mean(1, True)
        std = x.std(dim=1, keepdim=True)
        top, _ = x.max(dim=1)
        low = x.min(1)[0]
        return torch.cat([((x - mean) / (std + 1e-5)).sum(1), top, low, x.var(1)], dim=-1)
""",
        [(2, 4, 3)],
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
    "shuffled channels": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1, groups=2)

    def forward(self, x):
        n, c, h, w = x.shape
        x = self.conv(x).reshape(n, 2, c // 2, h, w).permute(0, 2, 1, 3, 4).reshape(n, c, h, w)
        return x[:, ::2].squeeze(0).unsqueeze(1).repeat(1, 2, 1, 1)
""",
        [(1, 4, 3, 3)],
    ),
    "transposed matrix": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 4) * 0.5)

    def forward(self, x):
        return (x @ self.weight.transpose(0, 1)).t() + self.weight.T[:1, 0]
""",
        [(2, 4)],
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
