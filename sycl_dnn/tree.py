# SPDX-License-Identifier: Apache-2.0
"""Trees: values nested in tuples, lists, dicts, dataclasses and registered classes.

Every transform accepts and returns trees of arrays. Containers are tuples, lists, named tuples,
dicts (key order is irrelevant), dataclass instances, ``None`` (an empty container) and instances of
registered classes; anything else is a leaf.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sycl_dnn.object_attributes import attributes_of

__all__ = [
    "Structure", "constants", "flatten", "leaves", "map", "names", "paths", "register", "unflatten",
]  # fmt: skip

IsLeaf = Callable[[Any], bool] | None


class _Rule(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Iterable[Any]], Any]
    steps: Callable[[Any], Sequence[str]] | None = None
    constants: Callable[[Any], Sequence[bool]] | None = None
    held: Callable[[Any], Sequence[Any]] | None = None


_rules: dict[type, _Rule] = {}
#: Classes whose instances are leaves; others are looked at.
LEAVES = {bool, int, float, complex, str, bytes}


class Structure:
    """The structure of a tree without its leaves; hashable and comparable.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> _, structure = tree.flatten([1, (2, 3)])
    >>> structure, structure.n_leaves
    (list([0]: *, [1]: tuple([0]: *, [1]: *)), 3)
    """

    __slots__ = ("_hash", "aux", "children", "kind", "n_leaves", "order")

    def __init__(
        self, kind: Any, aux: Hashable, children: tuple[Structure, ...], order: Sequence[Any] = ()
    ) -> None:
        #: Class of the container; None for a leaf.
        self.kind = kind
        #: Keys of a dict, field names, or the metadata of a registered class.
        self.aux = aux
        self.children = children
        #: Keys of a dict in insertion order; not compared.
        self.order = order
        self.n_leaves: int = sum(c.n_leaves for c in children) if kind is not None else 1
        self._hash = hash((kind, aux, children))

    @property
    def is_leaf(self) -> bool:
        """Whether the tree is a single leaf."""
        return self.kind is None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Structure) or self._hash != other._hash:
            return False
        mine = (self.kind, self.aux, self.children)
        return mine == (other.kind, other.aux, other.children)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        if self.is_leaf:
            return "*"
        inner = ", ".join(
            f"{step}: {child!r}"
            for step, child in zip(
                steps_of(self.kind, self.aux, self.children), self.children, strict=True
            )
        )
        return f"{self.kind.__name__}({inner})"


LEAF = Structure(None, None, ())


def register(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Any, Iterable[Any]], Any],
    *,
    steps: Callable[[Any], Sequence[str]] | None = None,
    constants: Callable[[Any], Sequence[bool]] | None = None,
    held: Callable[[Any], Sequence[Any]] | None = None,
) -> type:
    """Register a class as a container.

    Parameters
    ----------
    cls : type
        Applies to instances of this exact class, not of subclasses.
    flatten : callable
        ``flatten(instance)`` returns its children and hashable metadata.
    unflatten : callable
        ``unflatten(metadata, children)`` rebuilds an instance. Children may be anything: traced
        values, gradients, ``None``.
    steps : callable, optional
        ``steps(metadata)`` returns the Python expression of each child, for ``paths`` and errors;
        ``[0]``, ``[1]``, ... by default.
    constants : callable, optional
        ``constants(metadata)`` says for each child whether its gradient is always ``None``.
    held : callable, optional
        ``held(metadata)`` returns callables and objects that the instance computes with, which
        transforms compare in each call.

    Returns
    -------
    type
        ``cls``.

    Raises
    ------
    ValueError
        The class is already registered, a built-in container, or that of an array or number.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> Pair = tree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, ab: Pair(*ab))
    >>> tree.leaves(Pair(1, 2))
    [1, 2]
    """
    if cls in LEAVES:
        raise ValueError(f"tree.register: {cls.__qualname__} is a leaf")
    if cls in _rules or cls in (tuple, list, dict, type(None)):
        raise ValueError(f"tree.register: {cls.__qualname__} is a container already")
    _rules[cls] = _Rule(flatten, unflatten, steps, constants, held)
    return cls


class Opened(NamedTuple):
    """A container decomposed one level deep."""

    kind: type
    aux: Hashable
    children: Sequence[Any]
    #: Keys of a dict in insertion order; ``aux`` has them sorted.
    order: tuple[Any, ...] = ()

    def steps(self) -> list[str]:
        """Return the Python expression of each child."""
        return steps_of(self.kind, self.aux, self.children)

    def rebuilt(self, children: Sequence[Any]) -> Any:
        """Return the container with other children."""
        return closed(self.kind, self.aux, children, self.order)


def opened(value: Any) -> Opened | None:
    """Return a container's class, metadata and children; None for a leaf."""
    cls = value.__class__
    if cls in LEAVES:
        return None
    if cls is tuple or cls is list:
        return Opened(cls, None, value)
    if cls is dict:
        return _opened_dict(cls, value)
    if value is None:
        return Opened(cls, None, ())
    rule = _rules.get(type(value))  # a weak proxy of an instance is a leaf
    if rule is not None:
        children, aux = rule.flatten(value)
        return Opened(cls, aux, tuple(children))
    if isinstance(value, (tuple, list)):
        return Opened(cls, None, value)
    if isinstance(value, dict):
        return _opened_dict(cls, value)
    if hasattr(cls, "__dataclass_fields__") and not isinstance(value, (type, enum.Enum)):
        names = attributes_of(value)
        return Opened(cls, names, [getattr(value, n) for n in names])
    return None


