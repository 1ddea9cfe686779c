# SPDX-License-Identifier: Apache-2.0
"""Source texts of modules as users write them for torch: tests run each under both libraries."""

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
    "fno2d": (
        """
class SpectralConv2d(nn.Module):
    def __init__(self, cin, cout, m1, m2):
        super().__init__()
        self.cout, self.m1, self.m2 = cout, m1, m2
        shape = (cin, cout, m1, m2)
        self.w1 = nn.Parameter(0.1 * torch.randn(*shape, dtype=torch.complex64))
        self.w2 = nn.Parameter(0.1 * torch.randn(*shape, dtype=torch.complex64))

    def mix(self, a, b):
        return torch.einsum("bixy,ioxy->boxy", a, b)

    def forward(self, x):
        n, _, h, w = x.shape
        x_ft = torch.fft.rfft2(x)
        out_ft = torch.zeros(n, self.cout, h, w // 2 + 1, dtype=torch.cfloat, device=x.device)
        out_ft[:, :, :self.m1, :self.m2] = self.mix(x_ft[:, :, :self.m1, :self.m2], self.w1)
        out_ft[:, :, -self.m1:, :self.m2] = self.mix(x_ft[:, :, -self.m1:, :self.m2], self.w2)
        return torch.fft.irfft2(out_ft, s=(h, w))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Conv2d(1, 3, 1)
        self.conv0, self.conv1 = SpectralConv2d(3, 3, 2, 3), SpectralConv2d(3, 3, 2, 3)
        self.w0, self.w1 = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)
        self.q = nn.Conv2d(3, 1, 1)

    def forward(self, x):
        x = F.pad(self.p(x), [0, 1, 0, 1])
        x = F.gelu(self.conv0(x) + self.w0(x))
        x = self.conv1(x) + self.w1(x)
        return self.q(x[..., :-1, :-1])
""",
        [(2, 1, 7, 7)],
    ),
    "autocorrelation": (
        """
class Net(nn.Module):
    def __init__(self, d=8, heads=2):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        B, L, _ = x.shape
        q, k, v = (m(x).view(B, L, self.heads, -1) for m in (self.q, self.k, self.v))
        q_fft = torch.fft.rfft(q.permute(0, 2, 3, 1).contiguous(), dim=-1)
        k_fft = torch.fft.rfft(k.permute(0, 2, 3, 1).contiguous(), dim=-1)
        corr = torch.fft.irfft(q_fft * torch.conj(k_fft), dim=-1)
        mean_value = torch.mean(torch.mean(corr, dim=1), dim=1)
        weights, delay = torch.topk(mean_value, 2, dim=-1)
        tmp_corr = torch.softmax(weights, dim=-1)
        values = v.permute(0, 2, 3, 1)
        twice = values.repeat(1, 1, 1, 2)
        index = torch.arange(L).view(1, 1, 1, L).expand(values.shape)
        agg = torch.zeros_like(values)
        for i in range(2):
            at = index + delay[:, i].view(B, 1, 1, 1)
            agg = agg + torch.gather(twice, -1, at) * tmp_corr[:, i].view(B, 1, 1, 1)
        return self.o(agg.permute(0, 3, 1, 2).reshape(B, L, -1))
""",
        [(2, 8, 8)],
    ),
    "fourier enhanced block": (
        """
class Net(nn.Module):
    def __init__(self, d=3, modes=(0, 2, 3)):
        super().__init__()
        self.index = list(modes)
        self.weights1 = nn.Parameter(torch.rand(d, d, len(modes), dtype=torch.float))
        self.weights2 = nn.Parameter(torch.rand(d, d, len(modes), dtype=torch.float))

    def multiply(self, order, x, weights):
        if not torch.is_complex(x):
            x = torch.complex(x, torch.zeros_like(x))
        real = torch.einsum(order, x.real, weights.real) - torch.einsum(order, x.imag, weights.imag)
        imag = torch.einsum(order, x.real, weights.imag) + torch.einsum(order, x.imag, weights.real)
        return torch.complex(real, imag)

    def forward(self, x):
        B, C, L = x.shape
        x_ft = torch.fft.rfft(x, dim=-1, norm="ortho")
        out_ft = torch.zeros(B, C, L // 2 + 1, device=x.device, dtype=torch.cfloat)
        for w, i in enumerate(self.index):
            weights = torch.complex(self.weights1, self.weights2)[:, :, w]
            out_ft[:, :, w] = self.multiply("bi,io->bo", x_ft[:, :, i], weights)
        squashed = torch.complex(out_ft.real.tanh(), out_ft.imag.tanh())
        return torch.fft.irfft(squashed / C, n=L, norm="ortho")
""",
        [(2, 3, 9)],
    ),
    "rotary by complex numbers": (
        """
class Net(nn.Module):
    def __init__(self, d=8, length=5):
        super().__init__()
        self.qk = nn.Linear(d, 2 * d)
        freqs = 1.0 / (100.0 ** (torch.arange(0, d, 2).float() / d))
        angles = torch.outer(torch.arange(length).float(), freqs)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def turned(self, x):
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(z * self.freqs_cis[:x.shape[1]]).flatten(-2).type_as(x)

    def forward(self, x):
        q, k = self.qk(x).chunk(2, dim=-1)
        return self.turned(q) @ self.turned(k).transpose(-2, -1)
""",
        [(2, 5, 8)],
    ),
}
