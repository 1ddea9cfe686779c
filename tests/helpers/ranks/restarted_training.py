# SPDX-License-Identifier: Apache-2.0
"""Train from the last checkpoint, if there is one; the last rank ends once before step DYING.

restarted_training.py CHECKPOINT DYING
"""

import os
import sys
from pathlib import Path

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree

FILE, DYING = Path(sys.argv[1]), int(sys.argv[2])
STEPS = 6


def step_of(opt):
    def loss(net, x):
        return F.mse_loss(net(x), x)

    def step(net, state, x):
        _, grads = sycl_dnn.value_and_grad(loss)(net, x)
        return opt.update(grads, state, net)

    return sycl_dnn.compile(step)


def main():
    group = dist.init(timeout=120)
    sycl_dnn.manual_seed(0)
    net = nn.Linear(5, 5).to(group.queue)
    opt = dist.ShardedOptimizer(optim.AdamW(0.01, eps=1e-5))
    begun = 0
    if FILE.exists():
        empty = {"net": net, "state": opt.optimizer.init(net), "step": 0}
        found = sycl_dnn.load_checkpoint(FILE, device=group.queue, **empty)
        net, begun = found["net"], int(found["step"])
        state = opt.own_state(found["state"], net)
    else:
        state = opt.init(net)
    step = step_of(opt)
    rows = np.random.default_rng(0).standard_normal((STEPS, 4, 5)).astype("f4")
    for number in range(begun, STEPS):
        if number == DYING > begun and group.rank == group.size - 1:
            os._exit(9)
        x = dpnp.asarray(rows[number][group.rank :: group.size], sycl_queue=group.queue)
        net, state = step(net, state, x)
        whole = opt.whole_state(state, net)
        if group.is_main:
            sycl_dnn.save_checkpoint(FILE, net=net, state=whole, step=number + 1)
        group.barrier()
    if group.is_main:
        row = np.concatenate([dpnp.asnumpy(a).ravel() for a in tree.leaves(net)])
        print("began at", begun, "parameters", row.tobytes().hex())


main()
