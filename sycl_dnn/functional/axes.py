# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that name or count axes."""

from __future__ import annotations

import operator
from typing import Any

from sycl_dnn.dispatch.tensor import Tensor


def checked_int(name: str, argument: str, value: Any, least: int | None = None) -> int:
    """Return an integer argument.

    Raises
    ------
    TypeError
        ``value`` is no integer.
    ValueError
        It is less than ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise  # its own words: values are not known
        raise TypeError(f"{name}: {argument} must be an int, got {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{name}: {argument} must be at least {least}, got {number}")
    return number


def check_axis(name: str, dim: Any, ndim: int, argument: str = "dim") -> int:
    """Return an axis counted from the front; an array without axes counts as one with one.

    Raises
    ------
    TypeError
        ``dim`` is no integer.
    ValueError
        There is no such axis.
    """
    rank = max(ndim, 1)
    axis = checked_int(name, argument, dim)
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: {argument} must be in [{-rank}, {rank - 1}], got {axis}")
    return axis % rank
