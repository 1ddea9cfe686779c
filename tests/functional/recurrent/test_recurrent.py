# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: every kind with every option; frozen weights, dropout, refusals."""

from dataclasses import replace

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device, to_numpy
from functional.recurrent_reference import GATES, by_torch

import sycl_dnn
from sycl_dnn import functional as F


def params_of(kind, c, h, layers=1, sides=1, bias=True, p=None, layout="plain"):
    rows, result = GATES[kind] * h, []
    for layer in range(layers):
        for _ in range(sides):
            result += [Spec((rows, c if layer == 0 else sides * (p or h)), layout=layout)]
            result += [Spec((rows, p or h), layout=layout)]
            result += [Spec((rows,))] * (2 * bias) + [Spec((p, h))] * (p is not None)
    return result


def case(kind, name, t=4, n=3, c=5, h=7, states=True, p=None, x_layout="plain", w_layout="plain",
         alone=False, slack=1.0, **kwargs):  # fmt: skip
    layers, sides = kwargs.get("num_layers", 1), 1 + kwargs.get("bidirectional", False)
    x = (n, t, c) if kwargs.get("batch_first") and not alone else (t, n, c)
    sizes = [(p or h), h] if kind == "lstm" else [h]
    hx = tuple(Spec((layers * sides, s) if alone else (layers * sides, n, s)) for s in sizes)
    hx = hx if kind == "lstm" else hx[0]
    params = params_of(kind, c, h, layers, sides, kwargs.get("bias", True), p, w_layout)
    args = (Spec((t, c) if alone else x, layout=x_layout), hx if states else None, params)
    return Case(
        f"{kind}-{name}", getattr(F, kind), args, kwargs, by_torch(kind),
        slack=slack, on_gpu=name == "plain",
    )  # fmt: skip


COMMON = {
    "plain": {},
    "ones": {"t": 1, "n": 1, "c": 1, "h": 1},
    "no_states": {"states": False},
    "no_bias": {"bias": False},
    "layers": {"num_layers": 3, "c": 3, "h": 4},
    "sides": {"bidirectional": True},
    "layers_sides_batch_first": {"num_layers": 2, "bidirectional": True, "batch_first": True},
    "layers_sides_no_states": {
        "num_layers": 2, "bidirectional": True, "states": False, "bias": False
    },
    "alone": {"alone": True, "batch_first": True},
    "alone_no_states": {"alone": True, "states": False, "num_layers": 2},
    "wide": {"t": 3, "n": 17, "c": 32, "h": 64, "slack": 3.0},
    "strided": {"x_layout": "strided", "w_layout": "strided", "batch_first": True},
    "reversed": {"x_layout": "reversed", "w_layout": "reversed"},
    "transposed": {"x_layout": "transposed", "w_layout": "transposed"},
}  # fmt: skip
LSTM = {
    "projection": {"p": 3},
    "projection_layers_sides": {
        "p": 3, "num_layers": 2, "bidirectional": True, "bias": False, "batch_first": True
    },
    "projection_no_states": {"p": 2, "states": False},
}  # fmt: skip
CASES = [case(kind, name, **kw) for kind in GATES for name, kw in COMMON.items()]
CASES += [case("lstm", name, **kw) for name, kw in LSTM.items()]
NARROW = ("plain", "no_states", "layers_sides_batch_first", "alone")
CASES += [
    replace(c, dtype="bfloat16", slack=3.0 if "layers" in c.name else 1.0)
    for c in CASES
    if c.name.split("-")[1] in NARROW
]
CASES += [c.as_dtype("float16") for c in CASES if c.name.endswith("-plain")][: len(GATES)]
CASES += [c.as_dtype("bfloat16") for c in CASES if c.name == "lstm-projection"]


@pytest.fixture(autouse=True)
def _quiet(recwarn):
    """float16 and bfloat16 with projections run in float32 on the CPU, which warns."""


TestCases = checked(CASES, sweep=8)


def _arrays(kind, queue, t=3, n=2, c=4, h=5, dtype="float32"):
    rng = np.random.default_rng(0)

    def new(*shape):
        return to_device(rng.standard_normal(shape), dtype, queue)

    rows = GATES[kind] * h
    params = [new(rows, c), new(rows, h), new(rows), new(rows)]
    hx = (new(1, n, h), new(1, n, h)) if kind == "lstm" else new(1, n, h)
    return new(t, n, c), hx, params


