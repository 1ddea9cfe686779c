# SPDX-License-Identifier: Apache-2.0
"""Small recurrent networks as part of a host task."""

import dpnp
import numpy as np
import pytest
from host_steps import compared, rows_of

import sycl_dnn
from sycl_dnn import functional as F

pytestmark = pytest.mark.cpu  # host tasks are for CPUs

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _network(kind, channels, hidden, n_layers, bidirectional, on_queue, bias=True):
    """Return the frozen parameters of a network."""
    rows, n_directions, params = GATES[kind] * hidden, 1 + bidirectional, []
    for layer in range(n_layers):
        inner = channels if layer == 0 else hidden * n_directions
        for _ in range(n_directions):
            shapes = [(rows, inner), (rows, hidden), *([(rows,), (rows,)] if bias else [])]
            params += [sycl_dnn.freeze(on_queue(*s) / hidden**0.5) for s in shapes]
    return params


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(
    ("n_steps", "n", "channels", "hidden", "n_layers", "bidirectional"),
    [(1, 1, 3, 2, 1, False), (7, 1, 16, 32, 1, True), (5, 6, 9, 17, 2, True), (3, 4, 1, 1, 1, 0)],
)
def test_recurrent_networks_are_one_step(
    kind, n_steps, n, channels, hidden, n_layers, bidirectional, on_queue
):
    params = _network(kind, channels, hidden, n_layers, bidirectional, on_queue)
    n_states = n_layers * (1 + bidirectional)
    states = [sycl_dnn.freeze(on_queue(n_states, n, hidden)) for _ in range(1 + (kind == "lstm"))]
    initial = tuple(states) if kind == "lstm" else states[0]

    def run(x):
        y, last = getattr(F, kind)(
            x, initial, params, num_layers=n_layers, bidirectional=bool(bidirectional)
        )
        return y, *(last if isinstance(last, tuple) else (last,))

    is_one = n_layers == 1 and not bidirectional
    row = {"lstm": "lstm_forward", "gru": "lbr_gru_forward"}.get(kind, "vanilla_rnn_forward")
    report = compared(run, on_queue(n_steps, n, channels), tolerance=3e-6, is_scaled=False)
    assert rows_of(report) == [row if is_one else "host_sequence"], str(report)
    assert report.parts[0].implementation == "host"
    assert is_one or row in report.parts[0].fused


def test_states_that_are_arguments_are_left_alone(on_queue):
    params = _network("lstm", 4, 8, 1, False, on_queue)
    h, c = on_queue(1, 2, 8), on_queue(1, 2, 8)
    before = [dpnp.asnumpy(v) for v in (h, c)]
    compiled = sycl_dnn.compile(lambda x, h, c: F.lstm(x, (h, c), params))
    x = on_queue(3, 2, 4)
    first, second = (sycl_dnn.asnumpy(compiled(x, h, c)[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    for array, value in zip((h, c), before, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(array), value)


@pytest.mark.parametrize(
    ("n_steps", "n", "hidden"), [(50, 16, 128), (2, 1, 256)], ids=["many products", "wide state"]
)
def test_large_networks_are_left_to_onednn(n_steps, n, hidden, on_queue):
    params = _network("lstm", 8, hidden, 1, False, on_queue)
    zeros = tuple(sycl_dnn.freeze(on_queue(1, n, hidden) * 0) for _ in range(2))
    report = sycl_dnn.compile(lambda x: F.lstm(x, zeros, params)).explain(on_queue(n_steps, n, 8))
    assert "lstm_forward" in rows_of(report)


def test_weights_that_are_arguments_are_left_to_onednn(on_queue):
    params = [on_queue(12, 3), on_queue(12, 4), on_queue(12), on_queue(12)]
    state = on_queue(1, 2, 4)
    report = sycl_dnn.compile(lambda x, h, p: F.gru(x, h, p)).explain(
        on_queue(5, 2, 3), state, params
    )
    assert "lbr_gru_forward" in rows_of(report)
