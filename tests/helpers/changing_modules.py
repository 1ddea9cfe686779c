# SPDX-License-Identifier: Apache-2.0
"""A module whose forward changes the module itself, and ways to run it."""

import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

VALUES = np.arange(6, dtype="f4").reshape(2, 3)
WAYS = {
    "called": lambda net, x: net(x),
    "gradient of the module": lambda net, x: sycl_dnn.value_and_grad(lambda n: n(x))(net)[0],
    "gradient of the input": lambda net, x: sycl_dnn.value_and_grad(lambda x: net(x))(x)[0],
    "part of a module": lambda net, x: nn.Sequential(net)(x),
}


class Net(nn.Module):
    """``forward`` calls ``step(self, y)``, and returns one number."""

    def __init__(self, step, **state):
        super().__init__()
        self.weight = nn.Parameter(F.full((3,), 2.0))
        self.step = step
        for name, value in state.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.step(self, x * self.weight)