def _opened_dict(cls: type, value: dict[Any, Any]) -> Opened:
    # The order of an OrderedDict is significant.
    keys = tuple(value if isinstance(value, OrderedDict) else _sorted(value))
    factory = value.default_factory if isinstance(value, defaultdict) else None
    aux = keys if factory is None else (keys, factory)
    return Opened(cls, aux, [value[k] for k in keys], tuple(value))


def _sorted(keys: Iterable[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda k: (type(k).__qualname__, repr(k)))


def closed(kind: Any, aux: Any, children: Sequence[Any], order: Sequence[Any] = ()) -> Any:
    """Build a container from its children: the inverse of ``opened``."""
    if kind is tuple or kind is list:
        return kind(children)
    if kind is type(None):
        return None
    rule = _rules.get(kind)
    if rule is not None:
        return rule.unflatten(aux, children)
    if issubclass(kind, dict):
        return _closed_dict(kind, aux, children, order)
    if issubclass(kind, (tuple, list)):
        return kind(*children) if hasattr(kind, "_fields") else kind(children)
    instance = object.__new__(kind)
    for name, child in zip(aux, children, strict=True):
        object.__setattr__(instance, name, child)
    return instance


def _closed_dict(kind: Any, aux: Any, children: Sequence[Any], order: Sequence[Any]) -> Any:
    keys, factory = _keys_of(kind, aux)
    container, items = kind.__new__(kind), dict(zip(keys, children, strict=True))
    if factory is not None:
        container.default_factory = factory
    for key in order or keys:
        container[key] = items[key]
    return container


def _keys_of(kind: type, aux: Any) -> tuple[Any, Any]:
    if issubclass(kind, defaultdict) and len(aux) == 2 and callable(aux[1]):
        return aux
    return aux, None


def steps_of(kind: Any, aux: Any, children: Sequence[Any]) -> list[str]:
    """Return the Python expressions of a container's children."""
    if kind is not None and issubclass(kind, dict):
        return [f"[{k!r}]".replace("'", '"') for k in _keys_of(kind, aux)[0]]
    rule = _rules.get(kind)
    if rule is not None and rule.steps is not None:
        return list(rule.steps(aux))
    if hasattr(kind, "_fields"):
        return [f".{n}" for n in kind._fields]
    if hasattr(kind, "__dataclass_fields__") and rule is None:
        return [f".{n}" for n in aux]
    return [f"[{i}]" for i in range(len(children))]


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Structure]:
    """Return the leaves in order, and the structure for ``unflatten``.

    Parameters
    ----------
    tree
        A container or a leaf.
    is_leaf : callable, optional
        If ``is_leaf(value)`` is true, ``value`` is a leaf even if it is a container.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> leaves, structure = tree.flatten({"b": 2, "a": [0, 1]})
    >>> leaves, structure
    ([0, 1, 2], dict(["a"]: list([0]: *, [1]: *), ["b"]: *))
    """
    items: list[Any] = []
    return items, _flattened(tree, items, is_leaf)


