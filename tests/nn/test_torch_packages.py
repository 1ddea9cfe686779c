# SPDX-License-Identifier: Apache-2.0
"""Names that model code takes from packages of torch: classes, blocks, random states, trees."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names as torch


def test_files_of_modules_have_the_classes_of_nn():
    assert torch.nn.modules.module.Module is torch.nn.modules.Module is nn.Module
    assert torch.nn.modules.linear.Linear is nn.Linear
    assert torch.nn.parameter.Parameter is nn.Parameter
    assert isinstance(nn.BatchNorm2d(2), torch.nn.modules.batchnorm._BatchNorm)
    assert isinstance(nn.Conv3d(1, 1, 1), torch.nn.modules.conv._ConvNd)
    assert not isinstance(nn.Conv3d(1, 1, 1), torch.nn.modules.conv._ConvTransposeNd)
    pair, triple = torch.nn.modules.utils._pair, torch.nn.modules.utils._triple
    assert (pair(3), pair([1, 2]), triple(2)) == ((3, 3), (1, 2), (2, 2, 2))
    assert torch.nn.modules.utils._ntuple(2)(5) == (5, 5)
    assert torch.distributions.normal.Normal is torch.distributions.Normal
    assert torch.jit.ScriptModule is nn.Module
    for package in (torch.nn.modules, torch.distributions):
        assert not hasattr(package, "no_such_name")


def test_choices_of_attention_change_nothing(queue):
    q = F.randn(1, 2, 3, 4, device=queue)
    attention = F.scaled_dot_product_attention
    with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]):
        inside = attention(q, q, q)
    with torch.backends.cuda.sdp_kernel(enable_flash=True, enable_math=False):
        again = attention(q, q, q)
    torch.backends.cuda.enable_flash_sdp(False)
    decorated = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)(attention)
    for actual in (inside, again, decorated(q, q, q)):
        assert (actual == attention(q, q, q)).all()


def test_autocast_of_a_kind_of_device(queue):
    a = F.ones(2, 2, device=queue)

    @torch.cuda.amp.custom_fwd
    def product(a):
        return a @ a

    with torch.cuda.amp.autocast(dtype=torch.bfloat16):
        assert F.matmul(a, a).dtype == "bfloat16"
    with torch.cuda.amp.autocast(enabled=False):
        assert product(a).dtype == "float32"
    assert torch.cuda.amp.custom_bwd(device_type="cuda")(product) is product
    assert torch.cuda.FloatTensor is torch.FloatTensor
    torch.cuda.set_device(0)
    assert torch.cuda.current_device() == 0
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not hasattr(torch.cuda, "no_such_name")


def test_random_states_are_restored():
    torch.random.manual_seed(3)
    state = torch.get_rng_state()
    with torch.random.fork_rng():
        drawn = torch.rand(2)
    assert (torch.rand(2) == drawn).all()
    torch.set_rng_state(state)
    assert (torch.rand(2) == drawn).all()
    with torch.random.fork_rng(enabled=False):
        torch.rand(2)
    after = torch.rand(2)
    torch.set_rng_state(state)
    assert not (torch.rand(2) == after).all()
    devices, states = torch.utils.checkpoint.get_device_states(drawn)
    torch.utils.checkpoint.set_device_states(devices, states)


def test_trees_end_at_what_is_no_container():
    nest = {"a": [1, None, (2,)], "b": nn.ReLU()}
    pytree = torch.utils._pytree
    leaves, structure = pytree.tree_flatten(nest)
    assert leaves == pytree.tree_leaves(nest) == [1, None, 2, nest["b"]]
    assert pytree.tree_unflatten(leaves, structure) == nest
    assert pytree.tree_map(str, nest)["a"] == ["1", "None", ("2",)]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("sizes", [(3,), (3, 4), (2, 3, 3)])
def test_dirac_weights_keep_their_inputs(groups, sizes, queue):
    weight = F.zeros(4, 2, *sizes, device=queue)
    assert nn.init.dirac_(weight, groups) is weight
    center = tuple(size // 2 for size in sizes)
    expected = np.zeros(weight.shape, "f4")
    for k in range(4):
        if k % (4 // groups) < 2:
            expected[(k, k % (4 // groups), *center)] = 1
    np.testing.assert_array_equal(weight.asnumpy(), expected)


def test_dirac_weights_have_axes_of_a_convolution():
    with pytest.raises(ValueError, match="3, 4, or 5 dimensions"):
        nn.init.dirac_(F.zeros(2, 2))
    with pytest.raises(ValueError, match="must be divisible by groups"):
        nn.init.dirac_(F.zeros(3, 2, 3), 2)
    assert nn.init.xavier_uniform is nn.init.xavier_uniform_


def parameters_of(expression):
    """Return whether the parameters that a module has after an assignment are trained."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = eval(expression, {"torch": torch, "nn": nn})

    return [p.requires_grad for p in Net().parameters()]


@pytest.mark.parametrize("call", [
    "to('cpu')", "cpu()", "float()", "contiguous()", "to(torch.float32)", "type(torch.float32)",
    "type_as(torch.ones(2))", "requires_grad_()", "requires_grad_(False)", "normal_()",
])  # fmt: skip
def test_methods_that_convert_nothing_return_the_parameter(call):
    assert parameters_of(f"nn.Parameter(torch.ones(3)).{call}") == ["False" not in call]


@pytest.mark.parametrize("call", ["double()", "detach()", "data", "view(3)", "clone()"])
def test_methods_that_return_another_array_return_no_parameter(call):
    assert parameters_of(f"nn.Parameter(torch.ones(3)).{call}") == []


@pytest.mark.parametrize("values", [
    "torch.ones(3, requires_grad=True)", "torch.tensor([1.0, 1.0], requires_grad=True)",
    "torch.ones(3).requires_grad_()",
])  # fmt: skip
def test_arrays_of_a_module_may_require_gradients(values):
    assert parameters_of(f"nn.Parameter({values})") == [True]
    with pytest.raises((TypeError, RuntimeError), match="make .* a? ?nn.Parameter"):
        eval(values, {"torch": torch})


def test_values_of_a_traced_function_may_require_gradients(queue):
    def loss(x):
        ones = F.ones(3, requires_grad=True)
        return F.sum(x * ones * F.tensor([1.0, 2.0, 3.0], requires_grad=True))

    assert sycl_dnn.grad(loss)(F.ones(3, device=queue)).tolist() == [1.0, 2.0, 3.0]
