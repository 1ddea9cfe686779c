# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks, with exact gradients by reverse-mode differentiation of NumPy.

An expression of `Node` objects computes its value immediately and remembers how to propagate a
gradient back. Plain arrays and numbers are constants in it.

Sizes: T steps, N samples, L layers, D directions (1 or 2), G gates, SLC and SIC channels of
the inputs from the layer below and the previous step, DHC channels of the cell, DIC = DHC or,
with a projection, its output; DLC = DIC, or 2 DIC for ``bidirectional_concat``.

src_layer (T, N, SLC), src_iter (L, D, N, SIC), src_iter_c (L, D, N, DHC), augru_attention
(T, N, 1), weights_layer (L, D, SLC, G, DHC), weights_iter (L, D, SIC, G, DHC), bias
(L, D, G, DHC; linear-before-reset cells: G + 1), weights_peephole (L, D, 3, DHC),
weights_projection (L, D, DHC, DIC) -> dst_layer (T, N, DLC), dst_iter (L, D, N, DIC),
dst_iter_c (L, D, N, DHC). Absent states are 0. The two directions are separate stacks that
meet only in dst_layer.

The forward pass is written once, over `Node` objects. The backward pass differentiates it, so it
reads the forward inputs, and neither the forward outputs nor the workspace.
"""

import numpy as np

from conformance.references.pointwise_primitives import sigmoid as _sigmoid


def _fit(gradient, shape):
    """Sum a gradient over the axes along which a value of this shape was broadcast."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    shared = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return gradient.sum(axis=shared, keepdims=True)


def node(value):
    return value if isinstance(value, Node) else Node(value)


class Node:
    """A value, the nodes it was computed from, and the map of gradients back to each of them."""

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
    """Return an element-wise function, from its value and its derivative at ``x``."""
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
    """Rectifier of a node, with this slope for elements that are not positive."""
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
    """All nodes that ``outputs`` depend on, each after everything that uses it."""
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


def derivatives(outputs, gradients):
    """Propagate ``gradients`` of ``outputs`` back: set ``gradient`` of all their sources."""
    for out, gradient in zip(outputs, gradients, strict=True):
        out.gradient = out.gradient + gradient
    for current in _in_order(outputs):
        for source, back in current.sources:
            source.gradient = source.gradient + _fit(back(current.gradient), source.value.shape)


# --- Recurrent networks: six cells, four directions, any number of layers

INPUTS = (
    "src_layer",
    "src_iter",
    "src_iter_c",
    "augru_attention",
    "weights_layer",
    "weights_iter",
    "weights_peephole",
    "weights_projection",
    "bias",
)
OUTPUTS = ("dst_layer", "dst_iter", "dst_iter_c")

ACTIVATIONS = {
    "eltwise_relu": relu,
    "eltwise_tanh": lambda x, alpha: tanh(x),
    "eltwise_logistic": lambda x, alpha: sigmoid(x),
}


class Cell:
    """One layer in one direction: its weights, and how it computes a step.

    ``step(x, h, c, attention)`` returns the next h and c from this step's input and the last h
    and c. Only the LSTM has a c, and only a cell that ``attends`` reads the attention.
    """

    attends = False

    def __init__(self, inputs, params, layer, direction):
        self.params = params
        at = (layer, direction)
        names = ("weights_layer", "weights_iter", "bias", "weights_peephole", "weights_projection")
        own = {name: inputs[name][at] for name in names if name in inputs}
        self.w, self.u = own["weights_layer"], own["weights_iter"]
        self.b = own.get("bias")
        self.peephole, self.projection = (own.get(name) for name in names[3:])

    def below(self, gate, x):
        """Contribution of the layer below to a gate, with the bias."""
        product = x @ self.w[:, gate]
        return product if self.b is None else product + self.b[gate]

    def before(self, gate, h):
        """Contribution of the previous step to a gate."""
        return h @ self.u[:, gate]


class VanillaRnn(Cell):
    """h' = activation(W x + U h + b)."""

    def step(self, x, h, c, attention):
        activation = ACTIVATIONS[self.params["activation"]]
        return activation(self.below(0, x) + self.before(0, h), self.params.get("alpha", 0.0)), c


class Lstm(Cell):
    """Gates i, f, candidate, o; peephole weights for i, f (last c) and o (new c)."""

    def _gate(self, gate, x, h, c=None, peep=None):
        total = self.below(gate, x) + self.before(gate, h)
        return total if self.peephole is None or c is None else total + self.peephole[peep] * c

    def step(self, x, h, c, attention):
        keep, take = sigmoid(self._gate(1, x, h, c, 1)), sigmoid(self._gate(0, x, h, c, 0))
        new = keep * c + take * tanh(self._gate(2, x, h))
        out = sigmoid(self._gate(3, x, h, new, 2)) * tanh(new)
        return (out if self.projection is None else out @ self.projection), new


