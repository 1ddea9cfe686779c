# SPDX-License-Identifier: Apache-2.0
"""The text of an ordinary torch module runs as it is: twenty of them, under both."""

import dpnp
import numpy as np
import pytest
import torch_texts

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, tree


class InTorchsPlace:
    """What a text finds under the name ``torch``: functions of the layer, and ``nn``."""

    nn = nn

    def __getattr__(self, name):
        return getattr(F, name)


def made(name, **scope):
    namespace = {"__name__": "texts", **scope}
    exec(torch_texts.TEXTS[name][0], namespace)  # our own text
    return namespace["Net"]()


def inputs(name):
    rng = np.random.default_rng(3)
    return [
        rng.integers(0, 9, s[0]) if s[-1] is int else rng.standard_normal(s).astype("f4")
        for s in torch_texts.TEXTS[name][1]
    ]


def total(outputs):
    floats = [v for v in tree.leaves(outputs) if "float" in str(v.dtype)]
    result = F.sum(F.square(floats[0]))
    for value in floats[1:]:
        result = result + F.sum(F.square(value))
    return result


@pytest.mark.parametrize("name", torch_texts.TEXTS)
def test_text_computes_the_same_in_eager_and_compiled(name):
    sycl_dnn.manual_seed(2)
    net = made(name, nn=nn, F=F, torch=InTorchsPlace())
    xs = [dpnp.asarray(x) for x in inputs(name)]
    net.eval()
    eager = tree.leaves(net(*xs))
    compiled = tree.leaves(sycl_dnn.compile(lambda net, xs: net(*xs))(net, xs))
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", torch_texts.TEXTS)
def test_text_is_torchs(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    theirs = made(name, nn=torch.nn, F=torch.nn.functional, torch=torch)
    net = made(name, nn=nn, F=F, torch=InTorchsPlace())
    assert list(net.state_dict()) == list(theirs.state_dict())
    net.load_state_dict(theirs.state_dict())
    values = inputs(name)
    xs, given = [dpnp.asarray(x) for x in values], [torch.tensor(x) for x in values]
    found, wanted = tree.leaves(net(*xs)), _leaves(theirs(*given))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), b.detach(), rtol=1e-4, atol=1e-4)
    if not list(net.parameters()):
        return
    value = sum((v * v).sum() for v in _leaves(theirs(*given)) if v.is_floating_point())
    value.backward()
    grads = sycl_dnn.grad(lambda net, xs: total(net(*xs)))(net, xs)
    wanted = {n: p.grad for n, p in theirs.named_parameters() if p.requires_grad}
    for name, gradient in grads.named_parameters():
        scale = max(1.0, float(wanted[name].abs().max()))
        a = dpnp.asnumpy(gradient) / scale
        np.testing.assert_allclose(a, wanted[name] / scale, rtol=1e-3, atol=1e-4, err_msg=name)
    for (name, a), b in zip(net.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), b, rtol=1e-4, atol=1e-5, err_msg=name)


def _leaves(value):
    """The tensors of nested results, in the order of ours: dicts by their keys."""
    if isinstance(value, dict):
        value = [value[k] for k in sorted(value)]
    if isinstance(value, (tuple, list)):
        return [v for item in value for v in _leaves(item)]
    return [value]


def test_there_are_twenty():
    assert len(torch_texts.TEXTS) >= 20
