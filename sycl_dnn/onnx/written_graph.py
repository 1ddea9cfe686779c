# SPDX-License-Identifier: Apache-2.0
"""Graphs of ONNX's operators during export, and symbolic sizes in them."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.errors import UnsupportedOperator
from sycl_dnn.onednn import dtypes

#: Terms of a polynomial: factors by the symbols that they multiply.
Terms = dict[tuple[str, ...], Fraction]
#: The operator set of exported models.
OPSET = 20


def unsupported(name: str, rule: str) -> UnsupportedOperator:
    """Return the error for a function, or a use of it, that the operator set cannot express."""
    error = UnsupportedOperator(
        f"export: {name} has no form in ONNX's operator set {OPSET}: {rule}"
    )
    error.operator, error.version, error.rule = name, OPSET, rule
    return error


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the graph."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    #: Its content, if it is a constant.
    array: np.ndarray | None = None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)


class Ints(tuple[int, ...]):
    """Integers as an input of a node: a shape, axes, limits."""

    __slots__ = ()


class Node(NamedTuple):
    """One node; inputs are names, ``Ints`` or constants."""

    op: str
    inputs: tuple[Any, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


class Recording:
    """The nodes of a function for inputs of certain sizes.

    ``prefix``: prefix of the numbers in names.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.nodes: list[Node] = []
        #: Known shapes, by name of the value.
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._counts: Counter[str] = Counter()

    def node(self, op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or a tuple of several.

        Inputs are values or their names, ``Ints``, NumPy arrays, or None if absent. Attributes of
        None are omitted.
        """
        self._counts[op] += 1
        name = f"{op}:{self._prefix}{self._counts[op]}"
        names = (name, *(f"{name}:{i}" for i in range(1, outputs)))
        operands = [_operand(v) for v in inputs]
        while operands and isinstance(operands[-1], str) and not operands[-1]:
            operands.pop()
        present = {n: v for n, v in attributes.items() if v is not None}
        self.nodes.append(Node(op, tuple(operands), names, present))
        return names if outputs > 1 else name

    def number(self, value: Any, dtype: str) -> np.ndarray:
        """Return a number as a constant of a data type."""
        if dtype == "bfloat16":
            import ml_dtypes

            return np.asarray(value, ml_dtypes.bfloat16)
        return np.asarray(value).astype(dtype)

    def cast(self, value: Value, dtype: str) -> Any:
        """Return a value in a data type."""
        return value if value.dtype == dtype else self.node("Cast", value, to=type_number(dtype))

    def reshaped(self, x: Any, shape: Sequence[int]) -> str:
        """Return the name of a view of another shape, in which 0 is a size, not the input's."""
        return self.node("Reshape", x, Ints(shape), **({"allowzero": 1} if 0 in shape else {}))


def _operand(value: Any) -> Any:
    if isinstance(value, Value):
        return value.name if value.array is None else value.array
    return "" if value is None else value


def type_number(dtype: str) -> int:
    """Return ONNX's number of a data type."""
    from onnx import TensorProto

    if dtypes.is_complex(dtype):
        raise unsupported(f"the data type {dtype}", "its operators have no complex numbers")
    names = {"float32": "FLOAT", "float64": "DOUBLE"}
    number = getattr(TensorProto, names.get(dtype, dtype.upper()), None)
    if number is None:
        raise unsupported(f"the data type {dtype}", "ONNX has no such type")
    return int(number)


def check_types(model: Any) -> None:
    """Check a model; refuse operators with data types that they do not have."""
    from onnx import checker, shape_inference

    try:
        checker.check_model(model, full_check=True)
    except shape_inference.InferenceError as error:
        found = re.search(r"op_type:(\w+), .*?\): (.*)", str(error))
        if found is None:
            raise
        raise unsupported(found[1], found[2]) from error


# --- Sizes that are symbols: the same function recorded for several sizes


class Symbols:
    """Symbolic sizes, and their settings for which a function was recorded.

    ``sources``: by symbol: the name of an input and the axis that has this size; ``settings``:
    sizes by symbol: first some, then each of them changed alone, and last all changed.
    """

    def __init__(
        self, sources: Mapping[str, tuple[str, int]], settings: Sequence[Mapping[str, int]]
    ) -> None:
        self.sources, self.settings = dict(sources), list(settings)
        self._sizes: dict[str, str] = {}

    def linear(self, values: Sequence[int]) -> Terms | None:
        """Return a linear expression of the symbols with these values in the settings, or None."""
        first = self.settings[0]
        terms: Terms = {}
        for symbol, setting, value in zip(
            self.sources, self.settings[1:], values[1:], strict=False
        ):
            terms[symbol,] = Fraction(value - values[0], setting[symbol] - first[symbol])
        rest = values[0] - sum(f * first[s] for (s,), f in terms.items())
        last = rest + sum(f * self.settings[-1][s] for (s,), f in terms.items())
        if last != values[-1] or rest.denominator != 1:
            return None
        terms[()] = Fraction(rest)
        return {names: f for names, f in terms.items() if f}

    def product(self, values: Sequence[int]) -> Terms | None:
        """Return a product of symbols and a factor with these values in the settings, or None."""
        for n in range(2, len(self.sources) + 1):
            for names in itertools.combinations(self.sources, n):
                products = [math.prod(setting[s] for s in names) for setting in self.settings]
                ratios = {Fraction(v, p) for v, p in zip(values, products, strict=True)}
                if len(ratios) == 1:
                    return {names: ratios.pop()}
        return None

    def symbol(self, values: Sequence[int]) -> str | None:
        """Return the symbol that equals a size in every setting."""
        for symbol in self.sources:
            if list(values) == [setting[symbol] for setting in self.settings]:
                return symbol
        return None

    def size(self, graph: Recording, symbol: str) -> str:
        """Return the size of a symbol as a value of the graph with one axis."""
        if symbol not in self._sizes:
            name, axis = self.sources[symbol]
            self._sizes[symbol] = graph.node("Shape", name, start=axis, end=axis + 1)
        return self._sizes[symbol]

    def ints(self, graph: Recording, columns: Sequence[Sequence[int]], reader: str) -> Any:
        """Return integers as an input of a node; each is a sequence of its values by setting."""
        parts: list[Any] = []
        for values in columns:
            if len(set(values)) > 1:
                parts.append(self._expression(graph, values, reader))
            elif parts and isinstance(parts[-1], Ints):
                parts[-1] = Ints((*parts[-1], values[0]))
            else:
                parts.append(Ints((values[0],)))
        return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=0)

    def _expression(self, graph: Recording, values: Sequence[int], reader: str) -> Any:
        expression = self.linear(values) or self.product(values)
        if expression is None:
            raise unsupported(reader, f"a number is {list(values)} for sizes {self.settings}")
        terms: list[Any] = []
        for names, factor in expression.items():
            term: Any = Ints((factor.numerator,))
            for i, symbol in enumerate(names):
                size = self.size(graph, symbol)
                term = size if not i and factor.numerator == 1 else graph.node("Mul", size, term)
            if factor.denominator != 1:
                term = graph.node("Div", term, Ints((factor.denominator,)))
            terms.append(term)
        total = terms[0]
        for term in terms[1:]:
            total = graph.node("Add", total, term)
        return total