@pytest.mark.parametrize("kind", GATES)
def test_frozen_weights_are_packed_once(kind, queue):
    x, hx, params = _arrays(kind, queue)
    frozen = [sycl_dnn.freeze(p) for p in params]
    function = getattr(F, kind)
    expected = to_numpy(function(x, hx, params)[0])
    for _ in range(2):
        result = to_numpy(function(x, hx, frozen)[0])  # by the host, in another order
        np.testing.assert_allclose(result, expected, 1e-5, 1e-6)
    packed = [dict(f.packed) for f in frozen]
    longer = dpnp.concatenate([x, x])
    function(longer, hx, frozen)
    function(x, hx, frozen)
    # Another number of steps takes the same copies.
    assert [f.packed.keys() for f in frozen] == [p.keys() for p in packed]
    for f, p in zip(frozen, packed, strict=True):
        assert all(f.packed[k] is p[k] for k in p)


@pytest.mark.parametrize("kind", GATES)
def test_missing_states_are_zeros(kind, queue):
    """Whatever earlier calls left in the scratchpad."""
    x, hx, params = _arrays(kind, queue)
    large, zeros = (
        tuple(s * by for s in hx) if isinstance(hx, tuple) else hx * by for by in (100, 0)
    )
    function = getattr(F, kind)
    expected = to_numpy(function(x, zeros, params)[0])
    for _ in range(3):
        np.testing.assert_allclose(to_numpy(function(x, None, params)[0]), expected, rtol=1e-5)
        function(x, large, params)


@pytest.mark.parametrize("kind", GATES)
def test_gradient_with_frozen_weights(kind, queue):
    x, hx, params = _arrays(kind, queue)
    function = getattr(F, kind)
    y, pullback = sycl_dnn.vjp(function, x, hx, params)
    frozen = [sycl_dnn.freeze(p) for p in params]
    z, frozen_pullback = sycl_dnn.vjp(function, x, hx, frozen)
    expected = to_numpy(pullback((y[0], None))[0])
    np.testing.assert_allclose(to_numpy(frozen_pullback((z[0], None))[0]), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", GATES)
def test_empty_batch(kind, queue):
    x, hx, params = _arrays(kind, queue, n=0)
    y, pullback = sycl_dnn.vjp(getattr(F, kind), x, hx, params)
    assert y[0].shape == (3, 0, 5)
    grads = pullback((y[0], None))
    assert grads[0].shape == x.shape
    assert all(not to_numpy(g).any() for g in grads[2])


@pytest.mark.parametrize("kind", GATES)
def test_dropout_is_applied_between_layers(kind, queue):
    x, _, params = _arrays(kind, queue)
    function = getattr(F, kind)
    once = to_numpy(function(x, None, params)[0])
    alone = function(x, None, params, dropout=1.0, training=True)[0]
    np.testing.assert_array_equal(to_numpy(alone), once)
    second = [to_device(np.ones((p.shape[0], 5)), "float32", queue) for p in params[:2]]
    second += params[2:]
    whole = function(x, None, [*params, *second], num_layers=2, dropout=1.0, training=True)[0]
    silent = dpnp.zeros((3, 2, 5), dtype="float32", sycl_queue=queue)
    np.testing.assert_allclose(
        to_numpy(whole), to_numpy(function(silent, None, second)[0]), atol=1e-6
    )


def test_each_call_draws_a_new_mask(queue):
    x, _, params = _arrays("gru", queue)
    options = {"num_layers": 2, "dropout": 0.5, "training": True}
    twice = [*params, *(to_device(np.ones((15, 5)), "float32", queue),) * 2, *params[2:]]
    first, second = (to_numpy(F.gru(x, None, twice, **options)[0]) for _ in range(2))
    assert (first != second).any()
    y, pullback = sycl_dnn.vjp(F.gru, x, None, twice, **options)
    assert np.isfinite(to_numpy(pullback((y[0], None))[0])).all()


# --- Packed sequences


def test_gradients_ignore_the_padding(queue):
    x = dpnp.ones((3, 2, 2), dtype="f4", sycl_queue=queue)

    def function(x):
        packed = F.pack_padded_sequence(x, (3, 1))
        doubled = packed._replace(data=F.mul(packed.data, 2.0))
        return F.pad_packed_sequence(doubled)[0]

    y, pullback = sycl_dnn.vjp(function, x)
    np.testing.assert_array_equal(dpnp.asnumpy(y)[:, :, 0], [[2, 2], [2, 0], [2, 0]])
    (gradient,) = pullback(dpnp.ones_like(y))
    np.testing.assert_array_equal(dpnp.asnumpy(gradient)[:, :, 0], [[2, 2], [2, 0], [2, 0]])
