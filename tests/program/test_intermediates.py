# SPDX-License-Identifier: Apache-2.0
"""Small arrays between the stages of a program with steps of NumPy recur from call to call."""

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace import allocation


def filtered(x, y):
    """Alternate steps of NumPy and programs; the last stage is a program."""
    for _ in range(5):
        x = F.tanh(F.linalg.solve(x @ x.T + y, x)) + y
    return x * 2


def expected(x, y):
    for _ in range(5):
        x = np.tanh(np.linalg.solve(x @ x.T + y, x)) + y
    return x * 2


def matrices(queue, seed):
    values = np.random.default_rng(seed).standard_normal((2, 4, 4)).astype("f4")
    values[1] += 4 * np.eye(4, dtype="f4")
    return values, [dpnp.asarray(v, sycl_queue=queue) for v in values]


def check(result, values):
    np.testing.assert_allclose(result.asnumpy(), expected(*values), rtol=2e-3, atol=2e-4)


@pytest.fixture
def queue():
    return sycl_dnn.default_queue("cpu")


def test_a_later_call_creates_only_its_result(queue, monkeypatch):
    compiled = sycl_dnn.compile(filtered)
    values, arrays = matrices(queue, 0)
    for _ in range(3):
        check(compiled(*arrays), values)
    created = []
    new = allocation.Blank.new
    monkeypatch.setattr(
        allocation.Blank, "new", lambda *args, **kwargs: created.append(1) or new(*args, **kwargs)
    )
    check(compiled(*arrays), values)
    assert len(created) <= 1


def test_calls_that_overlap_have_arrays_of_their_own(queue):
    compiled = sycl_dnn.compile(filtered)
    cases = [matrices(queue, seed) for seed in range(8)]
    compiled.warmup(*cases[0][1])
    results = [compiled(*arrays) for _, arrays in cases]
    for result, (values, _) in zip(results, cases, strict=True):
        check(result, values)


def test_calls_in_threads_have_arrays_of_their_own(queue):
    compiled = sycl_dnn.compile(filtered)
    cases = [matrices(queue, seed) for seed in range(8)]
    compiled.warmup(*cases[0][1])

    def work(number):
        values, arrays = cases[number]
        for _ in range(20):
            check(compiled(*arrays), values)

    in_threads(8, work)


def test_another_queue_has_arrays_of_its_own(queue):
    compiled = sycl_dnn.compile(filtered)
    for seed in range(4):
        other = queue if seed % 2 else type(queue)(queue.sycl_context, queue.sycl_device)
        values, arrays = matrices(other, seed)
        check(compiled(*arrays), values)


def test_a_call_after_one_that_failed_is_right(queue):
    compiled = sycl_dnn.compile(filtered)
    values, arrays = matrices(queue, 1)
    check(compiled(*arrays), values)
    singular = dpnp.zeros((4, 4), dtype="f4", sycl_queue=queue)
    with pytest.raises(dpnp.linalg.LinAlgError):
        compiled(singular, singular)
    check(compiled(*arrays), values)


def test_one_array_read_in_two_layouts(queue):
    def both(x, y):
        u = F.tanh(x)
        return F.linalg.solve(u, F.transpose(u, 0, 1)) + y

    compiled = sycl_dnn.compile(both)
    (a, b), arrays = matrices(queue, 2)
    a = np.tanh(a)
    for _ in range(3):
        np.testing.assert_allclose(
            compiled(*arrays).asnumpy(), np.linalg.solve(a, a.T) + b, rtol=2e-3, atol=1e-3
        )