def merged(recordings: Sequence[Recording], symbols: Symbols) -> list[Node]:
    """Merge the nodes recorded for each setting into nodes for all sizes."""
    graph = Recording("size")
    for nodes in zip(*(r.nodes for r in recordings), strict=False):
        first = nodes[0]
        if any(n[2:] != first[2:] or _named(n) != _named(first) for n in nodes):
            raise unsupported(first.outputs[0], f"its form depends on the sizes {symbols.settings}")
        inputs = [
            _input(graph, recordings, nodes, i, symbols) for i in range(len(first.inputs))
        ]  # fmt: skip
        graph.nodes.append(first._replace(inputs=tuple(inputs)))
    if len({len(r.nodes) for r in recordings}) > 1:
        raise unsupported("the function", f"its form depends on the sizes {symbols.settings}")
    return graph.nodes


def _named(node: Node) -> tuple[Any, ...]:
    return (node.op, *(v if isinstance(v, str) else type(v) for v in node.inputs))


def _input(
    graph: Recording, recordings: Sequence[Recording], nodes: Sequence[Node], at: int,
    symbols: Symbols,
) -> Any:  # fmt: skip
    """Return an input of a node, with numbers that depend on sizes computed in the graph."""
    values, reader = [n.inputs[at] for n in nodes], nodes[0].outputs[0]
    if isinstance(values[0], str) or all(_same(v, values[0]) for v in values):
        return values[0]
    if isinstance(values[0], np.ndarray):
        return _constant(graph, values, symbols, reader)
    if len({len(v) for v in values}) > 1:
        raise unsupported(reader, f"it has other axes for sizes {symbols.settings}")
    columns = list(zip(*values, strict=True))
    if nodes[0].op == "Reshape" and 0 not in values[0]:
        source = nodes[0].inputs[0]
        shapes = [r.shapes.get(source, ()) for r in recordings]
        columns = _copied_sizes(columns, shapes)
    return symbols.ints(graph, columns, reader)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def _copied_sizes(
    columns: list[tuple[int, ...]], shapes: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return a shape with 0 for sizes copied from the input, and -1 for one other size."""
    n = len(shapes)
    for i, values in enumerate(columns):
        if len(set(values)) > 1 and all(
            i < len(s) and s[i] == v for s, v in zip(shapes, values, strict=True)
        ):
            columns[i] = (0,) * n
    rest = [i for i, values in enumerate(columns) if len(set(values)) > 1]
    if rest:
        columns[rest[0]] = (-1,) * n
    return columns


def _whole_number(
    graph: Recording, values: Sequence[np.ndarray], symbols: Symbols, reader: str
) -> Any:
    """Return a number that is an expression of symbols, such as a size."""
    number = symbols.ints(graph, [[int(v.item()) for v in values]], reader)
    if not values[0].ndim:
        number = graph.node("Squeeze", number, Ints((0,)))
    return graph.node("Cast", number, to=type_number(values[0].dtype.name))


def _constant(graph: Recording, values: Sequence[np.ndarray], symbols: Symbols, reader: str) -> Any:
    """Return a constant that depends on symbols: a repeated number, a range or a whole number."""
    flat = [v.ravel() for v in values]
    longest = max(flat, key=len)
    if all(v.shape in ((), (1,)) and float(v.item()).is_integer() for v in values):
        return _whole_number(graph, values, symbols, reader)
    if longest.size > 1 and len({v.ndim for v in values}) == 1:
        if all((v == longest[0]).all() for v in flat):
            shape = symbols.ints(graph, list(zip(*(v.shape for v in values), strict=True)), reader)
            return graph.node("Expand", longest[:1].reshape(()), shape)
        start, step = (int(v) for v in (longest[0], longest[1] - longest[0]))
        counted = start + step * np.arange(longest.size)
        if values[0].ndim == 1 and all((v == counted[: v.size]).all() for v in flat):
            end = symbols.ints(graph, [[start + step * v.size for v in flat]], reader)
            first, by = (np.asarray(v, np.int64) for v in (start, step))
            numbers = graph.node("Range", first, graph.node("Squeeze", end, Ints((0,))), by)
            return graph.node("Cast", numbers, to=type_number(longest.dtype.name))
    raise unsupported(reader, f"a constant depends on sizes, {symbols.settings}")


def without_unused(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """Return the nodes that the outputs depend on."""
    needed, used = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(node.outputs):
            used.append(node)
            needed.update(v for v in node.inputs if isinstance(v, str))
    return used[::-1]


def candidates(size: int) -> Iterator[int]:
    """Yield other sizes than the example's to try for a symbol."""
    size = max(size, 2)
    yield from (size, 2 * size, 3 * size, size + 1, size + 2)
    if size > 3:
        yield from (size - 1, math.ceil(size / 2))


#: ``row(graph, arguments, outputs)`` writes a function's nodes and returns its results' names.
Row = Callable[..., Any]


class Rows(dict[str, Row]):
    """Writers of functions, by name."""

    def row(self, *names: str) -> Callable[[Row], Row]:
        """Register the writer of functions with these names."""

        def add(function: Row) -> Row:
            self.update(dict.fromkeys(names, function))
            return function

        return add
