# SPDX-License-Identifier: Apache-2.0
"""Forward hooks in eager calls and traced functions, compared with torch."""

import copy

import dpnp
import numpy as np
import pytest
from arrays import on_device

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

X = np.random.default_rng(0).standard_normal((3, 4)).astype("f4")


def texts(library):
    class Block(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = library.nn.Linear(4, 6)
            self.norm = library.nn.BatchNorm1d(6)

        def forward(self, x, scale=1.0):
            y = self.norm(self.up(x)).view(x.size(0), 2, -1)
            return (y * scale).transpose(1, 2).flatten(1) + 1

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.block, self.out = Block(), library.nn.Linear(6, 2)

        def forward(self, x):
            return self.out(self.block(x, scale=0.5).mean(0, keepdim=True).sin())

    return Net


class Ours:
    nn = nn


def arrays(value):
    is_own = isinstance(value, dpnp.ndarray)
    return dpnp.asnumpy(value) if is_own else value.detach().numpy()


def hooked(net):
    """Register hooks of all kinds; return the record of their calls, and their handles."""
    seen = []
    handles = [
        net.block.register_forward_pre_hook(lambda m, args: args[0] * 2),
        net.block.register_forward_pre_hook(
            lambda m, args, kwargs: (args, {"scale": kwargs["scale"] * 3}), with_kwargs=True
        ),
        net.block.up.register_forward_hook(lambda m, args, y: seen.append(("up", args[0], y))),
        net.block.register_forward_hook(
            lambda m, args, kwargs, y: seen.append(("block", kwargs["scale"], y)), with_kwargs=True
        ),
        net.block.register_forward_hook(lambda m, args, y: y.abs().view(3, -1), prepend=True),
        net.register_forward_hook(lambda m, args, y: y + y.size(1)),
    ]
    return seen, handles


def pair():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)  # with some weights the norm of three samples magnifies rounding errors
    other, own = texts(torch)(), texts(Ours)()
    own.load_state_dict(other.state_dict())
    return torch, own, other


def test_eager_hooks_behave_as_in_torch():
    torch, own, other = pair()
    plain = arrays(own(on_device(X)))
    own.load_state_dict(other.state_dict())
    (seen, handles), (wanted_seen, theirs) = hooked(own), hooked(other)
    for _ in range(2):
        actual, expected = own(on_device(X)), other(torch.tensor(X))
        assert type(actual) is dpnp.ndarray
        np.testing.assert_allclose(arrays(actual), arrays(expected), rtol=1e-5, atol=1e-5)
    assert [row[0] for row in seen] == [row[0] for row in wanted_seen] == ["up", "block"] * 2
    for row, known in zip(seen, wanted_seen, strict=True):
        for a, b in zip(row[1:], known[1:], strict=True):
            if isinstance(b, float):
                assert a == b
            else:
                np.testing.assert_allclose(arrays(a), arrays(b), rtol=1e-5, atol=1e-5)
    for name, value in other.state_dict().items():
        actual = arrays(own.state_dict()[name])
        np.testing.assert_allclose(actual, arrays(value), rtol=1e-5, atol=1e-6)
    for handle in (*handles, *theirs, *handles):
        handle.remove()
    own.load_state_dict(texts(torch)().state_dict())
    seen.clear()
    assert arrays(own(on_device(X))).shape == plain.shape
    assert not seen


@pytest.mark.parametrize("way", ["traced", "compiled"])
def test_traced_hooks_change_values_and_gradients(way):
    torch, own, other = pair()
    hooked(own)
    hooked(other)
    expected = other(torch.tensor(X))
    (expected**2).sum().backward()
    step = sycl_dnn.value_and_grad(lambda net, x: F.sum(F.square(net(x))))
    step = sycl_dnn.compile(step) if way == "compiled" else step
    value, grads = step(own, on_device(X))
    assert float(value) == pytest.approx(float((expected**2).sum()), rel=1e-5)
    for (name, found), (known, p) in zip(
        grads.named_parameters(), other.named_parameters(), strict=True
    ):
        assert name == known
        np.testing.assert_allclose(arrays(found), p.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_compiled_functions_notice_added_and_removed_hooks():
    net = nn.Sequential(nn.Linear(4, 2), nn.Tanh())
    run = sycl_dnn.compile(lambda net, x: net(x))
    x = on_device(X)
    plain = arrays(run(net, x))
    factor = {"value": 2.0}
    handle = net[0].register_forward_hook(lambda m, args, y: y * factor["value"])
    doubled = arrays(run(net, x))
    np.testing.assert_allclose(np.arctanh(doubled), 2 * np.arctanh(plain), rtol=1e-3, atol=1e-5)
    factor["value"] = 3.0
    tripled = arrays(run(net, x))
    np.testing.assert_allclose(np.arctanh(tripled), 3 * np.arctanh(plain), rtol=1e-3, atol=1e-4)
    handle.remove()
    np.testing.assert_array_equal(arrays(run(net, x)), plain)


def test_copies_keep_hooks_and_handles_belong_to_their_module():
    net, calls = nn.Linear(4, 2), []
    handle = net.register_forward_hook(lambda m, args, y: calls.append(m))
    other = copy.deepcopy(net)
    handle.remove()
    net(on_device(X))
    assert not calls
    other(on_device(X))
    assert calls == [other]
    second = net.register_forward_hook(lambda m, args, y: calls.append("second"))
    handle.remove()  # its hook had the same number
    net(on_device(X))
    assert calls[-1] == "second"
    with second:
        pass
    net(on_device(X))
    assert len(calls) == 2


def test_hooks_after_a_failure():
    net, calls = nn.Linear(5, 2), []
    net.register_forward_hook(lambda m, args, y: calls.append("usual"))
    net.register_forward_hook(lambda m, args, y: calls.append(y), always_call=True)
    with pytest.raises(ValueError, match="linear"):
        net(on_device(X))
    assert calls == [None]
    net.register_forward_hook(lambda m, args, y: 1 / 0, always_call=True)
    with (
        pytest.raises(ValueError, match="linear"),
        pytest.warns(RuntimeWarning, match="always_call=True failed after"),
    ):
        net(on_device(X))


def test_invalid_use_is_refused():
    net = nn.Linear(4, 2)
    with pytest.raises(TypeError, match="Linear: hook must be callable, got int"):
        net.register_forward_hook(3)
    net.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple of args and kwargs"):
        net(on_device(X))

    def late(net, x):
        net.register_forward_hook(lambda m, args, y: y)
        return net(x)

    with pytest.raises(RuntimeError, match="hooks must be registered outside of traced functions"):
        sycl_dnn.compile(late)(net, on_device(X))
