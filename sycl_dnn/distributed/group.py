# SPDX-License-Identifier: Apache-2.0
"""``init`` and ``Group``: processes that work together, one device each."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import sys
import zlib
from itertools import zip_longest
from typing import Any

import dpctl

from sycl_dnn import _core
from sycl_dnn._warn import warn
from sycl_dnn.device import default_queue, usable_devices
from sycl_dnn.distributed import oneccl_library
from sycl_dnn.distributed.rank_environment import read_environment
from sycl_dnn.program.place import synchronize

#: By default this many collectives per group are compared before they run, then those with a new
#: description, and one in as many together with all since the last comparison.
FIRST_CHECKED = 100
_CHECKING = {"always": None, "first": FIRST_CHECKED, "never": 0}
_CHECKING_VARIABLE = "SYCL_DNN_CHECK_COLLECTIVES"
#: Seconds that process exit waits for the other ranks.
_LAST_WAIT = 5.0

_default: Group | None = None
_named: dict[str, Group] = {}


class MismatchError(RuntimeError):
    """Ranks called different collectives, or passed different shapes or dtypes."""


class Job:
    """State shared by all groups of a process: connection to rank 0, device, settings."""

    def __init__(self, link: Any, timeout: float, checked: int | None, queue: Any) -> None:
        self.link = link
        self.timeout = timeout
        self.checked = checked
        self.queue = queue
        self.communicators: list[Any] = []


class Group:
    """Processes that run collectives together; created by ``init`` and ``split``.

    Attributes
    ----------
    rank, size : int
        Rank in the group, and number of members.
    local_rank : int
        Rank among the processes of the job on the same host.
    members : tuple of int
        Job ranks of the members, in group order.
    name : str
        Name of the group in errors.
    is_main : bool
        Whether this is rank 0, which usually prints and saves.
    queue : dpctl.SyclQueue
        The queue of this rank's device.

    Examples
    --------
    >>> import sycl_dnn
    >>> group = sycl_dnn.distributed.init()  # without a launcher the process is alone
    >>> group.rank, group.size, group.is_main
    (0, 1, True)
    """

    #: Guards compare a group by identity: its counters do not matter to traced functions.
    guarded_by_identity = True

    def __init__(
        self, job: Job, members: tuple[int, ...], rank: int, local_rank: int, name: str
    ) -> None:
        self._job = job
        self.members = members
        self.rank = rank
        self.size = len(members)
        self.local_rank = local_rank
        self.name = name
        self._splits = self._barriers = self._count = 0
        #: Descriptions of collectives that all ranks have called.
        self.known: set[str] = set()
        #: Descriptions of the calls since the last comparison, in order.
        self.uncompared: list[str] = []
        self._pairs: dict[int, Group] = {}
        self.communicator: Any = self._formed() if self.size > 1 else None
        _named[name] = self

    def __repr__(self) -> str:
        return f"Group({self.name!r}, rank {self.rank} of {self.size})"

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @property
    def queue(self) -> dpctl.SyclQueue:
        """The queue of this rank's device."""
        return self._job.queue

    @property
    def timeout(self) -> float:
        """Seconds to wait for another rank."""
        return self._job.timeout

    def _formed(self) -> Any:
        own = _core.Communicator.unique_id() if self.rank == 0 else b""
        unique: Any = self.exchange("id", own, "forming the group")[0]
        communicator = _core.Communicator(self.name, list(self.members), self.rank, unique)
        self._job.communicators.append(communicator)
        return communicator

    def exchange(self, key: str, text: bytes, about: str) -> list[bytes]:
        """Send bytes under a key and return those of each member, by rank, relayed by job rank 0.

        Raises
        ------
        RuntimeError
            A member has ended or does not arrive in time; the message names it.
        """
        if self.size == 1:
            return [text]
        key, about = f"{self.name}/{key}", f"group {self.name}: {about}"
        return self._job.link.gather(key, list(self.members), text, self.timeout, about)

    def barrier(self) -> None:
        """Wait until this rank's queue is idle and all members have called ``barrier``.

        Raises
        ------
        MismatchError
            Ranks called different collectives since the last comparison.
        RuntimeError
            A member has ended or does not arrive in time; the message names it.

        Examples
        --------
        >>> import sycl_dnn
        >>> sycl_dnn.distributed.init().barrier()
        """
        synchronize(self.queue)
        self._barriers += 1
        self.compare(f"barrier {self._barriers}")

    def split(self, color: int | None, key: int = 0) -> Group | None:
        """Split the group into new ones, by ``color``.

        Parameters
        ----------
        color : int or None
            Members with equal colors form a group; with None, this rank joins none and gets None.
        key : int
            Orders the ranks in the new group; ties keep the order of this group.

        Returns
        -------
        Group or None

        Raises
        ------
        RuntimeError
            A member has ended or does not arrive in time.

        Examples
        --------
        >>> import sycl_dnn
        >>> halves = sycl_dnn.distributed.init().split(color=0)
        >>> halves.size
        1
        """
        self._splits += 1
        request = "" if color is None else f"{int(color)} {int(key)}"
        answers = self.exchange(f"split {self._splits}", request.encode(), f"split {self._splits}")
        if color is None:
            return None
        keys = {rank: tuple(map(int, words.split())) for rank, words in enumerate(answers) if words}
        chosen = sorted((k[1], rank) for rank, k in keys.items() if k[0] == color)
        ranks = [rank for _, rank in chosen]
        members = tuple(self.members[rank] for rank in ranks)
        name = f"{self.name}.{self._splits}:{color}"
        return Group(self._job, members, ranks.index(self.rank), self.local_rank, name)

    def pair(self, other: int) -> Group:
        """Return the group of this rank and another one, the lower rank first."""
        if other not in self._pairs:
            ranks = sorted((self.rank, other))
            members = tuple(self.members[rank] for rank in ranks)
            name = f"{self.name}.{ranks[0]}-{ranks[1]}"
            index = ranks.index(self.rank)
            self._pairs[other] = Group(self._job, members, index, self.local_rank, name)
        return self._pairs[other]

    def check(self, words: str) -> None:
        """Compare a collective, and those before it, with the other ranks' if it is time to.

        Raises
        ------
        MismatchError
            A rank called something else; or did so since the last comparison.
        """
        self._count += 1
        checked = self._job.checked
        if checked == 0:
            return
        is_new = words not in self.known
        if checked is None or is_new or self._count <= checked or self._count % checked == 0:
            self.compare(words)
            self.known.add(words)
        else:
            self.uncompared.append(words)

    def checksum(self) -> int:
        """Return a number that differs if ranks called something else since the last comparison."""
        return zlib.crc32("\n".join(self.uncompared).encode())

    def compare(self, words: str) -> None:
        """Raise MismatchError on every rank unless all pass the same string, after equal calls.

        The calls since the last comparison are known to all by their checksum.
        """
        checksum, since = self.checksum(), self.uncompared
        self.uncompared = []
        answers = self.exchange("next", f"{checksum} {words}".encode(), words)
        if len(set(answers)) == 1:
            return
        calls = [answer.decode().partition(" ")[2] for answer in answers]
        if len(set(calls)) == 1:
            histories = self.exchange("since", "\n".join(since).encode(), words)
            rows = zip_longest(*(h.decode().split("\n") for h in histories), fillvalue="nothing")
            calls = list(next(row for row in rows if len(set(row)) > 1))
        ranks: dict[str, list[str]] = {}
        for rank, text in enumerate(calls):
            ranks.setdefault(text, []).append(str(rank))
        sides = "; ".join(
            f"rank{'s' * (len(who) > 1)} {', '.join(who)}: {text}" for text, who in ranks.items()
        )
        raise MismatchError(f"group {self.name}: ranks called different collectives: {sides}")

    def refuse_if_gone(self, words: str) -> None:
        """Raise RuntimeError if a member has ended."""
        departed = self._job.link.first_gone(list(self.members))
        if departed:
            raise RuntimeError(f"{words}: {departed}")


