# SPDX-License-Identifier: Apache-2.0
"""Error messages for calls whose arguments do not match the extension's signatures."""

from __future__ import annotations

import collections.abc
import dataclasses
import difflib
import enum
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments

_MISSING = object()
#: A signature line of a docstring; overloads are numbered.
_SIGNATURE = re.compile(r"^(?:\d+\. )?\w+\((.*)\) -> .*$", re.MULTILINE)
#: Maximum number of enumerators to list.
_MAX_NAMES = 24
#: Wording for pybind11's annotations.
_WORDS = {
    "int": "an integer",
    "float": "a number",
    "bool": "True or False",
    "str": "a string",
    "bytes": "bytes",
    "None": "None",
    "typing.SupportsInt": "an integer",
    "typing.SupportsFloat": "a number",
    "typing.SupportsIndex": "",
    "sycl_dnn.onednn.format_tag": "a format tag",
}
#: oneDNN's parameter names by their NumPy or dpnp equivalents.
_ALIASES = {"shape": "dims", "dtype": "data_type"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a signature, as given in the docstring."""

    name: str
    annotation: str
    has_default: bool
    by_name_only: bool


def _split(text: str, separator: str) -> list[str]:
    """Split at separators outside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _parameters(text: str) -> list[Parameter]:
    results, by_name_only = [], False
    for part in _split(text, ","):
        if part in ("*", "/"):
            by_name_only = by_name_only or part == "*"
            continue
        name, _, rest = part.partition(":")
        annotation, equals, default = rest.partition(" = ")
        annotation = annotation.strip()
        # pybind11 does not annotate parameters with default None as optional.
        if default.strip() == "None" and "None" not in _split(annotation, "|"):
            annotation += " | None"
        results.append(Parameter(name.strip(), annotation, bool(equals), by_name_only))
    return results


def signatures(function: Any) -> list[list[Parameter]]:
    """Return the parameters of each overload of an extension function."""
    matches = [_parameters(text) for text in _SIGNATURE.findall(function.__doc__ or "")]
    return [s for s in matches if not any(p.name.startswith("*") for p in s)]


# --- matching values to annotations


def _bound_class(annotation: str) -> type | None:
    module, _, name = annotation.rpartition(".")
    return getattr(_core, name, None) if module == "sycl_dnn._core" else None


def _fits_sequence(value: Any, annotation: str) -> bool:
    if isinstance(value, (str, bytes)) or not isinstance(value, collections.abc.Iterable):
        return False
    inner = _split(annotation[annotation.index("[") + 1 : -1], ",")
    if not isinstance(value, collections.abc.Sequence) or len(inner) != 1:
        return True
    return all(_fits(item, inner[0]) for item in value)


def _fits_one(value: Any, annotation: str) -> bool:
    cls = _bound_class(annotation)
    if cls is not None:
        return isinstance(value, cls)
    if "[" in annotation:
        return _fits_sequence(value, annotation)
    checks = {
        "None": lambda: value is None,
        "str": lambda: isinstance(value, str),
        "bytes": lambda: isinstance(value, bytes),
        "bool": lambda: isinstance(value, bool),
        "dict": lambda: isinstance(value, Mapping),
        "int": lambda: hasattr(value, "__index__"),
        "float": lambda: hasattr(value, "__float__"),
        "typing.SupportsInt": lambda: hasattr(value, "__index__"),
        "typing.SupportsIndex": lambda: hasattr(value, "__index__"),
        "typing.SupportsFloat": lambda: hasattr(value, "__float__"),
        "sycl_dnn.onednn.format_tag": lambda: isinstance(value, enum.IntEnum),
    }
    return annotation not in checks or checks[annotation]()


def _enumeration(annotation: str) -> Any:
    """Return the enumeration that an annotation names, or None."""
    for part in _split(annotation, "|"):
        cls = _bound_class(part)
        if isinstance(cls, enum.EnumMeta):
            return cls
    return None


def _fits(value: Any, annotation: str) -> bool:
    members = _enumeration(annotation)
    if members is not None and isinstance(value, str):
        words = [word.strip() for word in value.split("|")]
        is_flag = issubclass(members, enum.IntFlag)
        are_members = all(word in members.__members__ for word in words)
        return are_members and (is_flag or len(words) == 1)
    return any(_fits_one(value, part) for part in _split(annotation, "|"))


# --- wording


def _own_names(members: Any, function: str) -> list[str]:
    """Return the enumerators that belong to an operation, or all if they are few."""
    names = [n for n in members.__members__ if n != "undef"]
    if len(names) <= _MAX_NAMES:
        return names
    # The operation may be the second word, as in "append_eltwise".
    for word in function.split("_"):
        matching = [n for n in names if n.startswith(word + "_")]
        if matching:
            return matching
    return []


def _near(members: Any, function: str, value: Any, limit: int = 1) -> list[str]:
    """Return similar enumerators: "tanh" matches eltwise_tanh."""
    names = _own_names(members, function) or list(members.__members__)
    text = str(value)
    ends = [n for n in names if n.endswith("_" + text)]
    return (ends or difflib.get_close_matches(text, names, limit, 0.6))[:limit]


def _names(members: Any, function: str, value: Any) -> str:
    """Return the enumerators of the operation, or some that are similar to the value."""
    own = _own_names(members, function)
    return ", ".join(own or [*(_near(members, function, value, 5) or members.__members__), "..."])


def _expected(annotation: str, function: str, value: Any) -> str:
    members = _enumeration(annotation)
    if members is not None:
        optional = ", or None" if "None" in _split(annotation, "|") else ""
        return f"one of {_names(members, function, value)}{optional}"
    words = []
    for part in _split(annotation, "|"):
        cls = _bound_class(part)
        inner = part[part.index("[") + 1 : -1] if "[" in part else ""
        if cls is not None:
            word = ("an " if cls.__name__[0] in "AEIOU" else "a ") + cls.__name__
        elif inner:
            word = f"a sequence ({_expected(inner, function, value)} each)"
        else:
            word = _WORDS.get(part, part)
        if word and word not in words:
            words.append(word)
    return " or ".join(words)


def _value_text(value: Any) -> str:
    text = repr(value)
    if len(text) > 120:
        text = text[:117] + "..."
    return (
        text
        if isinstance(value, (str, int, float, type(None)))
        else (f"{text} ({type(value).__name__})")
    )


def _bound(
    parameters: list[Parameter], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterator[tuple[Parameter, Any]]:
    positional = [p for p in parameters if not p.by_name_only]
    arguments = {p.name: a for p, a in zip(positional, args, strict=False)} | dict(named)
    for p in parameters:
        yield p, arguments.get(p.name, _MISSING)


def _listed(parameters: list[Parameter]) -> str:
    return ", ".join(p.name for p in parameters if p.name != "self")


def _meant(parameter: str, parameters: list[Parameter]) -> list[str]:
    """Return the parameter that an unknown name probably refers to, if any."""
    names = [p.name for p in parameters]
    aliases = [n for n in (parameter.removesuffix("_desc"), _ALIASES.get(parameter)) if n in names]
    return aliases[:1] or difflib.get_close_matches(parameter, names, 1)


def _unknown(name: str, parameter: str, overloads: list[list[Parameter]]) -> Exception:
    near = [n for parameters in overloads for n in _meant(parameter, parameters)]
    hint = f"did you mean {near[0]}? It" if near else "it"
    takes = ", ".join(dict.fromkeys(n for o in overloads for n in _listed(o).split(", ") if n))
    return TypeError(f"{name}: no parameter is called {parameter!r}; {hint} takes {takes}")


def _too_many(name: str, parameters: list[Parameter], count: int) -> Exception:
    positional = [p for p in parameters if not p.by_name_only and p.name != "self"]
    others = [p for p in parameters if p.by_name_only]
    if not others:
        return TypeError(f"{name}: at most {len(positional)} arguments, got {count}")
    rule = (
        f"only {_listed(positional)} may be given by position"
        if positional
        else ("arguments must be given by name")
    )
    return TypeError(f"{name}: {rule}, got {count} such arguments; name {_listed(others)}")


def _wrong_value(name: str, p: Parameter, value: Any) -> Exception:
    is_name = isinstance(value, str) and _enumeration(p.annotation) is not None
    cls = InvalidArguments if is_name else TypeError
    operation = name.rpartition(".")[2]
    near = _near(_enumeration(p.annotation), operation, value) if is_name else []
    hint = f"; did you mean {near[0]}?" if near else ""
    rule = _expected(p.annotation, operation, value)
    return cls(f"{name}: {p.name} must be {rule}, got {_value_text(value)}{hint}")


def _problem(
    name: str, overloads: list[list[Parameter]], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Exception | None:
    """Describe the fault of a call, by the first of equally close overloads."""
    parameters = overloads[0]
    names = [p.name for p in parameters]
    for key in named:
        if key not in names:
            return _unknown(name, key, overloads)
    bound = list(_bound(parameters, args, named))
    positional = [p for p in parameters if not p.by_name_only]
    if len(args) > len(positional):
        has_self = bool(parameters) and parameters[0].name == "self"
        return _too_many(name, parameters, len(args) - has_self)
    for p, value in bound:
        if value is not _MISSING and not _fits(value, p.annotation) and p.name != "self":
            return _wrong_value(name, p, value)
    missing = [p.name for p, value in bound if value is _MISSING and not p.has_default]
    if missing:
        rule = "arguments are" if len(missing) > 1 else "argument is"
        takes = f"; it takes {_listed(parameters)}"
        return TypeError(f"{name}: {rule} missing: {', '.join(missing)}{takes}")
    return None


def _nearness(
    parameters: list[Parameter], args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[int, int]:
    """Rank how well a call matches an overload: by values, then by similar names."""
    names = [p.name for p in parameters]
    unknown = [n for n in named if n not in names]
    surplus = max(0, len(args) - sum(not p.by_name_only for p in parameters))
    bound = _bound(parameters, args, named)
    fitting = sum(v is not _MISSING and _fits(v, p.annotation) for p, v in bound)
    near = sum(bool(_meant(n, parameters)) for n in unknown)
    return fitting - len(unknown) - surplus, near


def _name_of(function: Any, args: tuple[Any, ...]) -> str:
    name = function.__name__
    text = re.search(r"\(self: sycl_dnn\._core\.(\w+)", function.__doc__ or "")
    owner = text.group(1) if text else type(args[0]).__name__ if name == "__init__" else ""
    return owner if name == "__init__" else f"{owner}.{name}" if owner else name


def explanation(function: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> Exception | None:
    """Return an error for a call that matches none of a function's signatures.

    ``args``, ``named``: the arguments of the call, including ``self`` of a method. It names the
    argument, the rule and the value. None if every argument matches as far as annotations tell, so
    that pybind11's message is the best available.
    """
    name = _name_of(function, args)
    overloads = signatures(function)
    if not overloads or any(_problem(name, [o], args, named) is None for o in overloads):
        return None
    scores = [_nearness(parameters, args, named) for parameters in overloads]
    nearest = [o for o, score in zip(overloads, scores, strict=True) if score == max(scores)]
    return _problem(name, nearest, args, named)
