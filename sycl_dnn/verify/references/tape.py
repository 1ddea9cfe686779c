# SPDX-License-Identifier: Apache-2.0
"""Reverse-mode differentiation of NumPy expressions: enough for recurrent cells, exact.

An expression of `Node` objects computes its value at once and remembers how to send a gradient
back. Plain arrays and numbers take part as constants.
"""

import numpy as np

from .eltwise import sigmoid as _sigmoid


def _fit(gradient, shape):
    """Sum a gradient over the axes along which a value of this shape was broadcast."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    shared = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return gradient.sum(axis=shared, keepdims=True)


def node(value):
    """``value`` as a `Node`."""
    return value if isinstance(value, Node) else Node(value)


class Node:
    """A value, the nodes it was computed from, and for each the map of gradients back."""

    __array_ufunc__ = None  # array op node: let the node's reflected method do it

    def __init__(self, value, *sources):
        self.value = np.asarray(value, dtype=np.float64)
        self.sources = sources
        self.gradient = np.zeros(self.value.shape)

    def __add__(self, other):
        other = node(other)
        return Node(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other):
        a, b = self, node(other)
        return Node(a.value * b.value, (a, lambda g: g * b.value), (b, lambda g: g * a.value))

    def __matmul__(self, other):
        a, b = self, node(other)
        back_a, back_b = (lambda g: g @ b.value.T), (lambda g: a.value.T @ g)
        return Node(a.value @ b.value, (a, back_a), (b, back_b))

    def __getitem__(self, index):
        def back(g):
            whole = np.zeros(self.value.shape)
            whole[index] = g
            return whole

        return Node(self.value[index], (self, back))

    def __sub__(self, other):
        return self + node(other) * -1.0

    def __rsub__(self, other):
        return node(other) + self * -1.0

    __radd__, __rmul__ = __add__, __mul__


def apply(x, value, slope):
    """Return a function of single elements, from its value and its derivative at ``x``."""
    return Node(value, (x, lambda g: g * slope))


def sigmoid(x):
    """Logistic function of a node."""
    y = _sigmoid(x.value)
    return apply(x, y, y * (1 - y))


def tanh(x):
    """Hyperbolic tangent of a node."""
    y = np.tanh(x.value)
    return apply(x, y, 1 - y**2)


def relu(x, slope):
    """Rectifier of a node, with this slope for what is not positive."""
    factor = np.where(x.value > 0, 1.0, slope)
    return apply(x, x.value * factor, factor)


def stack(pieces):
    """Nodes of one shape along a new first axis."""
    value = np.stack([p.value for p in pieces])
    back = [lambda g, i=i: g[i] for i in range(len(pieces))]
    return Node(value, *zip(pieces, back, strict=True))


def concatenate(pieces):
    """Nodes of one shape along their last axis."""
    value = np.concatenate([p.value for p in pieces], axis=-1)
    count = len(pieces)
    back = [lambda g, i=i: np.split(g, count, axis=-1)[i] for i in range(count)]
    return Node(value, *zip(pieces, back, strict=True))


def _in_order(outputs):
    """All nodes behind ``outputs``, each after everything that uses it."""
    order, seen, pending = [], set(), [(n, False) for n in outputs]
    while pending:
        current, done = pending.pop()
        if done:
            order.append(current)
        elif id(current) not in seen:
            seen.add(id(current))
            pending.append((current, True))
            pending.extend((source, False) for source, _ in current.sources)
    return reversed(order)


def backward(outputs, gradients):
    """Send ``gradients`` of ``outputs`` back: fills ``gradient`` of every node behind them."""
    for out, gradient in zip(outputs, gradients, strict=True):
        out.gradient = out.gradient + gradient
    for current in _in_order(outputs):
        for source, back in current.sources:
            source.gradient = source.gradient + _fit(back(current.gradient), source.value.shape)