class OfGroup:
    """Base of modules that belong to a group; the group is part of their structure."""

    _group_name: str

    @property
    def _group(self) -> Group:
        return _named[self._group_name]

    @staticmethod
    def group_named(name: str) -> Group:
        """Return the group with a name."""
        return _named[name]


def init(timeout: float = 600.0, checking: str | None = None, device: str | None = None) -> Group:
    """Join the processes of the launcher's job; return the group of all of them.

    The launcher is ``python -m sycl_dnn launch``, ``mpirun``, ``srun`` or ``torchrun``. Without a
    launcher the group has one member: every collective is the identity, and oneCCL is not needed.
    Later calls return the same group.

    Parameters
    ----------
    timeout : float
        In seconds. A rank that waits longer for another rank raises an error that names it.
    checking : {"first", "always", "never"}, optional
        Which collectives to compare with the other ranks' before they run (kind, dtype, size and
        order); "first" means the first 100 of each group, then any that is unlike all before. One
        in 100, ``barrier`` and ``compare_words`` compare the order of those in between, which have
        run by then. The default is the environment variable ``SYCL_DNN_CHECK_COLLECTIVES``, or else
        "first".
    device : str, optional
        A filter string, as for ``default_queue``. By default each rank uses the Level Zero GPU with
        the index of its local rank, or the CPU if there are no GPUs.

    Returns
    -------
    Group

    Raises
    ------
    NoOneCcl
        There are several ranks, and oneCCL is not installed.
    NoDeviceError
        The device does not exist.
    RuntimeError
        A rank is missing (the message names it), rank 0's host cannot be resolved, the device is a
        GPU without Level Zero, or a Slurm batch script for several tasks started this process
        without ``srun``.
    ValueError
        An argument or a launcher variable is invalid.

    Notes
    -----
    Environment variables: RANK, WORLD_SIZE, LOCAL_RANK; PMI_*; OMPI_*; SLURM_*. Rank 0 listens at
    MASTER_ADDR, MASTER_PORT. Source: ``torch.distributed.init_process_group``,
    ``mlx.distributed.init``.

    Examples
    --------
    >>> import sycl_dnn
    >>> group = sycl_dnn.distributed.init()
    >>> group.rank, group.size
    (0, 1)
    """
    global _default
    if _default is None:
        _default = _joined(timeout, checking, device)
    return _default