def _flattened(tree: Any, items: list[Any], is_leaf: IsLeaf) -> Structure:
    node = None if is_leaf is not None and is_leaf(tree) else opened(tree)
    if node is None:
        items.append(tree)
        return LEAF
    children = tuple([_flattened(child, items, is_leaf) for child in node.children])
    return Structure(node.kind, node.aux, children, node.order)


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Build a tree from a structure and leaves.

    Raises
    ------
    ValueError
        The number of leaves differs from the structure's.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> _, structure = tree.flatten({"a": [0, 1]})
    >>> tree.unflatten(structure, [5, 6])
    {'a': [5, 6]}
    """
    leaf_list, n_leaves = list(leaves), structure.n_leaves
    if len(leaf_list) != n_leaves:
        raise ValueError(f"tree.unflatten: leaves must be {n_leaves}, got {len(leaf_list)}")
    return _unflattened(structure, iter(leaf_list))


def _unflattened(structure: Structure, supply: Iterator[Any]) -> Any:
    if structure.kind is None:
        return next(supply)
    children = [_unflattened(child, supply) for child in structure.children]
    return closed(structure.kind, structure.aux, children, structure.order)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree in order.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> tree.leaves({"b": 2, "a": [0, 1]})
    [0, 1, 2]
    """
    node = None if is_leaf is not None and is_leaf(tree) else opened(tree)
    if node is None:
        return [tree]
    # Without the structure, which takes longer and which traced operations do not need.
    return [leaf for child in node.children for leaf in leaves(child, is_leaf)]


def paths(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[str, Any]]:
    """Return each leaf with its path as a Python expression: ``["conv1"]["weight"]``.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> tree.paths({"conv1": {"weight": 5}})
    [('["conv1"]["weight"]', 5)]
    """
    node = None if is_leaf is not None and is_leaf(tree) else opened(tree)
    if node is None:
        return [("", tree)]
    children = zip(node.steps(), node.children, strict=True)
    return [(step + rest, v) for step, child in children for rest, v in paths(child, is_leaf)]


def names(tree: Any, is_leaf: IsLeaf = None) -> list[str]:
    """Return a dotted name for each leaf, as in files: ``conv.weight``, ``layers.0.bias``.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> tree.names({"layers": [{"bias": 5}]})
    ['layers.0.bias']
    """
    return [_name(path) for path, _ in paths(tree, is_leaf)]


def _name(path: str) -> str:
    words = path.replace('["', ".").replace('"]', "").replace("[", ".").replace("]", "")
    return words.lstrip(".")


def constants(structure: Structure) -> list[bool]:
    """Return for each leaf whether its gradient is always ``None``; see ``register``.

    Examples
    --------
    >>> from sycl_dnn import nn, tree
    >>> tree.constants(tree.flatten(nn.Linear(2, 3).freeze())[1])
    [True, True]
    """
    if structure.is_leaf:
        return [False]
    rule = _rules.get(structure.kind)
    if rule is None or rule.constants is None:
        return [flag for child in structure.children for flag in constants(child)]
    flags: list[bool] = []
    for child, is_constant in zip(structure.children, rule.constants(structure.aux), strict=True):
        flags += [True] * child.n_leaves if is_constant else constants(child)
    return flags


def held_by(node: Opened) -> Sequence[Any]:
    """Return the callables and objects that a container computes with."""
    rule = _rules.get(node.kind)
    return () if rule is None or rule.held is None else rule.held(node.aux)


