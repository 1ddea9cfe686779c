# SPDX-License-Identifier: Apache-2.0
"""Networks that are trained: modules in one source that runs under torch.nn and sycl_dnn.nn."""

from models.library import F, cat, nn


class Attention(nn.Module):
    """Self-attention of a sequence."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        """Map (N, T, C) to (N, T, C)."""
        n, t, c = x.shape
        parts = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Perceptron(nn.Module):
    """Two layers with GELU between."""

    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        """Map (N, T, C) to (N, T, C)."""
        return self.down(F.gelu(self.up(x)))


class GPT(nn.Module):
    """A decoder whose blocks normalize first."""

    def __init__(self, vocabulary=1000, length=128, width=256, heads=8, layers=6):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(nn.Embedding(length, width).weight * 0.02)
        self.blocks = nn.ModuleList(
            nn.ModuleList([
                nn.LayerNorm(width), Attention(width, heads, True),
                nn.LayerNorm(width), Perceptron(width),
            ])
            for _ in range(layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, letters):
        """Map (N, T) to logits (N, T, letters)."""
        x = self.tokens(letters) + self.places
        for first, attention, second, perceptron in self.blocks:
            x = x + attention(first(x))
            x = x + perceptron(second(x))
        return self.head(self.norm(x))


class Bert(nn.Module):
    """An encoder whose blocks normalize last, with a head over its tokens."""

    def __init__(self, vocabulary=30522, length=128, width=768, heads=12, layers=12):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(nn.Embedding(length, width).weight * 0.02)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(
            nn.ModuleList([
                Attention(width, heads, False), nn.LayerNorm(width),
                Perceptron(width), nn.LayerNorm(width),
            ])
            for _ in range(layers)
        )  # fmt: skip
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, letters):
        """Map (N, T) to logits (N, 2)."""
        x = self.norm(self.tokens(letters) + self.places)
        for attention, first, perceptron, second in self.blocks:
            x = first(x + attention(x))
            x = second(x + perceptron(x))
        return self.head(F.tanh(self.pooler(x[:, 0])))


class Residual(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x):
        """Map images to images."""
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    """ResNet-18 with the stem of the ImageNet version."""

    def __init__(self, classes=100, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        self.stages = nn.Sequential(*[
            nn.Sequential(Residual(a, b, 1 if i == 0 else 2), Residual(b, b, 1))
            for i, (a, b) in enumerate(zip(widths[:-1], widths[1:], strict=True))
        ])  # fmt: skip
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        """Map images (N, 3, H, W) to logits."""
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.stages(x).mean((2, 3)))


class TimedBlock(nn.Module):
    """Two convolutions with group normalization, and a shortcut; time is added in between."""

    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, inputs), nn.GroupNorm(8, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, t):
        """Map (N, C, H, W) and (N, time) to (N, D, H, W)."""
        y = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class UNet(nn.Module):
    """The network of a diffusion model: it estimates the noise that was added to images."""

    def __init__(self, channels=3, widths=(64, 128, 256), time=128, steps=1000):
        super().__init__()
        self.steps = nn.Embedding(steps, time)
        self.stem = nn.Conv2d(channels, widths[0], 3, padding=1)
        pairs = list(zip((widths[0], *widths[:-1]), widths, strict=True))
        self.down = nn.ModuleList(TimedBlock(a, b, time) for a, b in pairs)
        self.halve = nn.ModuleList(nn.Conv2d(b, b, 3, 2, 1) for _, b in pairs[:-1])
        self.norm = nn.GroupNorm(8, widths[-1])
        self.attention = Attention(widths[-1], 4, False)
        self.middle = TimedBlock(widths[-1], widths[-1], time)
        self.up = nn.ModuleList(TimedBlock(2 * b, a, time) for a, b in reversed(pairs))
        self.widen = nn.ModuleList(nn.Conv2d(a, a, 3, padding=1) for a, _ in reversed(pairs[1:]))
        self.last = nn.GroupNorm(8, widths[0])
        self.out = nn.Conv2d(widths[0], channels, 3, padding=1)

    def forward(self, x, t):
        """Map images and the numbers of their steps to noise."""
        t = F.silu(self.steps(t))
        x, kept = self.stem(x), []
        for i, block in enumerate(self.down):
            x = block(x, t)
            kept.append(x)
            if i < len(self.halve):
                x = self.halve[i](x)
        x = self.middle(self._attended(x), t)
        for i, block in enumerate(self.up):
            x = block(cat([x, kept.pop()], 1), t)
            if i < len(self.widen):
                x = self.widen[i](F.interpolate(x, scale_factor=2.0))
        return self.out(F.silu(self.last(x)))

    def _attended(self, x):
        n, c, h, w = x.shape
        y = self.attention(self.norm(x).view(n, c, h * w).transpose(1, 2))
        return x + y.transpose(1, 2).reshape(n, c, h, w)


class Classifier(nn.Module):
    """A classifier of sentences: a bidirectional LSTM."""

    def __init__(self, vocabulary=10000, width=128, hidden=256, layers=1, classes=4):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, letters):
        """Map (N, T) to logits."""
        y, _ = self.lstm(self.tokens(letters))
        return self.head(y.mean(1))


class Squeeze(nn.Module):
    """Scales channels by a function of the whole image."""

    def __init__(self, channels, inner):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        """Map images to images."""
        scale = self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1))))
        return x * F.hardsigmoid(scale)


class Inverted(nn.Module):
    """MobileNetV3's block: wider, depthwise, squeezed, narrow."""

    def __init__(self, inputs, kernel, inner, outputs, squeezes, hard, stride):
        super().__init__()
        self.is_residual = stride == 1 and inputs == outputs
        act = nn.Hardswish if hard else nn.ReLU
        layers = []
        if inner != inputs:
            layers += [nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner), act()]
        pad = kernel // 2
        depthwise = nn.Conv2d(inner, inner, kernel, stride, pad, groups=inner, bias=False)
        layers += [depthwise, nn.BatchNorm2d(inner), act()]
        if squeezes:
            layers.append(Squeeze(inner, max(8, inner // 4 // 8 * 8)))
        layers += [nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.block = nn.Sequential(*layers)

    def forward(self, x):
        """Map images to images."""
        return x + self.block(x) if self.is_residual else self.block(x)


#: kernel, inner, outputs, squeezes, hard, stride: MobileNetV3-Large, arXiv:1905.02244, table 1.
MOBILE = (
    (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2),
    (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1),
    (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1),
)  # fmt: skip


class MobileNetV3(nn.Module):
    """MobileNetV3-Large."""

    def __init__(self, classes=100, rows=MOBILE):
        super().__init__()
        stem = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish()]
        inputs, blocks = 16, []
        for kernel, inner, outputs, squeezes, hard, stride in rows:
            blocks.append(Inverted(inputs, kernel, inner, outputs, squeezes, hard, stride))
            inputs = outputs
        last = [nn.Conv2d(inputs, 960, 1, bias=False), nn.BatchNorm2d(960), nn.Hardswish()]
        self.features = nn.Sequential(*stem, *blocks, *last)
        self.classifier = nn.Sequential(
            nn.Linear(960, 1280), nn.Hardswish(), nn.Linear(1280, classes)
        )

    def forward(self, x):
        """Map images (N, 3, H, W) to logits."""
        return self.classifier(self.features(x).mean((2, 3)))
