# SPDX-License-Identifier: Apache-2.0
"""Modules of torch, converted: values, names, modes, sizes, refusals."""

import collections
import pickle
import subprocess
import sys

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.compiler import programs
from sycl_dnn.torch_modules import exported_graph

torch = pytest.importorskip("torch")

import architectures  # noqa: E402 - they import torch
import torch_networks  # noqa: E402
from torch import nn  # noqa: E402

# Each exports both modes, half a second or more.
pytestmark = [pytest.mark.torch, pytest.mark.slow]

NETWORKS = torch_networks.networks()


def arrays(*tensors):
    return [dpnp.asarray(t.detach().numpy()) for t in tensors]


def close(found, expected, tolerance=1e-5):
    expected = expected.detach().numpy()
    np.testing.assert_allclose(dpnp.asnumpy(found), expected, rtol=tolerance, atol=tolerance)


def operators(net, is_training=True):
    text = net._training_graph if is_training else net._inference_graph
    return collections.Counter(node.operator for node in exported_graph.parsed(text).nodes)


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


@pytest.mark.parametrize("name", NETWORKS)
def test_forward_gradients_and_steps_match_torch(name):
    torch.manual_seed(0)
    net, *inputs = NETWORKS[name]()
    row = architectures.compared(net, *inputs)
    assert row["passes"], row
    assert row["errors"]["gradients"][0] < 1e-5


class Normed(nn.Module):
    def __init__(self, momentum=0.1):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4, momentum=momentum)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.out.weight
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 2
        y = self.drop(torch.relu_(self.norm(self.conv(x)))).mean(2)
        return self.tied(self.out(y))


def test_names_dtypes_and_ties_match_torch():
    net = Normed()
    net.conv.weight.requires_grad_(False)
    result = sycl_dnn.from_torch(net, torch.randn(4, 3, 5))
    assert repr(result) == repr(net)
    assert [n for n, _ in result.named_parameters()] == [n for n, _ in net.named_parameters()]
    assert result.out._parameters["weight"] is result.tied._parameters["weight"]
    assert "conv.weight" not in dict(result.named_parameters(trainable=True))
    there, back = net.state_dict(), result.to_torch_state_dict()
    assert list(back) == list(there) == list(result.state_dict())
    for name, tensor in there.items():
        assert back[name].dtype == tensor.dtype, name
        assert torch.equal(back[name], tensor), name
    other = Normed()
    other.load_state_dict(back)
    assert result.load_state_dict(other.state_dict()) == ([], [])
    assert result.out._parameters["weight"] is result.tied._parameters["weight"]


@pytest.mark.parametrize("momentum", [0.1, None])
def test_training_updates_the_statistics_and_counts(momentum):
    torch.manual_seed(0)
    net = Normed(momentum)
    net.drop.p = 0.0
    x = torch.randn(4, 3, 5)
    result = sycl_dnn.from_torch(net, x)
    assert net.norm.momentum == momentum
    assert net.training
    for _ in range(3):
        close(result(*arrays(x)), net(x))
    for name, tensor in net.state_dict().items():
        np.testing.assert_allclose(result.to_torch_state_dict()[name], tensor, rtol=1e-5, atol=1e-6)
    close(result.eval()(*arrays(x)), net.eval()(x))
    result.train().norm.eval()
    net.train().norm.eval()
    close(result(*arrays(x)), net(x))
    state = result.to_torch_state_dict()
    assert state["norm.num_batches_tracked"] == 3
    assert state["calls"] == net.calls == 10


class Sequence(nn.Module):
    """Integers larger than float32 holds, written in each forward."""

    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("state", torch.tensor([2**24 + 1, 3]).to(dtype))

    def forward(self, x):
        self.state.mul_(7).add_(1).remainder_(2**31 - 1 if x.dtype == torch.int64 else 3001)
        return x + self.state


@pytest.mark.parametrize("dtype", [torch.int64, torch.int16])
def test_integer_buffers_are_exact(dtype):
    net, x = Sequence(dtype).eval(), torch.zeros(2, dtype=dtype)
    result = sycl_dnn.from_torch(net, x)
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    for call in (result, result, lambda x: compiled(result, x)):
        assert dpnp.asnumpy(call(*arrays(x))).tolist() == net(x).tolist()
        state = result.state_dict()["state"]
        assert state.dtype == str(dtype).removeprefix("torch.")
        assert dpnp.asnumpy(state).tolist() == net.state.tolist()


