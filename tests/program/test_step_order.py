# SPDX-License-Identifier: Apache-2.0
"""The order of steps: updates follow their gradients, and every step follows its inputs."""

import random

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import _core, nn, optim
from sycl_dnn import functional as F
from sycl_dnn.program.step_order import ALIGNMENT, freeing_early, largest_need, lifetimes
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Step
from sycl_dnn.trace.values import Storage, Tensor

LARGE = 64


@pytest.fixture
def value(queue):
    """Return a maker of values of as many blocks of the alignment."""
    trace = Trace(_core.Engine(queue))

    def make(blocks):
        desc = layout.row_major((blocks * ALIGNMENT // 4,), "float32")
        return Tensor(trace, Storage(desc), desc, "float32", desc.dims)

    return make


def step(read, *written):
    ins = {str(i): t for i, t in enumerate(read)}
    return Step(None, ins, {f"to{i}": t for i, t in enumerate(written)})


def placed(*values):
    return {id(v.storage): i for i, v in enumerate(values)}


def backward(value, n_layers=3):
    """Return steps that make gradients one after another, and one that updates with each."""
    rate, number = value(1), value(1)
    chain = [value(1) for _ in range(n_layers + 1)]
    grads = [value(LARGE) for _ in range(n_layers)]
    new = [value(LARGE) for _ in range(n_layers)]
    result = [step([a], g, b) for a, g, b in zip(chain, grads, chain[1:], strict=False)]
    scale = [step([number], rate)]
    updates = [step([g, rate], p) for g, p in zip(grads, new, strict=True)]
    return result, scale, updates, placed(number, chain[0], *new)


def test_an_update_follows_its_gradient_with_the_numbers_it_reads(value):
    result, scale, updates, places = backward(value)
    ordered = freeing_early([*result, *scale, *updates], places)
    a, b, c = result
    assert ordered == [*scale, a, updates[0], b, updates[1], c, updates[2]]
    assert largest_need(lifetimes(ordered, places), len(ordered)) < 2 * LARGE * ALIGNMENT


def test_a_copy_of_the_gradient_moves_with_it(value):
    result, scale, updates, places = backward(value, 2)
    (first, second), copies = result, []
    for update in updates:
        copied = value(LARGE)
        copies.append(step([update.inputs["0"]], copied))
        update.inputs["0"] = copied
    ordered = freeing_early([first, second, *scale, *copies, *updates], places)
    assert ordered == [*scale, first, copies[0], updates[0], second, copies[1], updates[1]]


def test_the_order_is_kept_if_reordering_saves_nothing(value):
    a, b, c, end = (value(LARGE) for _ in range(4))
    steps = [step([a], b), step([b], c), step([c], end), step([], value(1))]
    assert freeing_early(steps, placed(a, end)) is steps


def test_overwritten_values_are_read_before(value):
    result, scale, updates, places = backward(value)
    old, late = value(LARGE), value(1)
    # The last reader of a parameter comes after its gradient; the update has the same place.
    reader = step([old], late)
    places[id(old.storage)] = places[id(updates[0].outputs["to0"].storage)]
    ordered = freeing_early([*result, reader, *scale, *updates], places)
    at = {id(one): number for number, one in enumerate(ordered)}
    assert at[id(reader)] < at[id(updates[0])]
    assert at[id(updates[1])] < at[id(result[2])]


def _values_written(steps, places):
    """Return what places hold after the steps, as texts of how they were computed."""
    held = {}

    def place(tensor):
        return places.get(id(tensor.storage), -id(tensor.storage))

    for one in steps:
        read = tuple(held.get(place(t), place(t)) for t in one.inputs.values())
        for name, tensor in one.outputs.items():
            held[place(tensor)] = hash((name, id(one), read))
    return {number: held.get(number) for number in places.values()}


@pytest.mark.parametrize("seed", range(30))
def test_random_steps_give_equal_results_without_more_memory(value, seed):
    draw = random.Random(seed)
    values = [value(draw.choice([1, 1, 2, 40, LARGE])) for _ in range(12)]
    places = {id(v.storage): draw.randrange(3) for v in values[:5]}
    steps = [step([], v) for v in values[5:]]
    for v in draw.choices(values, k=30):
        steps.append(step(draw.sample(values, draw.randrange(1, 4)), v))
    ordered = freeing_early(steps, places)
    assert sorted(map(id, ordered)) == sorted(map(id, steps))
    assert _values_written(ordered, places) == _values_written(steps, places)
    needs = [largest_need(lifetimes(s, places), len(steps)) for s in (ordered, steps)]
    assert needs[0] <= needs[1]


def test_steps_that_read_what_is_written_later_are_refused(value):
    early, late = value(1), value(1)
    with pytest.raises(RuntimeError, match="step 0 reads a value that is written later"):
        lifetimes([step([early], late), step([], early)], {})


@pytest.mark.slow
def test_a_training_step_holds_no_more_than_two_of_its_gradients(queue):
    n_layers, width = 6, 1024  # too large for one step of the host, which holds all its values
    net = nn.Sequential(*[nn.Linear(width, width, bias=False) for _ in range(n_layers)]).to(queue)
    opt = optim.AdamW(1e-3)

    def step(net, state, x):
        loss = sycl_dnn.value_and_grad(lambda net, x: F.mean(F.square(net(x))))
        value, grads = loss(net, x)
        return value, *opt.update(grads, state, net)

    x = dpnp.asarray(np.random.default_rng(0).normal(size=(4, width)), "float32", sycl_queue=queue)
    # One launch of all updates waits for all gradients.
    compiled = sycl_dnn.compile(step, passes={"join_launches": False})
    given = net, opt.init(net), x
    for actual, want in zip(
        *map(sycl_dnn.tree.leaves, (compiled(*given), step(*given))), strict=True
    ):
        np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(want), rtol=1e-4, atol=1e-6)
    # On GPUs an update is many primitives, with intermediate results.
    most = 7.5 if queue.sycl_device.is_gpu else 2.5
    assert compiled.explain(*given).arena_bytes < most * 4 * width * width
