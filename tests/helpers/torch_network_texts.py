# SPDX-License-Identifier: Apache-2.0
"""Source texts of whole networks for torch that compute with arrays in ``__init__``."""

#: As ``torch_texts.TEXTS``.
NETWORKS = {
    "masked decoder": (
        """
class Attention(nn.Module):
    def __init__(self, width, heads, longest):
        super().__init__()
        self.heads, self.width = heads, width
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        mask = torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest)
        self.register_buffer("mask", mask)

    def forward(self, x):
        n, t, c = x.size()
        split = lambda y: y.view(n, t, self.heads, c // self.heads).transpose(1, 2)
        q, k, v = map(split, self.qkv(x).split(self.width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(n, t, c))

class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(9, width)
        self.position = nn.Parameter(torch.zeros(1, 12, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.attention = Attention(width, 4, 12)
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.head = nn.Linear(width, 9, bias=False)
        self.head.weight = self.embed.weight
        self.apply(self._start)
        for name, p in self.named_parameters():
            if name.endswith("out.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02)
        self.count = sum(p.numel() for p in self.parameters())

    def _start(self, module):
        if isinstance(module, nn.Linear):
            module.weight.data.normal_(mean=0.0, std=0.02)
            if module.bias is not None:
                module.bias.data.zero_()
        elif isinstance(module, nn.LayerNorm):
            module.weight.data.fill_(1.0)

    def forward(self, i):
        x = self.embed(i) + self.position[:, : i.size(1)]
        x = x + self.attention(self.norms[0](x))
        return self.head(x + self.mlp(self.norms[1](x)))
""",
        [((2, 7), int)],
    ),
    "patches and a class token": (
        """
class Net(nn.Module):
    def __init__(self, image=8, patch=4, dim=16, classes=5):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
        n = (image // patch) ** 2
        self.token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.position = nn.Parameter(torch.zeros(1, n + 1, dim))
        nn.init.trunc_normal_(self.position, std=0.02)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.scale = nn.Parameter(1e-1 * torch.ones((dim)), requires_grad=True)
        self.head = nn.Linear(dim, classes)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        token = self.token.expand(x.shape[0], -1, -1)
        x = torch.cat((token, x), dim=1) + self.position
        return self.head(self.block(x * self.scale)[:, 0])
""",
        [(2, 3, 8, 8)],
    ),
    "rotary attention": (
        """
class Net(nn.Module):
    def __init__(self, d=12, heads=2):
        super().__init__()
        self.heads = heads
        self.weight = nn.Parameter(torch.ones(d))
        steps = 1.0 / (10000 ** (torch.arange(0, d // heads, 2).float() / (d // heads)))
        self.register_buffer("steps", steps, persistent=False)
        self.proj = nn.Linear(d, 3 * d, bias=False)
        self.gates = nn.ModuleList([nn.Linear(d, 20, bias=False) for _ in range(2)])
        self.down = nn.Linear(20, d, bias=False)

    def norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    def turned(self, x, cos, sin):
        half = x.shape[-1] // 2
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin

    def forward(self, x):
        n, t, _ = x.shape
        angles = torch.outer(torch.arange(t).float(), self.steps)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        qkv = self.proj(self.norm(x)).view(n, t, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(n, t, -1)
        a, b = (gate(self.norm(x)) for gate in self.gates)
        return x + self.down(F.silu(a) * b)
""",
        [(2, 6, 12)],
    ),
    "waves of positions": (
        """
import math

class Net(nn.Module):
    def __init__(self, d=8, longest=10):
        super().__init__()
        table = torch.zeros(longest, d)
        position = torch.arange(0, longest).float().unsqueeze(1)
        rates = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
        table[:, 0::2] = torch.sin(position * rates)
        table[:, 1::2] = torch.cos(position * rates)
        table = table.unsqueeze(0).transpose(0, 1)
        self.register_buffer("table", table)
        self.register_buffer("none", None)
        self.rnn = nn.GRU(d, 6, num_layers=2, bidirectional=True)
        self.conv = nn.Sequential(nn.Conv1d(12, 6, 3, padding=1), nn.ReLU())
        width = self.conv(torch.zeros(1, 12, 4)).view(1, -1).size(1) // 4
        self.out = nn.Linear(width, 3)
        self.reset()

    def reset(self):
        bound = 1.0 / math.sqrt(self.out.weight.size(1))
        for weight in self.parameters():
            weight.data.uniform_(-bound, bound)

    def forward(self, x):
        x, _ = self.rnn(x + self.table[: x.size(0), :])
        return self.out(self.conv(x.permute(1, 2, 0)).mean(dim=-1))
""",
        [(5, 2, 8)],
    ),
    "down and up again": (
        """
class Gate(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(nn.Linear(c, c // 2), nn.ReLU(inplace=True),
                                nn.Linear(c // 2, c), nn.Sigmoid())
        self.temperature = nn.Parameter(torch.full((1,), 0.5).clamp(min=0.1))

    def forward(self, x):
        n, c, _, _ = x.size()
        y = self.fc(self.pool(x).view(n, c) * self.temperature).view(n, c, 1, 1)
        return x * y.expand_as(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding="same", padding_mode="reflect")
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1))
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.join = nn.Sequential(nn.Conv2d(12, 4, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(4), nn.LeakyReLU(0.1, inplace=True), Gate(4))
        kernel = torch.ones(3, 3) / 9.0
        self.register_buffer("blur", kernel[None, None].repeat(4, 1, 1, 1))

    def forward(self, x):
        a = self.first(x)
        b = self.up(self.down(a))
        dy, dx = a.size()[2] - b.size()[2], a.size()[3] - b.size()[3]
        b = F.pad(b, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        y = self.join(torch.cat([a, b], dim=1))
        return F.conv2d(y, self.blur, padding=1, groups=4)
""",
        [(2, 3, 9, 8)],
    ),
    "graph attention": (
        """
class Net(nn.Module):
    def __init__(self, fin=5, fout=4, heads=2):
        super().__init__()
        self.W = nn.Parameter(torch.empty(size=(heads, fin, fout)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(heads, 2 * fout, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu, self.fout = nn.LeakyReLU(0.2), fout

    def forward(self, h, weights):
        adj = (weights + weights.t()) > 0
        adj = adj | torch.eye(h.size(0)).bool()
        Wh = torch.matmul(h.unsqueeze(0), self.W)
        e = torch.matmul(Wh, self.a[:, :self.fout])
        e = e + torch.matmul(Wh, self.a[:, self.fout:]).transpose(1, 2)
        e = self.leakyrelu(e)
        zero_vec = -9e15 * torch.ones_like(e)
        masked = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(e.masked_fill(~adj, float('-inf')), dim=-1)
        again = F.dropout(F.softmax(masked, dim=-1), 0.6, training=False)
        made = torch.einsum('hij,hjd->ihd', again, Wh).flatten(1)
        return F.elu(torch.matmul(attention, Wh)), made
""",
        [(6, 5), (6, 6)],
    ),
    "coupling flow": (
        """
import math


class Coupling(nn.Module):
    def __init__(self, d, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(d // 2, 8), nn.LeakyReLU(0.2, inplace=True),
                                 nn.Linear(8, d))

    def forward(self, x):
        x1, x2 = torch.chunk(x, 2, dim=-1)
        if self.flip:
            x1, x2 = x2, x1
        s, t = self.net(x1).chunk(2, -1)
        s = torch.tanh(s)
        x2 = x2.mul(s.exp()).add(t)
        if self.flip:
            x1, x2 = x2, x1
        return torch.cat([x1, x2], -1), s.sum(-1)


class Net(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.blocks = nn.ModuleList(Coupling(d, i % 2 == 1) for i in range(3))
        self.log_scale = nn.Parameter(torch.zeros(d))
        self.register_buffer("perm", torch.arange(d - 1, -1, -1))

    def forward(self, x):
        logdet = x.new_zeros(x.size(0))
        for block in self.blocks:
            x, ld = block(x)
            logdet = logdet + ld
            x = x[:, self.perm]
        x = x * torch.exp(self.log_scale)
        logdet += self.log_scale.sum()
        logp = -0.5 * (x.pow(2) + math.log(2 * math.pi)).sum(dim=-1)
        return -(logp + logdet).mean(), x
""",
        [(5, 6)],
    ),
    "drop path and layer scale": (
        """
def drop_path(x, drop_prob: float = 0., training: bool = False, scale_by_keep: bool = True):
    if drop_prob == 0. or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    if keep_prob > 0.0 and scale_by_keep:
        random_tensor.div_(keep_prob)
    return x * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob: float = 0., scale_by_keep: bool = True):
        super(DropPath, self).__init__()
        self.drop_prob = drop_prob
        self.scale_by_keep = scale_by_keep

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training, self.scale_by_keep)

    def extra_repr(self):
        return f'drop_prob={round(self.drop_prob,3):0.3f}'


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-1, inplace=False):
        super().__init__()
        self.inplace = inplace
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        return x.mul_(self.gamma) if self.inplace else x * self.gamma


class Net(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        dpr = [x.item() for x in torch.linspace(0, 0.0, 3)]
        self.norm = nn.LayerNorm(dim)
        self.fc, self.ls = nn.Linear(dim, dim), LayerScale(dim, inplace=True)
        self.drop_path = DropPath(dpr[1])

    def forward(self, x):
        return x + self.drop_path(self.ls(self.fc(self.norm(x))))
""",
        [(3, 2, 4)],
    ),
}
