# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: everything that training needs to continue unchanged, in one file."""

from __future__ import annotations

import os
from typing import Any

from sycl_dnn.functional.activation.dropout import get_rng_state, set_rng_state
from sycl_dnn.io.tree_files import load, save

_RANDOM = "rng_state"


def save_checkpoint(path: str | os.PathLike[str], **parts: Any) -> None:
    """Write named trees and the random state to one file.

    Parameters
    ----------
    path : path
        As ``sycl_dnn.save`` accepts it; the file appears whole or not at all.
    **parts : trees
        Modules, states of optimizers and loss scales, averages, numbers and strings: everything
        that the next step reads. A schedule is a function of the step, which is in the state of the
        optimizer.

    Raises
    ------
    ValueError
        A part is named ``rng_state``, or as ``save``.
    TypeError
        As ``save``.

    Examples
    --------
    >>> import sycl_dnn, tempfile, os
    >>> from sycl_dnn import functional as F, nn, optim
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> net, opt = nn.Linear(2, 2), optim.Adam(optim.schedules.cosine(1e-2, 100))
    >>> sycl_dnn.save_checkpoint(path, net=net, state=opt.init(net), step=5)
    >>> fresh = nn.Linear(2, 2)
    >>> found = sycl_dnn.load_checkpoint(path, net=fresh, state=opt.init(fresh), step=0)
    >>> found["step"], bool((found["net"].weight == net.weight).all())
    (5, True)
    """
    if _RANDOM in parts:
        raise ValueError(f"save_checkpoint: parts must not be named {_RANDOM!r}")
    save(path, {**parts, _RANDOM: get_rng_state()})


def load_checkpoint(
    path: str | os.PathLike[str], *, device: Any = None, **parts: Any
) -> dict[str, Any]:
    """Read what ``save_checkpoint`` wrote, and let random numbers continue from there.

    Parameters
    ----------
    path : path
    device : dpctl.SyclQueue, optional
        As ``sycl_dnn.load`` accepts it.
    **parts : trees
        Named and nested as those saved; new ones are returned. The mode and the hyper-parameters of
        modules are those of ``parts``.

    Returns
    -------
    dict of str to tree
        For the in-place form: ``optimizer.load_state(found["net"], found["state"])``.

    Raises
    ------
    ValueError, FileNotFoundError
        As ``load``. Nothing is loaded then, and the random state is unchanged.

    Examples
    --------
    >>> import sycl_dnn, tempfile, os
    >>> from sycl_dnn import functional as F
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> sycl_dnn.save_checkpoint(path, step=1)
    >>> first = F.randn(3)
    >>> sycl_dnn.load_checkpoint(path, step=0)
    {'step': 1}
    >>> bool((F.randn(3) == first).all())
    True
    """
    found = load(path, {**parts, _RANDOM: ""}, device=device)
    try:
        set_rng_state(found.pop(_RANDOM))
    except ValueError as error:
        raise ValueError(f"load_checkpoint: {os.fspath(path)} is damaged: {error}") from None
    return found
