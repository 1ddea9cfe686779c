# SPDX-License-Identifier: Apache-2.0
"""Kernels of few elements, which the caller's thread interprets: values, order, what is built."""

import pytest
from interpreting import NEEDS_INTERPRETER, output

pytestmark = NEEDS_INTERPRETER


def test_nothing_is_built():
    code = """
x = array(4, 5)
def f(x):
    return (F.roll(x, 1, 1) * 2 - F.exp(x) / 3 + F.sum(x)).sum()
for _ in range(5):
    F.exp(x); F.mul(x, 2.0); F.sum(x, 1)
    value, grad = sycl_dnn.value_and_grad(f)(x)
numbers = x.asnumpy()
expected = 2 - np.exp(numbers) / 3 + numbers.size
print(n_built(), np.allclose(grad.asnumpy(), expected, 1e-5))
"""
    assert output(code).split() == ["0", "True"]


def test_kernels_over_many_elements_are_built():
    code = """
x = array(1000, 1000)
for _ in range(2):
    F.sum(x, 1)[:3]
print(n_built() > 0)
"""
    assert output(code).split() == ["True"]


def test_pending_work_is_awaited():
    code = """
big, part = array(700, 700), array(4, 4)
expected = [(big.asnumpy() @ big.asnumpy())[:4, :4] + i for i in range(40)]
are_equal = []
for i in range(40):
    product = big @ big           # dpnp's
    if i % 2:
        product = F.matmul(big, big)
    product += i                  # after it
    result = F.add(product[:4, :4], part)
    product *= 0                  # the result has been read before
    F.mul(part, 1.0, out=part)
    are_equal.append(np.allclose((result - part).asnumpy(), expected[i], 1e-3, 1e-2))
print(all(are_equal))
"""
    assert output(code).split() == ["True"]


def test_queues_in_order_launch_them():
    code = """
queue = dpctl.SyclQueue(property="in_order")
x = array(4, 5, queue=queue)
for _ in range(3):
    y = F.exp(x)
print(n_built(), np.allclose(y.asnumpy(), np.exp(x.asnumpy())))
"""
    assert output(code).split() == ["1", "True"]


def test_steps_between_primitives():
    code = """
x, w = array(30, 30), array(30, 30)
def f(x):
    for _ in range(4):
        x = F.matmul(x, w) * 0.1
        x = F.roll(x, 1, 0) - F.mean(x, 1, True)
    return (x * x).sum()
y, w_ = x.asnumpy().astype("f8"), w.asnumpy().astype("f8")
for _ in range(4):
    y = y @ w_ * 0.1
    y = np.roll(y, 1, 0) - y.mean(1, keepdims=True)
for _ in range(3):
    value, grad = sycl_dnn.value_and_grad(f)(x)
direction = array(30, 30) * 1e-3
change = (f(x + direction) - f(x - direction)) / 2
print(np.isclose(float(value), (y * y).sum(), 1e-4))
print(np.isclose(float(change), float((grad * direction).sum()), 1e-2))
"""
    assert output(code).split() == ["True", "True"]


@pytest.mark.parametrize("properties", [None, "in_order"])
def test_threads(properties):
    code = f"""
import threading
wrong, options = [], {{}} if {properties!r} is None else {{"property": {properties!r}}}
# Here: the first arrays that threads make at once can block each other in dpnp.
arrays = [dpnp.full(50, n, dtype="f4", sycl_queue=dpctl.SyclQueue(**options)) for n in range(8)]
def run(number):
    x = arrays[number]
    for i in range(300):
        y = F.mul(F.add(x, float(i)), F.sum(x))
        if i % 50 == 0 and not np.allclose(y.asnumpy(), (number + i) * 50 * number):
            wrong.append((number, i))
threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(wrong))
"""
    assert output(code).split() == ["0"]
