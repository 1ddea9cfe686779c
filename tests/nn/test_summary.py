# SPDX-License-Identifier: Apache-2.0
"""Summaries: every parameter has a row, and multiplications are counted."""

import pytest

from sycl_dnn import functional as F
from sycl_dnn import nn

E, L, S, N = 8, 5, 4, 2


def attention_flop(n_queries, n_keys, batch, kdim=E, vdim=E, more=0):
    """Of the projections of queries and results, of keys and values, of scores and sums."""
    weights = 2 * n_queries * E * E + n_keys * E * (kdim + vdim)
    return batch * (2 * weights + 4 * n_queries * (n_keys + more) * E)


#: The layer, its inputs, how many operations.
ROWS = [
    (nn.Linear(4, 3), [(2, 4)], 2 * 2 * 4 * 3),
    (nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)], 2 * 2 * 3 * 4 * 5),
    (nn.ConvTranspose1d(4, 6, 3), [(2, 4, 7)], 2 * 2 * 7 * 4 * 6 * 3),
    (nn.RNN(4, 3), [(5, 2, 4)], 2 * 10 * 3 * (4 + 3)),
    (nn.LSTM(8, 16), [(5, 2, 8)], 2 * 10 * 4 * 16 * (8 + 16)),
    (nn.LSTM(4, 3, proj_size=2), [(5, 2, 4)], 2 * 10 * (12 * (4 + 2) + 2 * 3)),
    (nn.GRU(4, 3, 2, bidirectional=True), [(5, 4)], 2 * 5 * 2 * 9 * ((4 + 3) + (6 + 3))),
    (nn.LSTMCell(4, 3), [(2, 4)], 2 * 2 * 12 * (4 + 3)),
    (nn.GRUCell(4, 3), [(4,)], 2 * 9 * (4 + 3)),
    (nn.MultiheadAttention(E, 2), [(L, N, E), (S, N, E), (S, N, E)], attention_flop(L, S, N)),
    (nn.MultiheadAttention(E, 2), [(L, E), (S, E), (S, E)], attention_flop(L, S, 1)),
    (nn.MultiheadAttention(E, 2, kdim=3, vdim=6, batch_first=True),
     [(N, L, E), (N, S, 3), (N, S, 6)], attention_flop(L, S, N, 3, 6)),
    (nn.MultiheadAttention(E, 2, add_bias_kv=True, add_zero_attn=True), [(L, N, E)] * 3,
     attention_flop(L, L, N, more=2)),
    (nn.Embedding(7, 4), None, 0), (nn.LayerNorm(4), [(2, 4)], 0),
]  # fmt: skip


@pytest.mark.parametrize(("net", "shapes", "flop"), ROWS, ids=[str(r[0])[:40] for r in ROWS])
def test_a_single_layer_has_a_row(net, shapes, flop):
    args = [F.arange(3)] if shapes is None else [F.ones(s) for s in shapes]
    found = net.summary(*args)
    assert [(r.name, r.kind) for r in found.rows] == [("", type(net).__name__)]
    assert found.rows[0].n_parameters == found.n_parameters
    assert found.rows[0].flop == flop
    assert type(net).__name__ in str(found)


def test_keyword_arguments_are_counted():
    x = F.ones(L, N, E)
    found = nn.MultiheadAttention(E, 2).summary(value=x, key=x, query=x)
    assert found.rows[0].flop == attention_flop(L, L, N)
    found = nn.ConvTranspose1d(4, 6, 3).summary(input=F.ones(2, 4, 7))
    assert found.rows[0].flop == 2 * 2 * 7 * 4 * 6 * 3


def test_rows_of_a_transformer_have_all_parameters():
    net = nn.TransformerEncoderLayer(8, 2, 16, 0.0)
    found = net.summary(F.ones(L, N, E))
    rows = {row.name: row for row in found.rows}
    assert found.n_parameters == sum(row.n_parameters for row in found.rows) == 600
    assert rows["self_attn"].n_parameters == 4 * 8 * 8 + 4 * 8
    assert rows["self_attn"].flop == attention_flop(L, L, N)
    assert rows["linear1"].flop == 2 * L * N * 8 * 16
    assert "" not in rows
    assert found.nbytes == 4 * 600


class Outer(nn.Module):
    """Its own parameters, a submodule that is never called, and a layer that is called twice."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(F.ones(4))
        self.table = nn.Embedding(4, 4)
        self.body = nn.Sequential(nn.Linear(4, 4), nn.LSTM(4, 4))

    def forward(self, x):
        x = F.linear(x * self.scale, self.table.weight)
        return self.body[0](self.body(x)[0])


def test_own_parameters_and_parts_that_are_not_called_have_a_row():
    found = Outer().summary(F.ones(3, 2, 4))
    counts = [(row.name, row.n_parameters) for row in found.rows]
    lstm = 2 * 16 * 4 + 2 * 16
    assert counts == [("body.0", 20), ("body.1", lstm), ("body.0", 20), ("", 4 + 16)]


def test_tied_parameters_are_counted_where_they_are_used():
    net = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6, bias=False))
    net[1].weight = net[0].weight
    found = net.summary(F.arange(3))
    assert [row.n_parameters for row in found.rows] == [24, 24]
    assert found.n_parameters == 24