class Gru(Cell):
    """Gates u (update), r (reset), o; attention a, if any, turns u into (1 - a) u."""

    def _candidate(self, x, h, reset):
        return tanh(self.below(2, x) + self.before(2, reset * h))

    def step(self, x, h, c, attention):
        update = sigmoid(self.below(0, x) + self.before(0, h))
        reset = sigmoid(self.below(1, x) + self.before(1, h))
        if self.attends:
            update = (1.0 - attention) * update
        return update * h + (1.0 - update) * self._candidate(x, h, reset), c


class LbrGru(Gru):
    """The reset gate acts after the linear map, which has its own, fourth bias."""

    def _candidate(self, x, h, reset):
        linear = self.before(2, h)
        return tanh(self.below(2, x) + reset * (linear if self.b is None else linear + self.b[3]))


class Augru(Gru):
    """GRU with attention."""

    attends = True


class LbrAugru(LbrGru):
    """Linear-before-reset GRU with attention."""

    attends = True


CELLS = {
    "vanilla_rnn": VanillaRnn,
    "lstm": Lstm,
    "gru": Gru,
    "lbr_gru": LbrGru,
    "augru": Augru,
    "lbr_augru": LbrAugru,
}


def _state(inputs, name, layer, direction, channels):
    """Return the initial state (N, channels) of one cell; 0 if it was not given."""
    if name in inputs:
        return inputs[name][layer, direction]
    return Node([[0.0] * channels] * inputs["src_layer"].value.shape[1])


def _stored(params):
    """Return the form of a state between steps: ``state`` rounds it if a cell is quantized."""
    if "state" not in params:
        return lambda h: h
    return lambda h: Node(params["state"](h.value))


def _unroll(cell_type, params, inputs, layer, direction, xs, attention):
    """Run one cell over its inputs: outputs of all steps, and the last h and c."""
    cell = cell_type(inputs, params, layer, direction)
    sic, dhc = inputs["weights_iter"].value.shape[2], inputs["weights_iter"].value.shape[4]
    kept = _stored(params)
    h = kept(_state(inputs, "src_iter", layer, direction, sic))
    c = _state(inputs, "src_iter_c", layer, direction, dhc)
    outputs = []
    for x, a in zip(xs, attention, strict=True):
        h, c = cell.step(x, h, c, a)
        h = kept(h)
        outputs.append(h)
    return outputs, h, c


def _run(cell_type, params, inputs):
    """Run the whole network on nodes: dst_layer, dst_iter, dst_iter_c."""
    layers, directions = inputs["weights_layer"].value.shape[:2]
    steps = range(inputs["src_layer"].value.shape[0])
    ends, h_last, c_last = [], [], []
    for direction in range(directions):
        backwards = direction == 1 or params["direction"] == "unidirectional_right2left"
        order = steps[::-1] if backwards else steps
        xs = [inputs["src_layer"][t] for t in order]
        attention = [inputs["augru_attention"][t] if cell_type.attends else None for t in order]
        for layer in range(layers):
            xs, h, c = _unroll(cell_type, params, inputs, layer, direction, xs, attention)
            h_last.append(h)
            c_last.append(c)
        ends.append(stack(xs[::-1] if backwards else xs))
    places = [d * layers + layer for layer in range(layers) for d in range(directions)]
    summed = params["direction"] == "bidirectional_sum"
    dst_layer = sum(ends[1:], ends[0]) if summed else concatenate(ends)
    return dst_layer, _by_layer(h_last, places, directions), _by_layer(c_last, places, directions)


def _by_layer(states, order, directions):
    """Stack states (N, C) into (L, D, N, C)."""
    ordered = [states[i] for i in order]
    rows = range(0, len(ordered), directions)
    return stack([stack(ordered[i : i + directions]) for i in rows])


def _nodes(arrays):
    return {name: Node(arrays[name]) for name in INPUTS if name in arrays}


def forward(cell, params, arrays):
    """Values of dst_layer, dst_iter and, for the LSTM, dst_iter_c."""
    results = _run(CELLS[cell], params, _nodes(arrays))
    named = dict(zip(OUTPUTS, results, strict=True))
    if cell != "lstm":
        del named["dst_iter_c"]
    return {name: result.value for name, result in named.items()}


def backward(cell, params, arrays):
    """diff_dst_layer, [diff_dst_iter, diff_dst_iter_c] -> a ``diff_`` of every forward input."""
    inputs = _nodes(arrays)
    results = zip(OUTPUTS, _run(CELLS[cell], params, inputs), strict=True)
    pairs = [(node, arrays[f"diff_{name}"]) for name, node in results if f"diff_{name}" in arrays]
    derivatives([node for node, _ in pairs], [gradient for _, gradient in pairs])
    return {f"diff_{name}": node.gradient for name, node in inputs.items()}
