# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: all training state in one file."""

from __future__ import annotations

import os
from typing import Any

from sycl_dnn.functional.activation.dropout import get_rng_state, set_rng_state
from sycl_dnn.io.tree_files import load, save

_RANDOM = "rng_state"


def save_checkpoint(path: str | os.PathLike[str], **parts: Any) -> None:
    """Write named trees and the state of the random number generator to one file.

    Parameters
    ----------
    path : path
        As for ``sycl_dnn.save``; the file is written atomically.
    **parts : trees
        All state that the next step reads: modules, optimizer states, loss scales, averages,
        numbers and strings. Schedules need no entry, because they are functions of the step in the
        optimizer's state. Buffers that state dicts lack are left out.

    Raises
    ------
    ValueError
        A part is named ``rng_state``, or as for ``save``.
    TypeError
        As for ``save``.

    Examples
    --------
    >>> import sycl_dnn, tempfile, os
    >>> from sycl_dnn import functional as F, nn, optim
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> net, opt = nn.Linear(2, 2), optim.Adam(optim.schedules.cosine(1e-2, 100))
    >>> sycl_dnn.save_checkpoint(path, net=net, state=opt.init(net), step=5)
    >>> fresh = nn.Linear(2, 2)
    >>> parts = sycl_dnn.load_checkpoint(path, net=fresh, state=opt.init(fresh), step=0)
    >>> parts["step"], bool((parts["net"].weight == net.weight).all())
    (5, True)
    """
    if _RANDOM in parts:
        raise ValueError(f"save_checkpoint: parts must not be named {_RANDOM!r}")
    save(path, {**parts, _RANDOM: get_rng_state()})


def load_checkpoint(
    path: str | os.PathLike[str], *, device: Any = None, **parts: Any
) -> dict[str, Any]:
    """Read a checkpoint and restore the random number generator.

    Parameters
    ----------
    path : path
    device : dpctl.SyclQueue, optional
        As for ``sycl_dnn.load``.
    **parts : trees
        Trees with the names and structure of those saved; new ones are returned. Modules keep the
        mode and hyper-parameters of ``parts``.

    Returns
    -------
    dict of str to tree
        To continue in-place training: ``optimizer.load_state(parts["net"], parts["state"])``.

    Raises
    ------
    ValueError, FileNotFoundError
        As for ``load``. Nothing is loaded, and the random state is unchanged.

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
    result = load(path, {**parts, _RANDOM: ""}, device=device)
    try:
        set_rng_state(result.pop(_RANDOM))
    except ValueError as error:
        raise ValueError(f"load_checkpoint: {os.fspath(path)} is damaged: {error}") from None
    return result