def test_dropout_follows_the_mode_of_its_module():
    net = nn.Sequential(nn.Dropout(0.5), nn.Identity())
    result = sycl_dnn.from_torch(net, torch.ones(1000))
    x = F.ones(1000)
    first, second = (dpnp.asnumpy(result(x)) for _ in range(2))
    assert 400 < np.count_nonzero(first) < 600
    assert set(first) == {0.0, 2.0}
    assert (first != second).any()
    assert (dpnp.asnumpy(result.eval()(x)) == 1).all()
    result.part_at("0").train()
    assert 400 < np.count_nonzero(dpnp.asnumpy(result(x))) < 600


def test_recurrent_layers_are_kept_whole():
    net, x = NETWORKS["BiLSTM"]()
    counts = operators(sycl_dnn.from_torch(net, x))
    assert counts["sycl_dnn.lstm"] == 1
    assert counts.total() < 12


def test_constants_are_folded_at_conversion():
    def forward(x):
        mask = torch.zeros(6, 6)
        mask[2:] = torch.arange(6.0)
        return x + mask.cumsum(0).tril()

    x = torch.randn(6, 6)
    result = sycl_dnn.from_torch(Called(forward), x)
    assert operators(result) == {"aten.add.Tensor": 1}
    close(result(*arrays(x)), forward(x))
    assert result.state_dict() == {}


class WithTables(nn.Module):
    """Tensors that are neither parameters nor buffers, in layers that are kept whole."""

    def __init__(self):
        super().__init__()
        self.table, self.other = torch.ones(3, 200), torch.ones(3, 200)
        self.dropout, self.norm = nn.Dropout(0.5), nn.BatchNorm1d(200, affine=False)

    def forward(self, x):
        return x + self.table.detach().type_as(x) + self.dropout(self.other) + self.norm(self.other)


def test_layers_of_constants_are_kept_whole():
    net, x = WithTables(), torch.randn(3, 200)
    result = sycl_dnn.from_torch(net, x)
    first, second = (dpnp.asnumpy(result(*arrays(x))) for _ in range(2))
    assert (first != second).any()  # dropout is not computed once at conversion
    net(x), net(x)  # statistics
    close(result.eval()(*arrays(x)), net.eval()(x))


def test_dynamic_sizes_are_bound_at_the_call():
    net = NETWORKS["GPT"]()[0]
    ids = torch.randint(40, (4, 16))
    result = sycl_dnn.from_torch(
        net, ids[:, :9], dynamic={0: "batch", 1: torch.export.Dim("t", max=15)}
    )
    for n, t in ((4, 9), (1, 15), (3, 2)):
        close(result(*arrays(ids[:n, :t])), net(ids[:n, :t]))
    with pytest.raises(ValueError, match="the size t must be .*at most 15, got 16"):
        result(F.zeros((4, 16), dtype="int64"))


def test_sizes_are_fixed_by_default():
    net = Called(lambda x, y: x @ y)
    result = sycl_dnn.from_torch(net, torch.ones(2, 3), torch.ones(3, 4), dynamic=[{0: "n"}])
    assert result(F.ones(7, 3), F.ones(3, 4)).shape == (7, 4)
    with pytest.raises(ValueError, match=r"args_0 must have shape \(n, 3\), got \(2, 5\)"):
        result(F.ones(2, 5), F.ones(3, 4))
    same = sycl_dnn.from_torch(
        Called(lambda x, y: x + y), torch.ones(2), torch.ones(2), dynamic={0: "n"}
    )
    with pytest.raises(ValueError, match=r"must have shape \(n\), got \(4,\), n = 3"):
        same(F.ones(3), F.ones(4))


def test_arguments_of_another_kind_of_dtype_are_refused():
    net = sycl_dnn.from_torch(Called(lambda x: x.float() * 200), torch.ones(2))
    with pytest.raises(TypeError, match="must be of a float dtype, as in the conversion, got int8"):
        net(F.ones(2, dtype="int8"))
    assert net(F.ones(2, dtype="float64")).tolist() == [200, 200]


def test_torch_says_which_size_cannot_be_dynamic():
    net = Called(lambda x: x.view(6, 2).sum(0))
    with pytest.raises(
        RuntimeError, match=r"(?s)refuses Called in training mode.*Constraints violated"
    ):
        sycl_dnn.from_torch(net, torch.ones(3, 4), dynamic={0: "n"})
    with pytest.raises(ValueError, match="dynamic must have names of forward's arguments, input"):
        sycl_dnn.from_torch(nn.Linear(2, 2), torch.ones(1, 2), dynamic={"x": {0: "n"}})


class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # where values decide
            return x + 1
        return x - 1


