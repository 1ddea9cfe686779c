# SPDX-License-Identifier: Apache-2.0
"""Source texts of networks for torch that compute in the frequency domain."""

#: As ``torch_texts.TEXTS``.
FOURIER = {
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
    "global filter": (
        """
class Net(nn.Module):
    def __init__(self, h=4, w=6, d=3):
        super().__init__()
        self.complex_weight = nn.Parameter(torch.randn(h, w // 2 + 1, d, 2) * 0.2)
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        B, H, W, C = x.shape
        x = torch.fft.rfft2(self.norm(x), dim=(1, 2), norm="ortho")
        x = x * torch.view_as_complex(self.complex_weight)
        return torch.fft.irfft2(x, s=(H, W), dim=(1, 2), norm="ortho")
""",
        [(2, 4, 6, 3)],
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