def current() -> Group:
    """Return the group of ``init``, calling it if necessary."""
    return init() if _default is None else _default


def _joined(timeout: float, checking: str | None, device: str | None) -> Group:
    mode = checking or os.environ.get(_CHECKING_VARIABLE) or "first"
    if mode not in _CHECKING:
        raise ValueError(f"init: checking must be one of {', '.join(_CHECKING)}, got {mode!r}")
    if not timeout > 0:
        raise ValueError(f"init: timeout must be positive, got {timeout}")
    environment = read_environment()
    if environment.size == 1:
        job = Job(None, timeout, _CHECKING[mode], default_queue(device))
        return Group(job, (0,), 0, 0, "world")
    oneccl_library.library_path()  # raises before any rank waits for another
    if environment.rank == 0:
        _core.ControlLink.start_hub(environment.port, environment.size)
    link = _core.ControlLink(
        environment.address, environment.port, environment.rank, environment.size, timeout
    )
    members = list(range(environment.size))
    hosts = link.gather("hosts", members, socket.gethostname(), timeout, "init")
    local = environment.local_rank
    if local is None:
        local = hosts[: environment.rank].count(hosts[environment.rank])
    queue = _queue_of_rank(local, device)
    oneccl_library.open_oneccl(queue.sycl_device.is_gpu)
    job = Job(link, timeout, _CHECKING[mode], queue)
    atexit.register(_leave, job, members)
    return Group(job, tuple(members), environment.rank, local, "world")


def _queue_of_rank(local_rank: int, device: str | None) -> dpctl.SyclQueue:
    if device is not None:
        queue = default_queue(device)
        _check_backend(queue.sycl_device)
        return queue
    gpus = [d for d in usable_devices("gpu") if d.backend == dpctl.backend_type.level_zero]
    return default_queue(gpus[local_rank % len(gpus)] if gpus else "cpu")


def _check_backend(device: dpctl.SyclDevice) -> None:
    if device.is_gpu and device.backend != dpctl.backend_type.level_zero:
        raise RuntimeError(
            f"init: oneCCL uses GPUs through Level Zero, and {device.filter_string} "
            f"({device.name}) is not one; take another device, such as device='cpu'"
        )


def _leave(job: Job, members: list[int]) -> None:
    """Leave the job once the others have received everything this rank sent."""
    job.link.leave()
    # After an error here the others may be stuck in a collective and never finish.
    if not hasattr(sys, "last_value"):
        checksum = str(_default.checksum() if _default else 0).encode()
        with contextlib.suppress(RuntimeError, KeyboardInterrupt):
            if len(set(job.link.gather("end", members, checksum, _LAST_WAIT, "end"))) > 1:
                warn("the last collectives of group world were not the same on all ranks")
    oneccl_library.remove_shared_memory()
