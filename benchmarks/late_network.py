# SPDX-License-Identifier: Apache-2.0
"""The time of an all_reduce if every message between ranks is delayed, against scale_model.py.

    python benchmarks/late_network.py [--ranks 2 3 4] [--latency-ms 20] [--rounds 8]

Each rank has its own network (Linux; as root), whose only connection is a TUN device. This
program forwards packets after the latency. Minus the times of `--latency-ms 0`, a collective takes
the latency times the number of its consecutive messages, even if the cores are busy.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import fcntl
import os
import select
import statistics
import struct
import subprocess
import sys
import time
from typing import Any

SIZES = [4 << 10, 64 << 10, 1 << 20, 4 << 20]
_CLONE_NEWNET, _TUNSETIFF, _IFF_TUN_NO_PI = 0x40000000, 0x400454CA, 0x1001
_NETWORK = bytes([10, 9, 0])


def new_network(rank: int) -> int:
    """Put this process into a separate network; return the descriptor of its TUN device."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare: only root may have a separate network")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", b"late", _IFF_TUN_NO_PI))
    for command in (
        "ip link set lo up",
        f"ip addr add 10.9.0.{rank + 1}/24 dev late",
        "ip link set late mtu 60000 txqueuelen 10000 up",
    ):
        subprocess.run(command.split(), check=True)
    with open("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "w") as setting:
        setting.write("0")
    return device


def start(rank: int, ranks: int, rounds: int) -> subprocess.Popen[bytes]:
    """Start this program as a rank in the network of this process."""
    variables = {
        "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank),
        "MASTER_ADDR": "10.9.0.1", "MASTER_PORT": "29777", "CCL_KVS_IFACE": "late",
        "FI_TCP_IFACE": "late", "OMP_NUM_THREADS": "1", "DPCPP_CPU_NUM_CUS": "1",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, __file__, "--rounds", str(rounds)], env=os.environ | variables
    )


def pass_on(devices: list[int], processes: list[subprocess.Popen[bytes]], seconds: float) -> None:
    """Forward packets with this delay in seconds until all ranks have ended."""
    late: collections.deque[tuple[float, int, bytes]] = collections.deque()
    poll = select.poll()
    for device in devices:
        poll.register(device, select.POLLIN)
    while any(process.poll() is None for process in processes):
        while late and late[0][0] <= time.perf_counter():
            _, device, packet = late.popleft()
            os.write(device, packet)
        left = 1e3 * (late[0][0] - time.perf_counter()) if late else 100.0
        for device, _ in poll.poll(max(0, int(left))):
            packet = os.read(device, 65536)
            is_ours = packet[0] >> 4 == 4 and packet[16:19] == _NETWORK
            if is_ours and packet[19] <= len(devices):
                late.append((time.perf_counter() + seconds, devices[packet[19] - 1], packet))


def as_rank(rounds: int) -> None:
    """Print the median time of the slowest rank for each size."""
    import dpnp

    import sycl_dnn
    from sycl_dnn import distributed as dist

    group = dist.init(checking="never", timeout=120)
    for nbytes in SIZES:
        x: Any = dpnp.zeros(nbytes // 4, dtype="float32", sycl_queue=group.queue)
        times = []
        for number in range(rounds + 2):
            group.barrier()
            begun = time.perf_counter()
            dist.all_reduce(x, out=x)
            sycl_dnn.synchronize(group.queue)
            if number >= 2:  # the first ones connect
                times.append(time.perf_counter() - begun)
        said = group.exchange(f"times {nbytes}", " ".join(map(str, times)).encode(), "times")
        slowest = [max(row) for row in zip(*(map(float, t.split()) for t in said), strict=True)]
        if group.is_main:
            took = 1e3 * statistics.median(slowest)
            print(f"{group.size} ranks {nbytes >> 10:5d} KB: {took:6.1f} ms", flush=True)


def main() -> int:
    """Start the ranks, once for each number of ranks."""
    import scale_model

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--latency-ms", type=float, default=20, help="of each packet")
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    if "RANK" in os.environ:
        as_rank(options.rounds)
        return 0
    seconds = options.latency_ms / 1e3
    link = scale_model.Link(seconds, float("inf"))
    for ranks in options.ranks:
        devices, processes = [], []
        for rank in range(ranks):
            devices.append(new_network(rank))
            processes.append(start(rank, ranks, options.rounds))
        pass_on(devices, processes, seconds)
        if any(process.returncode for process in processes):
            return 1
        ways = [1e3 * way(ranks, 0, link) for way in (scale_model.ring, scale_model.tree)]
        print(f"{ranks} ranks, latency alone: ring {ways[0]:.1f} ms, tree {ways[1]:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
