# SPDX-License-Identifier: Apache-2.0
"""Failures of ranks: cases by name; rank 1 is the one that differs."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import dpnp
import pytest

from sycl_dnn import distributed as dist
from sycl_dnn import synchronize
from sycl_dnn._dpnp import place, usm_array
from sycl_dnn.program.place import place_of

CASES = sys.argv[1].split()


def other_size(group, x):
    dist.all_reduce(x[: 5 - group.rank])


def other_dtype(group, x):
    dist.all_reduce(x.astype("int32") if group.rank else x)


def other_kind(group, x):
    if group.rank:
        dist.all_gather(x)
    else:
        dist.all_reduce(x)


def other_order(group, x):
    for y in (x, x[:3]) if group.rank else (x[:3], x):
        dist.all_reduce(y)


def other_size_later(group, x):
    """A new description after the first 100, such as that of an incomplete last batch."""
    for _ in range(120):
        dist.all_reduce(x)
    dpnp.asnumpy(dist.all_reduce(x[: 5 - group.rank]))


def other_order_later(group, x):
    """Known descriptions of as many elements: oneCCL itself adds up what does not belong."""
    arrays = [dpnp.ones(n, dtype="float32", sycl_queue=group.queue) for n in ((2, 3), (3, 2))]
    for n in range(110):
        dist.all_reduce(arrays[n % 2])
    for end in (group.barrier, lambda: dist.compare_words("step 7"), lambda: later(arrays)):
        for y in arrays[:: 1 - 2 * group.rank]:
            dist.all_reduce(y)
        with pytest.raises(dist.MismatchError) as raised:
            end()
        print(f"other_order_later: {raised.value}", flush=True)
    for y in arrays[:: 1 - 2 * group.rank]:
        dist.all_reduce(y)


def later(arrays):
    for _ in range(100):
        dist.all_reduce(arrays[0])


def one_less(group, x):
    """Every collective after this one meets another rank's next one."""
    for _ in range(120 - group.rank):
        dist.all_reduce(x)
    for _ in range(100):
        dpnp.asnumpy(dist.all_reduce(x))


def refused_by_oneccl(group, x):
    """Both ranks request a dtype that oneCCL does not have."""
    y = dpnp.zeros(5, dtype="float32", sycl_queue=group.queue)
    memory = [place(usm_array(a)) for a in (x, y)]
    group.communicator.submit(
        place_of(group.queue)[1], "all_reduce", *memory, 5, 99, 0, 0, y.nbytes, "the refused call"
    )
    for later in (lambda: synchronize(group.queue), lambda: dist.all_reduce(x)):
        with pytest.raises(RuntimeError, match="^the refused call: oneCCL says: "):
            later()
    assert dpnp.isnan(y).all()
    print("nothing but NaN", flush=True)


def reduce_and_wait(group, x):
    dist.all_reduce(x)
    synchronize(group.queue)


def killed(group, x):
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    reduce_and_wait(group, x)


def killed_later(group, x):
    """Not compared, since the collective itself waits."""
    if group.rank == 1:
        time.sleep(1)
    killed(group, x)


def stopped(group, x):
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    reduce_and_wait(group, x)


def never_comes(group, x):
    if group.rank == 1:
        threading.Event().wait()
    print(dist.all_reduce(x))


def late(group, x):
    time.sleep(1.5 * group.rank)
    assert dist.all_reduce(x).tolist() == [float(group.size)] * 5


def raises(group, x):
    if group.rank == 1:
        raise ValueError("an error of the program's own")
    reduce_and_wait(group, x)


def out_of_memory(group, x):
    if group.rank == 1:
        dpnp.empty(1 << 55, dtype="uint8", sycl_queue=group.queue)
    reduce_and_wait(group, x)


def interrupted(group, x):
    """Rank 0 receives Ctrl-C while it waits."""
    if group.rank == 1:
        threading.Event().wait()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    dpnp.asnumpy(dist.all_reduce(x))


def main():
    timeout = float(sys.argv[2]) if len(sys.argv) > 2 else 600
    checking = sys.argv[3] if len(sys.argv) > 3 else "always"
    group = dist.init(timeout=timeout, checking=checking)
    x = dpnp.ones(5, dtype="float32", sycl_queue=group.queue)
    assert dist.all_reduce(x).tolist() == [float(group.size)] * 5
    if os.environ.get("CCL_ATL_SHM") == "1":
        print("process", os.getpid(), flush=True)
        assert list(Path("/dev/shm").glob(f"{os.getpid()}:*"))
    failed = False
    for case in CASES:
        try:
            globals()[case](group, x)
        except RuntimeError as error:
            print(f"{case}: {type(error).__name__}: {error}", flush=True)
            failed = True
    sys.exit(3 * failed)


main()