def map(  # the usual name
    function: Callable[..., Any], tree: Any, *others: Any, is_leaf: IsLeaf = None
) -> Any:
    """Apply ``function(leaf, *leaves of the others)`` to every leaf of a tree.

    Parameters
    ----------
    function : callable
    tree, *others
        Same structure; where ``tree`` has a leaf, the others may have anything.
    is_leaf : callable, optional
        As for ``flatten``.

    Raises
    ------
    ValueError
        Structures differ; the message names the location.

    Examples
    --------
    >>> from sycl_dnn import tree
    >>> tree.map(lambda a, b: a + b, {"w": 1, "b": 2}, {"w": 10, "b": 20})
    {'w': 11, 'b': 22}
    """
    first_leaves, structure = flatten(tree, is_leaf)
    columns = [first_leaves]
    for number, other in enumerate(others, 1):
        columns.append(matched(structure, other, f"tree.map: tree {number}"))
    return _unflattened(structure, iter([function(*row) for row in zip(*columns, strict=True)]))


def matched(structure: Structure, tree: Any, name: str, *, none_fills: bool = False) -> list[Any]:
    """Return the values of ``tree`` at the leaves of ``structure``.

    Parameters
    ----------
    name : str
        Name of the tree in errors.
    none_fills : bool
        Whether None may replace any subtree; it is then returned for all of its leaves.

    Raises
    ------
    ValueError
        The structure of the tree differs.
    """
    values: list[Any] = []
    _add_matched(structure, tree, name, values, none_fills)
    return values


def _add_matched(
    structure: Structure, tree: Any, name: str, values: list[Any], none_fills: bool
) -> None:
    if structure.is_leaf:
        values.append(tree)
        return
    if tree is None and none_fills:
        values += [None] * structure.n_leaves
        return
    node = opened(tree)
    kind, children = structure.kind, structure.children
    n = len(children)
    if node is not None and issubclass(kind, dict) and issubclass(node.kind, dict):
        expected, actual = _keys_text(structure), _keys_text(node)
        if expected != actual:
            raise ValueError(f"{name} must have the keys {expected}, got {actual}")
    if none_fills and node is not None and node.kind is kind and len(node.children) < n:
        node = _filled(structure, node)
    if node is None or not _alike(kind, node.kind) or len(node.children) != n:
        n_got = "" if node is None else f" of {len(node.children)}"
        result = f"{type(tree).__name__}{n_got}"
        raise ValueError(f"{name} must be {_article(kind.__name__)} of {n}, got {result}")
    if kind in _rules:
        _check_steps(name, steps_of(kind, structure.aux, children), node.steps())
    for step, inner, child in zip(node.steps(), children, node.children, strict=True):
        _add_matched(inner, child, name + step, values, none_fills)


def _check_steps(name: str, expected: Sequence[str], actual: Sequence[str]) -> None:
    """Raise ValueError if children of registered instances have different names."""
    for step, other in zip(expected, actual, strict=True):
        if step != other:
            raise ValueError(f"{name} must have {step.lstrip('.')}, got {other.lstrip('.')}")


def _filled(structure: Structure, node: Opened) -> Opened:
    """Add None for children that a registered container lacks by name.

    A module with an array as a plain attribute has fewer leaves if the attribute is None.
    """
    steps = steps_of(structure.kind, structure.aux, structure.children)
    by_step = dict(zip(node.steps(), node.children, strict=True))
    if structure.kind not in _rules or not set(by_step) <= set(steps):
        return node
    return Opened(node.kind, structure.aux, [by_step.get(step) for step in steps])


def _keys_text(node: Any) -> str:
    return ", ".join(repr(k) for k in _keys_of(node.kind, node.aux)[0])


def _alike(expected: type, actual: type) -> bool:
    """Whether containers are compatible: plain tuples and lists match named tuples."""
    return expected is actual or (issubclass(expected, (tuple, list)) and actual in (tuple, list))


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
