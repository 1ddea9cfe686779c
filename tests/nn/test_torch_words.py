# SPDX-License-Identifier: Apache-2.0
"""Methods of values in a forward, with torch's argument names, compared with torch."""

import dpnp
import numpy as np
import pytest
from compared_with_torch import torch
from function_modules import Net

import sycl_dnn
from sycl_dnn import functional as F

#: What a forward computes of a float value (2, 3, 4), a text each.
METHODS = [
    "x.view(2, -1)", "x.view(size=(2, 12))", "x.view((6, 4))", "x.permute(dims=(2, 0, 1))",
    "x.permute(2, 0, 1)", "x.transpose(dim0=1, dim1=2)", "x.flatten(start_dim=1)",
    "x.mean(dim=1, keepdim=True)", "x.mean((1, 2))", "x.sum(dim=(0, 2))", "x.sum(axis=1)",
    "x.softmax(dim=-1)", "x.log_softmax(-1)", "x.split(split_size=2, dim=1)[1]",
    "x.split([1, 2], dim=1)[0]", "x.chunk(chunks=2, dim=2)[1]", "x.unsqueeze(dim=1)",
    "x[:, :1].squeeze(dim=1)", "x.reshape(shape=(4, 6))", "x.reshape(6, 4)", "x.repeat(1, 2, 1)",
    "x.repeat(repeats=(2, 1, 1))", "x[:1].expand(3, -1, -1)", "x[:1].expand(size=(3, 3, 4))",
    "x.max(dim=1)[0]", "x.max(dim=1).values", "x.min(dim=-1).indices", "x.max()",
    "x.topk(k=2, dim=-1).values", "x.masked_fill(mask=x > 0, value=-1.0)",
    "x.masked_fill(x > 0, 2)", "x.clamp(min=-0.5, max=0.5)", "x.clamp(max=0)", "x.clamp_min(0.1)",
    "x.to(dtype=x.dtype)", "x.to(x.device)", "x.to(x)", "x.to('cpu')", "x.type_as(x)", "x.cpu()",
    "x.repeat_interleave(repeats=2, dim=1)", "x.cumsum(dim=1)", "x.cumsum(1, dtype=x.dtype)",
    "x.cumprod(dim=-1)", "x.norm(p=2, dim=-1, keepdim=True)", "x.norm(dim=1)", "x.norm()",
    "x.std(dim=1, unbiased=False)", "x.std(1)", "x.var(dim=-1, keepdim=True)",
    "x.var(-1, unbiased=False)", "x.new_zeros(2, 3)", "x.new_zeros(size=(2, 3))",
    "x.new_ones((2, 3))", "x.new_full((2,), 3.0)", "x.new_full(size=(2,), fill_value=3.0)",
    "x.new_tensor([1.0, 2.0])", "x.new_tensor(3)", "x + x.new_empty(1).fill_(1)",
    "x.unflatten(dim=2, sizes=(2, 2))", "x.roll(shifts=1, dims=1)", "x.flip(dims=(0,))",
    "x.flip(0)", "x.narrow(dim=1, start=1, length=2)", "x.select(dim=1, index=0)",
    "x.argmax(dim=-1)", "x.argmax(dim=1, keepdim=True)", "x.sort(dim=-1, descending=True).values",
    "x.argsort(dim=1)", "x.pow(exponent=2)", "x.add(other=x, alpha=2)", "x.mul(other=x)",
    "x.sub(x, alpha=2)", "x.div(other=x.abs() + 1)", "x.matmul(other=x.mT)", "x @ x.mT",
    "x.bmm(mat2=x.transpose(1, 2))", "x.tril()", "x.triu(diagonal=1)", "x[0].t()", "x.abs().sqrt()",
    "x.add_(1)", "x.clone().mul_(2)", "x.clone().tril_()", "x.clone().triu_(diagonal=1)",
    "x.clone().masked_fill_(x > 0, 0)", "x.clone().clamp_(min=0)", "x.clone().clamp_(-1, 1)",
    "x.clone().div_(2)", "x.clone().sub_(x, alpha=2)", "x.clone().zero_()", "x.clone().fill_(2)",
    "x.clone().copy_(x[0])", "x.clone().relu_()", "x.clone().sigmoid_()", "x.clone().exp_()",
    "x.clone().neg_()", "x.clone().pow_(2)", "x.clone().tanh_()", "x.clone().abs_()",
    "x.clone().sin_()", "x.clone().cos_()", "x.clone().round_()", "x.clone().floor_()",
    "x.clone().lerp_(x * 2, 0.5)", "x.clone().addcmul_(x, x, value=0.5)", "x.detach()",
    "x.data", "x.clone().data", "x.contiguous()", "x.numel() + x", "x.dim() + x",
    "x.size(0) + x", "x.size(dim=1) + x", "x.shape[-1] + x", "x * x.is_cuda", "x.float()",
    "x.ndimension() + x", "x.nelement() + x", "x.where(x > 0, x * 2)", "x.expand_as(x)",
    "x.flip(0, 1)", "x.flip(0)", "x.flip((0, 1))", "x.flip(dims=[1])",
    "x.view_as(x)", "x.reshape_as(x)", "x.swapaxes(0, 1)", "x.swapdims(0, 1)", "x.movedim(0, 1)",
    "x.diagonal(dim1=1, dim2=2)", "x.unbind(dim=1)[0]", "x.all(dim=1)", "(x > 0).any(dim=1)",
    "x.prod(dim=1)", "x.amax(dim=(1, 2))", "x.amin(1, keepdim=True)", "x.logsumexp(dim=-1)",
    "x.square()", "x.rsqrt()", "x.reciprocal()", "x.exp().log1p()", "x.sign()", "x.isnan()",
    "x.gather(dim=1, index=(x > 0).long()[:, :2])", "x.eq(x)", "x.ge(0)", "x.lt(0)",
    "x.index_select(dim=1, index=(x[0, 0] > 9).long())", "x.logical_not()", "x.bool()",
    "x.nan_to_num(nan=0.0)", "x.erf()", "x.fmod(2)", "x.remainder(other=2)", "x.floor_divide(2)",
    "x.dot(x) if x.dim() == 1 else x", "x.outer(x) if x.dim() == 1 else x", "x.T if 0 else x",
    "x.view(2, 3, 2, 2).sum(-1)", "x.lerp(end=x * 2, weight=0.5)", "x.hardtanh() if 0 else x",
    "x.ne(0).sum()", "x.count_nonzero() if 0 else x", "x.addcdiv(x, x.abs() + 1, value=2)",
    "x.minimum(other=x * 2)", "x.maximum(x * 2)", "x.sum(dtype=x.dtype)", "x.tile((2, 1, 1))",
    "x.tile(2, 1, 1)",
    "x.tile(dims=(2,))", "x.new([1.0, 2.0])", "x.new(2, 3).zero_()", "x.new()",
]  # fmt: skip