def test_a_refusal_of_torch_names_the_line():
    with pytest.raises(RuntimeError) as caught:
        sycl_dnn.from_torch(Branches(), torch.ones(3))
    message = str(caught.value)
    assert "test_conversion.py, line" in message
    assert "if x.sum() > 0:  # where values decide" in message
    assert "data-dependent" in message


def test_an_unknown_operator_is_named_with_its_line():
    class Orthogonal(nn.Module):
        def forward(self, x):
            return torch.special.bessel_j0(x)  # the line of the operator

    with pytest.raises(NotImplementedError) as caught:
        sycl_dnn.from_torch(Orthogonal(), torch.ones(3, 3))
    assert "aten.special_bessel_j0 at" in str(caught.value)
    assert "# the line of the operator" in str(caught.value)


def test_a_mode_that_cannot_be_converted_is_refused_at_the_call():
    net = Called(lambda x: x)
    net.function = lambda x: torch.special.bessel_j0(x) if net.training else x * 2
    result = sycl_dnn.from_torch(net.eval(), torch.ones(3, 3))
    assert result(F.ones(3, 3)).sum() == 18
    with pytest.raises(NotImplementedError, match="aten.special_bessel_j0"):
        result.train()(F.ones(3, 3))


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        y = x * 2
        y.detach().mul_(3)
        self.total.detach().add_(x.detach().sum(0))
        return y * self.weight + self.total


def test_writes_through_detached_views_are_kept():
    net = Writes()
    x = torch.ones(2, 3)
    result = sycl_dnn.from_torch(net, x)
    for _ in range(2):
        close(result(*arrays(x)), net(x))
    assert result.state_dict()["total"].tolist() == net.total.tolist() == [4, 4, 4]


def test_writes_to_parameters_are_refused():
    class Clipped(Writes):
        def forward(self, x):
            with torch.no_grad():
                self.weight.clamp_(0, 0.5)
            return x * self.weight

    for net, x in (
        (Clipped(), torch.ones(3)),
        (nn.Sequential(nn.Embedding(4, 3, max_norm=0.5)), torch.tensor([1, 2])),
    ):
        with pytest.raises(NotImplementedError, match="must not write to the parameter .*weight"):
            sycl_dnn.from_torch(net, x)


def test_numbers_that_depend_on_values_are_refused_with_their_line():
    class Scaled(nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    with pytest.raises(NotImplementedError, match=r"_local_scalar_dense at .*x\.sum\(\)\.item"):
        sycl_dnn.from_torch(Scaled(), torch.ones(3))


def test_results_in_tuples_of_torch_keep_their_fields():
    result = sycl_dnn.from_torch(Called(lambda x: torch.linalg.slogdet(x)), 2 * torch.eye(3))
    found = result(2 * F.eye(3))
    assert found._fields == ("sign", "logabsdet")
    assert float(found.logabsdet) == pytest.approx(3 * np.log(2))


def test_complex_parameters_have_the_gradients_of_torch():
    class Filter(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, dtype=torch.cfloat))

        def forward(self, x):
            return torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=6)

    net, x = Filter(), torch.randn(3, 6)
    result = sycl_dnn.from_torch(net, x)
    close(result(*arrays(x)), net(x))
    net(x).square().sum().backward()
    grads = sycl_dnn.grad(lambda net, x: F.sum(F.square(net(x))))(result, *arrays(x))
    close(grads.weight, net.weight.grad)


