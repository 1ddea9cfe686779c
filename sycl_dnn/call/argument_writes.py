# SPDX-License-Identifier: Apache-2.0
"""Writes of a function to its arguments, which change the caller's arrays, as in torch.

Until the function returns, an argument stands for its new value; then its memory is updated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.torch_methods import OfCaller

_WORDS = "an array that a function is given and writes to"


class ArgumentMarks(OfCaller):
    """The marks of an argument, and of views of it.

    Attributes
    ----------
    number : int
        Of the argument among those of its trace.
    strides : tuple of int
        Of the whole array, as the function sees it.
    has_gradient : bool
        Whether the function is differentiated with respect to it.
    """

    __slots__ = ("has_gradient", "number", "strides")

    def __init__(self, number: int, strides: Any) -> None:
        super().__init__()
        self.number, self.strides, self.has_gradient = number, strides, False

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Let an argument, or a view of it, stand for ``result``, which a function writes to it.

        Raises
        ------
        TypeError
            The gradient with respect to it is wanted; it is a view in a compiled function.
        """
        trace, number = value.trace, self.number
        argument = trace.given[number]
        if self.has_gradient and argument.is_float:
            raise TypeError(
                f"{writer}: an argument of a differentiated function cannot be written to; write "
                "to a copy (x * 1, x.clone())"
            )
        replace = getattr(trace, "replace", None)
        if replace is not None:
            trace.rewritten.setdefault(number, (argument.as_it_is(), argument))
            replace(value, result, writer)
            return value
        if self or value.shape != argument.shape or value.strides != self.strides:
            raise NeedsArrays(
                f"{writer}: a view of an argument cannot be written to in a compiled function; "
                "write to the whole argument, or to a copy of it"
            )
        self.append(writer)
        result.marks = ArgumentMarks(number, result.strides)
        trace.rewritten[number] = (argument, result)
        return result


class InnerArgumentMarks(OfCaller):
    """The marks of an argument of a function that is differentiated while another is traced."""

    __slots__ = ()
    has_gradient = True

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Raise TypeError."""
        raise TypeError(
            f"{writer}: an argument of a differentiated function cannot be written to inside of a "
            "traced function; write to a copy (x * 1, x.clone())"
        )


def marked(trace: Any, seen: Any, argument: Any) -> Any:
    """Mark the value that a function sees in place of an argument."""
    seen.marks = ArgumentMarks(len(trace.given), seen.strides)
    trace.given.append(argument)
    return seen


def refuse_differentiated(args: Iterable[Any]) -> None:
    """Refuse writes to arguments with gradients, as torch does for leaves."""
    for leaf in tree.leaves(list(args)):
        marks = getattr(leaf, "marks", None)
        if isinstance(marks, ArgumentMarks):
            marks.has_gradient = True


def refuse_inner(args: Iterable[Any]) -> None:
    """Refuse writes to arguments of an inner function."""
    for leaf in tree.leaves(list(args)):
        if type(getattr(leaf, "marks", None)) is list:
            leaf.marks = InnerArgumentMarks()


def write_back(trace: Any) -> None:
    """Update the memory of the arguments that a function has written to; it has returned."""
    rewritten, trace.rewritten = trace.rewritten, {}
    for argument, value in rewritten.values():
        converted = trace.convert(value, str(argument.dtype))
        trace.assign_argument(argument, converted, _WORDS, is_alone=True)
