# SPDX-License-Identifier: Apache-2.0
"""Small networks of torch that are converted and compared: text, sequences, images."""

import torch
from torch import nn
from torch.nn import functional as TF


def _double(n_in, n_out):
    """Return two convolutions with batch norms and activations in place."""
    layers = []
    for n in (n_in, n_out):
        conv = nn.Conv2d(n, n_out, 3, padding=1)
        layers += [conv, nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Two levels; one goes up by a transposed convolution, the other by interpolation."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.middle = _double(3, 8), _double(8, 16), _double(16, 32)
        self.up, self.left = nn.ConvTranspose2d(32, 16, 2, 2), _double(32, 16)
        self.wide = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.right, self.out = _double(24, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.second(TF.max_pool2d(a, 2))
        c = self.middle(TF.max_pool2d(b, 2))
        c = self.left(torch.cat([self.up(c), b], 1))
        return self.out(self.right(torch.cat([self.wide(c), a], 1)))


class Block(nn.Module):
    """Attention by hand or by torch's function, and a gate of four times the width."""

    def __init__(self, width, heads, by_hand):
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.ones(16, 16).tril().bool(), persistent=False)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.by_hand:
            scores = (q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5
            scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
            y = scores.softmax(-1) @ v
        else:
            y = TF.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
        return x + self.down(TF.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """A decoder whose last product shares the weights of its embedding."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(40, 32), nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([Block(32, 4, True), Block(32, 4, False)])
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 40, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Sequences(nn.Module):
    """A recurrent layer and a classifier of its last output."""

    def __init__(self, layer, width):
        super().__init__()
        self.layer, self.out = layer, nn.Linear(width, 3)

    def forward(self, x):
        return self.out(self.layer(x)[0][:, -1])


class Encoder(nn.Module):
    """Torch's encoder with a padding mask."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True)
        # In eval(), nested tensors would return zeros for padding.
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, padded):
        return self.encoder(x, src_key_padding_mask=padded)


def networks():
    """Return the functions that create a network and its inputs, by name."""
    recurrent = {"num_layers": 2, "batch_first": True}
    sequence = (4, 7, 6)
    return {
        "U-Net": lambda: (UNet(), torch.randn(4, 3, 16, 16)),
        "GPT": lambda: (GPT(), torch.randint(40, (4, 16))),
        "BiLSTM": lambda: (
            Sequences(nn.LSTM(6, 8, bidirectional=True, **recurrent), 16), torch.randn(sequence)
        ),
        "LSTM with projection": lambda: (
            Sequences(nn.LSTM(6, 8, proj_size=5, **recurrent), 5), torch.randn(sequence)
        ),
        "GRU": lambda: (Sequences(nn.GRU(6, 8, **recurrent), 8), torch.randn(sequence)),
        "RNN": lambda: (
            Sequences(nn.RNN(6, 8, nonlinearity="relu", **recurrent), 8), torch.randn(sequence)
        ),
        "Transformer": lambda: (
            nn.Transformer(16, 4, 1, 1, 32, 0.0, batch_first=True), torch.randn(4, 5, 16),
            torch.randn(4, 6, 16),
        ),
        "TransformerEncoder": lambda: (
            Encoder(), torch.randn(4, 5, 16), torch.arange(5).expand(4, 5) > 3
        ),
    }  # fmt: skip