def test_control_flow_of_torch_takes_one_branch():
    def forward(x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    result = sycl_dnn.from_torch(Called(forward), torch.ones(3))
    assert result(F.ones(3)).tolist() == [2, 2, 2]
    assert result(-F.ones(3)).tolist() == [-2, -2, -2]


Pair = collections.namedtuple("Pair", "first second")


def test_arguments_and_results_may_be_nested():
    def forward(x, flag, *, parts, scale=None):
        return {"pair": Pair(x + parts["a"], [parts["b"] * 2]), "flag": flag, "none": scale}

    parts = {"a": torch.ones(2), "b": torch.ones(3)}
    result = sycl_dnn.from_torch(Called(forward), torch.ones(2), True, kwargs={"parts": parts})
    found = result(F.ones(2), True, parts={"a": F.ones(2), "b": F.ones(3)})
    assert found["pair"].first.tolist() == [2, 2]
    assert found["pair"][1][0].tolist() == [2, 2, 2]
    assert found["flag"] is True
    assert found["none"] is None
    with pytest.raises(ValueError, match="must be True, with which the module was converted"):
        result(F.ones(2), False, parts={"a": F.ones(2), "b": F.ones(3)})
    with pytest.raises(TypeError, match=r"parts must be a dict of \['a', 'b'\]"):
        result(F.ones(2), True, parts={"a": F.ones(2)})
    with pytest.raises(TypeError, match="must be those of the examples"):
        result(F.ones(2), True)


def test_arguments_may_be_given_by_name():
    result = sycl_dnn.from_torch(nn.Bilinear(2, 3, 4), np.ones((5, 2), "f4"), F.ones(5, 3))
    a, b = F.ones(5, 2), F.ones(5, 3)
    assert (result(a, b) == result(input2=b, input1=a)).all()


def test_transforms_take_a_converted_module():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x = torch.randn(6, 8)
    actual = sycl_dnn.from_torch(net, x).eval()
    (provided,) = arrays(x)
    close(sycl_dnn.compile(lambda net, x: net(x))(actual, provided), net(x))
    with sycl_dnn.autocast("bfloat16"):
        assert str(actual(provided).dtype) == "bfloat16"
    integer, _ = sycl_dnn.quantize(sycl_dnn.compile(actual), [provided])
    assert np.abs(dpnp.asnumpy(integer(provided)) - net(x).detach().numpy()).max() < 0.1
    expected = torch.autograd.functional.hvp(
        lambda x: net(x).square().sum(), x, torch.ones_like(x)
    )[1]
    slope = sycl_dnn.grad(lambda x: F.sum(F.square(actual(x))))
    close(sycl_dnn.grad(lambda x: F.sum(slope(x)))(provided), expected, 1e-4)
    close(actual.to("bfloat16")(F.astype(provided, "bfloat16")).astype("float32"), net(x), 0.05)


def test_a_pickled_module_needs_no_torch(tmp_path):
    net, x = NETWORKS["U-Net"]()
    result = sycl_dnn.from_torch(net, x)
    (tmp_path / "net").write_bytes(pickle.dumps(result))
    np.save(tmp_path / "x.npy", x.numpy())
    np.save(tmp_path / "y.npy", dpnp.asnumpy(result.eval()(*arrays(x))))
    program = (
        "import sys, pickle, pathlib; sys.modules['torch'] = None; import dpnp, numpy as np\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "net = pickle.loads((folder / 'net').read_bytes()).eval()\n"
        "y = dpnp.asnumpy(net(dpnp.asarray(np.load(folder / 'x.npy'))))\n"
        "assert np.abs(y - np.load(folder / 'y.npy')).max() < 1e-5\n"
        "import sycl_dnn; assert callable(sycl_dnn.from_torch)\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)


class Tied(nn.Module):
    """Three products, two of whose weights may be one, and a function of a weight."""

    def __init__(self, tied):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.factor = nn.Parameter(torch.randn(8))
        for i, j in tied:
            self.layers[i].weight = self.layers[j].weight

    def forward(self, x):
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        return x * self.factor.exp()


def test_programs_on_disk_serve_other_weights_but_no_other_ties(tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    traces, traced = [], programs.traced
    monkeypatch.setattr(programs, "traced", lambda *args: (traces.append(args), traced(*args))[1])
    x = torch.randn(4, 8)
    for seed in range(2):
        torch.manual_seed(seed)
        for tied in ([], [(2, 0)], [(2, 1)]):
            net = Tied(tied).eval()
            close(sycl_dnn.from_torch(net, x)(*arrays(x)), net(x))
    assert len(traces) == 3


def test_converted_parts_cannot_run_alone():
    result = sycl_dnn.from_torch(nn.Sequential(nn.Linear(2, 2)), torch.ones(1, 2))
    with pytest.raises(NotImplementedError, match="Linear: a part of a converted module"):
        result.part_at("0")(F.ones(1, 2))
    with pytest.raises(TypeError, match="module must be a torch.nn.Module, got int"):
        sycl_dnn.from_torch(3)


def test_weight_norm_keeps_its_parametrization():
    torch.manual_seed(0)
    net = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    result = sycl_dnn.from_torch(net, torch.ones(2, 4))
    assert list(result.state_dict()) == list(net.state_dict())
    close(result(F.ones(2, 4)), net(torch.ones(2, 4)))


def test_sparse_buffers_are_dense():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)
            self.register_buffer("heads", torch.eye(3).to_sparse(), persistent=False)

        def forward(self, x):
            return self.linear(x)

    theirs, x = Heads(), torch.randn(2, 3)
    net = sycl_dnn.from_torch(theirs, x)
    close(net(*arrays(x)), theirs(x))
    close(net.heads, torch.eye(3))