def scope(text):
    return eval(f"lambda x: {text}")


@pytest.mark.parametrize("text", METHODS)
def test_methods_match_torch(text):
    rng = np.random.default_rng(7)
    values = rng.standard_normal((2, 3, 4)).astype("f4")
    want = scope(text)(torch.from_numpy(values.copy())).numpy()
    found = Net(scope(text))(dpnp.asarray(values))
    np.testing.assert_allclose(dpnp.asnumpy(found), want, rtol=2e-5, atol=2e-6)
    assert found.shape == want.shape
    assert str(found.dtype) == str(want.dtype)


FUNCTIONS = [
    "F.sum(x, axis=1, keepdims=True)", "F.mean(input=x, dim=1)", "F.cat([x, x], axis=1)",
    "F.stack([x, x], axis=1)", "F.split(x, split_size_or_sections=1, dim=1)[0]",
    "F.broadcast_to(x[:1], size=(2, 3, 4))", "F.softmax(input=x, dim=1)", "F.zeros_like(input=x)",
    "F.ones_like(x, dtype=x.dtype, device=x.device)", "F.zeros(size=(2, 3), requires_grad=False)",
    "F.full((2,), 3.0, requires_grad=False)", "F.max(x, axis=1)[0]", "F.argmax(x, axis=-1)",
    "F.var(x, axis=1)", "F.squeeze(x[:1], axis=0)", "F.cumsum(x, axis=1)",
    "F.flip(x, dims=(1,))", "F.add(input=x, other=x)", "F.matmul(x, other=x.mT)",
    "F.layer_norm(x, normalized_shape=(4,))", "F.unsqueeze(input=x, dim=0)",
    "F.norm(x, p=2, dim=-1, keepdim=True)", "F.gather(x, axis=1, index=(x > 0).long()[:, :1])",
    "F.repeat_interleave(x, repeats=2, dim=0)", "F.tensor([1.0, 2.0]) + x[0, 0, :2]",
    "F.var(x, dim=1, unbiased=False, keepdim=True)", "F.std(x, unbiased=True)",
    "F.var_mean(x, dim=(0, 2), unbiased=False)[0]",
]  # fmt: skip


class Both:
    """torch's functions, whether of ``torch`` or of ``torch.nn.functional``."""

    def __getattr__(self, name):
        return getattr(torch, name, None) or getattr(torch.nn.functional, name)


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_accept_torch_keywords(text):
    values = np.random.default_rng(8).standard_normal((2, 3, 4)).astype("f4")
    want = eval(text, {"F": Both(), "x": torch.from_numpy(values.copy())}).numpy()
    net = Net(lambda x: eval(text, {"F": F, "x": x}))
    found = net(dpnp.asarray(values))
    np.testing.assert_allclose(dpnp.asnumpy(found), want, rtol=2e-5, atol=2e-6)


@pytest.mark.slow
def test_keywords_that_would_change_the_result_are_refused():
    x = F.ones(2)
    with pytest.raises(TypeError, match="zeros_like: requires_grad must be False, got True"):
        F.zeros_like(x, requires_grad=True)
    with pytest.raises(TypeError, match="tensor: requires_grad must be False, got True"):
        F.tensor([1.0], requires_grad=True)
    with pytest.raises(TypeError, match="must be a numpy.ndarray, got list"):
        F.from_numpy([1.0])
    with pytest.raises(TypeError, match="nonsense"):
        F.sum(x, nonsense=1)
    with pytest.raises(TypeError, match="unbiased"):
        F.var(x, unbiased=False, correction=0)


def test_arrays_from_numbers_have_torch_dtypes():
    for data in (1, 1.5, True, [1, 2], [1.0, 2], [[True]], np.ones(2), np.ones(2, "i4")):
        assert str(F.tensor(data).dtype) == str(torch.tensor(data).numpy().dtype), data
    values = np.ones((2, 3), "f4")
    result = F.from_numpy(values)
    values[:] = 0
    assert sycl_dnn.from_numpy(values).shape == result.shape
    assert float(F.sum(result)) == 6
