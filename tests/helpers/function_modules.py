# SPDX-License-Identifier: Apache-2.0
"""A module whose forward is a function of the test."""

from sycl_dnn import nn


class Net(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)
