# SPDX-License-Identifier: Apache-2.0
"""Views of arrays outside of traces: those of arrays with torch's methods share their memory."""

import numpy as np
import pytest

from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names as torch
from sycl_dnn.trace.torch_methods import VIEWS

#: By function of ``VIEWS``: arguments after the array of shape (1, 4, 6).
ARGUMENTS = {
    "chunk": (2, 1), "conj": (), "diagonal": (0, 1, 2), "flatten": (), "movedim": (0, 1),
    "narrow": (1, 1, 2), "permute": ((2, 0, 1),), "reshape": ((-1,),), "select": (1, 2),
    "split": (2, 1), "squeeze": (0,), "swapaxes": (1, 2), "tensor_split": (3, 1),
    "transpose": (1, 2), "unbind": (1,), "unflatten": (1, (2, 2)), "unsqueeze": (0,),
}  # fmt: skip
#: Functions whose views outside of traces are not written to: see ``docs/pytorch.md``.
COPIES = {"broadcast_to", "expand", "imag", "real", "view_as_complex", "view_as_real"}
METHODS = {
    "view": lambda x: x.view(-1), "view_as": lambda x: x.view_as(x.new_zeros(24)),
    "t": lambda x: x[0].t(), "T": lambda x: x[0].T, "data": lambda x: x.data.chunk(2, 2)[1],
    "slice": lambda x: x[:, 1:3, ::2].transpose(1, 2)[0],
    "detach": lambda x: x.detach().select(2, 5), "mT": lambda x: x.mT[0],
    "nested": lambda x: x.permute(1, 2, 0).unbind(1)[3], "ravel": lambda x: x.ravel(),
    "unfold": lambda x: x.unfold(2, 2, 2)[0, 1:], "gaps": lambda x: x[0, :, :4].diagonal(),
    "contiguous": lambda x: x.contiguous(),
    "every other": lambda x: x[:, :, ::2].permute(2, 0, 1)[1:],
    "every other, joined": lambda x: x[:, ::2].view(2, 6)[1],
    "columns apart": lambda x: x[0, :, ::3].unflatten(0, (2, 2)).select(1, 1),
    "rows apart": lambda x: x[0, ::2].chunk(2)[1].unsqueeze(0).squeeze(),
    "repeated slices": lambda x: x[0, 1:, 1:].t()[::2].narrow(0, 1, 1).unbind(1)[2],
}  # fmt: skip

#: Of arrays of bfloat16, ``data`` is the bits.
ABSENT = {"data"}


def check_write_through(view, x, name):
    before = np.array(x.tolist())
    view = view[-1] if isinstance(view, (tuple, list)) else view
    view[...] = -1
    count = int((np.array(x.tolist()) != before).sum())
    assert count == view.size > 0, name


def test_all_views_are_listed():
    assert set(ARGUMENTS) | COPIES == VIEWS


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "bfloat16"])
def test_writes_to_views_reach_arrays_with_methods_of_torch(dtype):
    def array():
        return torch.tensor(np.arange(24).reshape(1, 4, 6), dtype=dtype)

    torch.set_tensor_methods()
    try:
        for name, args in ARGUMENTS.items():
            x = array()
            check_write_through(getattr(x, name)(*args), x, f"x.{name}")
            x = array()
            check_write_through(getattr(torch, name)(x, *args), x, f"torch.{name}")
        for name, method in METHODS.items():
            if dtype == "bfloat16" and name in ABSENT:
                continue
            x = array()
            check_write_through(method(x), x, name)
    finally:
        torch.set_tensor_methods(False)


def test_initializers_write_to_chunks_and_views_of_weights():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTM(3, 2)
            self.linear = nn.Linear(3, 4)
            for block in self.cell.weight_hh_l0.chunk(4, 0):
                nn.init.eye_(block)
            nn.init.ones_(F.chunk(self.cell.bias_ih_l0, 4)[1])
            self.linear.weight.data.t()[0].fill_(5)
            self.linear.weight.data.view(-1)[-1] = 9
            self.linear.bias.data.unsqueeze(0).zero_()

    net = Net()
    assert net.cell.weight_hh_l0.tolist() == np.tile(np.eye(2), (4, 1)).tolist()
    assert net.cell.bias_ih_l0.tolist()[2:4] == [1, 1]
    assert [row[0] for row in net.linear.weight.tolist()] == [5] * 4
    assert net.linear.weight.tolist()[3][2] == 9
    assert net.linear.bias.tolist() == [0] * 4


def test_functions_that_copy_in_torch_copy():
    torch.set_tensor_methods()
    try:
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        torch.reshape(x.t(), (-1,)).zero_()
        x.t().contiguous().zero_()
        assert x.tolist() == [[1, 2], [3, 4]]
    finally:
        torch.set_tensor_methods(False)


def test_functions_copy_arrays_of_dpnp():
    x = F.ones(2, 3)
    F.transpose(x, 0, 1)[...] = 0
    assert x.tolist() == [[1, 1, 1]] * 2
