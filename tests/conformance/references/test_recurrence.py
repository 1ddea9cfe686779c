# SPDX-License-Identifier: Apache-2.0
"""The references of the RNN cells against their equations, step by step."""

import numpy as np
from cases import CASES
from reference_calls import each, exact, run

from conformance.references import reference


def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def gates(arrays, x, h):
    """Contributions of input and state to every gate, without bias: two arrays (G, N, DHC)."""
    w, u = arrays["weights_layer"][0, 0], arrays["weights_iter"][0, 0]
    return np.einsum("nc,cgd->gnd", x, w), np.einsum("nc,cgd->gnd", h, u)


def step(row, arrays, x, h, c, attention):
    """One step of a cell, written down from its equations: the next h and c."""
    (below, before), b = gates(arrays, x, h), arrays["bias"][0, 0]
    if row == "vanilla_rnn_forward":
        return np.tanh(below[0] + before[0] + b[0]), c
    if row == "lstm_forward":
        total = below + before + b[:, None]
        c = logistic(total[1]) * c + logistic(total[0]) * np.tanh(total[2])
        return logistic(total[3]) * np.tanh(c), c
    u = logistic(below[0] + before[0] + b[0]) * (1 - attention)
    r = logistic(below[1] + before[1] + b[1])
    if row.startswith("lbr"):
        o = np.tanh(below[2] + b[2] + r * (before[2] + b[3]))
    else:
        o = np.tanh(below[2] + b[2] + gates(arrays, x, r * h)[1][2])
    return u * h + (1 - u) * o, c


CELL_ROWS = [row for row in CASES if "src_layer" in CASES[row][0].shapes and "forward" in row]
ONE_CELL = [case for row in CELL_ROWS for case in CASES[row] if case.name in ("long", "right2left")]


@each("case", ONE_CELL, ids=lambda case: case.id)
def test_cell_by_equations(case):
    """One layer in one direction, step by step."""
    arrays, steps = exact(case.inputs()), range(case.shapes["src_layer"][0])
    h, out = arrays["src_iter"][0, 0], {}
    c = arrays.get("src_iter_c", np.zeros((1, 1, 1, 1)))[0, 0]
    attention = arrays.get("augru_attention", np.zeros((len(steps), 1, 1)))
    for t in steps if case.name == "long" else steps[::-1]:
        h, c = step(case.row, arrays, arrays["src_layer"][t], h, c, attention[t])
        out[t] = h
    found = run(case, arrays)
    assert np.allclose(found["dst_layer"], np.stack([out[t] for t in steps]))
    assert np.allclose(found["dst_iter"][0, 0], h)
    assert "dst_iter_c" not in found or np.allclose(found["dst_iter_c"][0, 0], c)


def test_lstm_peephole_and_projection():
    """One step of both, from the equations."""
    case = next(c for c in CASES["lstm_forward"] if c.name == "peephole_projection")
    arrays = exact(case.inputs())
    arrays["src_layer"] = arrays["src_layer"][:1]
    h, c = arrays["src_iter"][0, 0], arrays["src_iter_c"][0, 0]
    i, f, n, o = sum(gates(arrays, arrays["src_layer"][0], h)) + arrays["bias"][0, 0][:, None]
    peep = arrays["weights_peephole"][0, 0]
    c_new = logistic(f + peep[1] * c) * c + logistic(i + peep[0] * c) * np.tanh(n)
    h_new = logistic(o + peep[2] * c_new) * np.tanh(c_new)
    found = run(case, arrays)
    assert np.allclose(found["dst_iter"][0, 0], h_new @ arrays["weights_projection"][0, 0])
    assert np.allclose(found["dst_iter_c"][0, 0], c_new)


@each("row", [row for row in CELL_ROWS if "augru" not in row])
def test_directions_are_two_stacks(row):
    """Bidirectional with two layers: each direction alone, then concatenated or added."""
    for name, join in (("layers_concat", np.dstack), ("layers_sum", sum)):
        case = next(case for case in CASES[row] if case.name == name)
        arrays, alone = exact(case.inputs()), []
        for d, one_way in enumerate(("left2right", "right2left")):
            own = {k: v if k == "src_layer" else v[:, d : d + 1] for k, v in arrays.items()}
            params = case.params | {"direction": f"unidirectional_{one_way}"}
            alone.append(reference(row, params, own))
        found = run(case, arrays)
        assert np.allclose(found["dst_layer"], join([a["dst_layer"] for a in alone]))
        states = np.concatenate([a["dst_iter"] for a in alone], axis=1)
        assert np.allclose(found["dst_iter"], states)


@each("row", [row for row in CELL_ROWS if "augru" not in row])
def test_layers_are_chained(row):
    """A layer reads what the one below wrote."""
    case = next(case for case in CASES[row] if case.name == "layers")
    arrays = exact(case.inputs())
    sequence = arrays["src_layer"]
    for layer in range(len(arrays["bias"])):
        own = {k: v[layer : layer + 1] for k, v in arrays.items()} | {"src_layer": sequence}
        out = reference(row, case.params, own)
        sequence = out["dst_layer"]
    found = run(case, arrays)
    assert np.allclose(found["dst_layer"], sequence)
    assert np.allclose(found["dst_iter"][-1:], out["dst_iter"])
