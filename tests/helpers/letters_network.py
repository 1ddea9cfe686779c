# SPDX-License-Identifier: Apache-2.0
"""A small GPT over letters, for tests that train one."""

from sycl_dnn import nn


class GPT(nn.Module):
    """Maps letters (N, T) to logits (N * T, letters); ``mask`` (T, T) is -inf for later ones."""

    def __init__(self, letters, length, width, hidden):
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, 2, hidden, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width))
        self.head = nn.Linear(width, letters)

    def forward(self, letters, mask):
        x = self.letters(letters) + self.places.weight
        return self.head(self.blocks(x, mask, is_causal=True)).reshape(-1, self.head.out_features)
