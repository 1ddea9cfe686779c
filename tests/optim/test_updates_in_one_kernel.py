# SPDX-License-Identifier: Apache-2.0
"""Steps of Adam and SGD as one kernel for each row: the numbers of the formula, derivatives."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim

SHAPES = {"long": (70_001,), "matrix": (300, 257), "short": (5,), "none": (0, 3)}


def tree_of(queue, seed):
    rng = np.random.default_rng(seed)
    return {
        n: dpnp.asarray(rng.standard_normal(s).astype("f4"), sycl_queue=queue)
        for n, s in SHAPES.items()
    }


def formula(name, steps, lr, decay):
    """The same in float64, by the papers' formulas."""
    p = tree_of(sycl_dnn.default_queue("cpu"), 0)
    p = {n: dpnp.asnumpy(a).astype("f8") for n, a in p.items()}
    m, v = ({n: np.zeros_like(a) for n, a in p.items()} for _ in range(2))
    for t in range(1, steps + 1):
        for n, g in tree_of(sycl_dnn.default_queue("cpu"), t).items():
            g = dpnp.asnumpy(g).astype("f8")
            if name == "AdamW":
                p[n] = p[n] * (1 - lr * decay)
            else:
                g = g + decay * p[n]
            m[n] = 0.9 * m[n] + 0.1 * g
            v[n] = 0.999 * v[n] + 0.001 * g * g
            top = np.sqrt(v[n] / (1 - 0.999**t)) + 1e-8
            p[n] = p[n] - lr * m[n] / (1 - 0.9**t) / top
    return p, m, v


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("schedule", [False, True])
def test_numbers_of_the_formula(name, schedule, queue):
    rate = optim.schedules.constant(0.01) if schedule else 0.01
    opt = getattr(optim, name)(rate, weight_decay=0.1)
    params = tree_of(queue, 0)
    state = opt.init(params)
    for t in range(1, 4):
        params, state = opt.update(tree_of(queue, t), state, params)
    expected = formula(name, 3, 0.01, 0.1)
    for found, numbers in zip((params, state["m"], state["v"]), expected, strict=True):
        for n, array in found.items():
            np.testing.assert_allclose(dpnp.asnumpy(array), numbers[n], rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize(
    "opt",
    [
        optim.AdamW(0.01), optim.Adam(0.01, amsgrad=True), optim.SGD(0.1),
        optim.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    ],
    ids=["AdamW", "amsgrad", "SGD", "momentum"],
)  # fmt: skip
def test_a_parameter_is_read_and_written_once(opt, queue):
    params = tree_of(queue, 0)
    step = sycl_dnn.compile(lambda grads, state, params: opt.update(grads, state, params))
    state = opt.init(params)
    step(params, state, params)
    with sycl_dnn.profile() as p:
        step(params, state, params)
    tensors = [t for r in p.records for t in r.tensors if np.prod(t.shape) >= 70_001]
    n_large = sum(a.size >= 70_001 for a in params.values())
    # Parameter, gradient and state are read, the parameter and its state are written.
    n_slots = len(state) - 1
    assert len(tensors) == n_large * (3 + 2 * n_slots)


@pytest.mark.parametrize("size", [30, 300])
def test_gradients_through_a_step(size, queue):
    opt, x = optim.AdamW(0.01), F.ones(size, size, device=queue)

    def after(scale):
        params = {"w": x, "v": x}
        grads = {"w": F.mul(x, scale), "v": x}
        new, _ = opt.update(grads, opt.init(params), params)
        return F.mean(new["w"])

    actual = sycl_dnn.grad(after)(F.full((), 1e-4, device=queue))
    expected = 0.01 * -1e-8 / (1e-4 + 1e-8) ** 2
    assert float(actual) == pytest.approx(expected, rel=1e-2)


def test_transposed_parameters_keep_their_layout(queue):
    p = dpnp.asarray(np.ones((300, 400), "f4"), sycl_queue=queue).T
    opt = optim.Adam(0.1)
    new, _ = opt.update({"w": p}, opt.init({"w": p}), {"w": p})
    assert new["w"].strides == p.strides
    np.testing.assert_allclose(dpnp.asnumpy(new["w"]), 0.9, rtol=1e-5)
