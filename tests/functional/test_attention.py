# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import check_gradient, checked
from functional.on_device import device_arguments, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.arguments import traced
from sycl_dnn.functional import attention as attention_mask
from sycl_dnn.program.place import place_of
from sycl_dnn.trace.recording import Trace

attention = F.scaled_dot_product_attention


def reference(q, k, v, visible=True):
    scores = np.where(visible, q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1.0, total) @ v


def causal_with_scores(q, k, v, mask, dropout_p, is_causal):
    """torch accepts only one of the two."""
    import torch

    hidden = torch.full_like(mask, -torch.inf).triu(1)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask + hidden)


def of_broadcast(q, k, v, mask):
    """torch does not broadcast heads or images here."""
    import torch

    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


#: name: shapes of query, key, value; the arguments after the mask, those by name, layout.
_PLAIN = {
    "heads": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6)),
    "matrices": ((5, 8), (7, 8), (7, 6)),
    "batch": ((3, 5, 8), (3, 7, 8), (3, 7, 8)),
    "rank-5": ((2, 1, 3, 5, 4), (2, 1, 3, 7, 4), (2, 1, 3, 7, 4)),
    "broadcast": ((2, 3, 5, 8), (3, 7, 8), (1, 3, 7, 8)),
    "one-query": ((2, 3, 1, 8), (2, 3, 17, 8), (2, 3, 17, 8)),
    "one-key": ((2, 3, 5, 8), (2, 3, 1, 8), (2, 3, 1, 8)),
    "one-feature": ((1, 2, 5, 1), (1, 2, 7, 1), (1, 2, 7, 1)),
    "primes": ((1, 2, 67, 13), (1, 2, 71, 13), (1, 2, 71, 11)),
    "causal": ((2, 3, 7, 8), (2, 3, 7, 8), (2, 3, 7, 8), (0.0, True)),
    "causal-wide": ((2, 3, 5, 8), (2, 3, 9, 8), (2, 3, 9, 8), (0.0, True)),
    "causal-tall": ((2, 3, 9, 8), (2, 3, 5, 8), (2, 3, 5, 8), (0.0, True)),
    "causal-blocks": ((1, 2, 300, 8), (1, 2, 300, 8), (1, 2, 300, 8), (0.0, True)),
    "causal-blocks-wide": ((2, 131, 8), (2, 150, 8), (2, 150, 8), (0.0, True)),
    "causal-blocks-tall": ((2, 290, 8), (2, 150, 8), (2, 150, 8), (0.0, True)),
    "causal-rank-5": ((2, 2, 3, 5, 4), (2, 2, 3, 7, 4), (2, 2, 3, 7, 4), (0.0, True)),
    "scaled": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8), (0.0, False), {"scale": 0.7}),
    "groups": ((2, 6, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8), (0.0, False), {"enable_gqa": True}),
    "groups-causal": ((2, 6, 7, 8), (2, 3, 7, 8), (2, 3, 7, 8), (0.0, True), {"enable_gqa": True}),
    "groups-causal-blocks": ((1, 4, 300, 8), (1, 2, 300, 8), (1, 2, 300, 8), (0.0, True),
                             {"enable_gqa": True}),
    "groups-causal-wide": ((4, 131, 8), (2, 150, 8), (2, 150, 6), (0.0, True),
                           {"enable_gqa": True}),
    "groups-causal-tall": ((2, 1, 6, 290, 4), (2, 1, 2, 150, 4), (2, 1, 2, 150, 4), (0.0, True),
                           {"enable_gqa": True}),
    "groups-rank-3": ((6, 5, 8), (2, 7, 8), (2, 7, 8), (0.0, False), {"enable_gqa": True}),
    "group-of-one": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8), (0.0, False), {"enable_gqa": True}),
    "strided": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6), (), {}, "strided"),
    "reversed": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6), (), {}, "reversed"),
    "transposed": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6), (), {}, "transposed"),
    "no-batch": ((0, 3, 5, 8), (0, 3, 7, 8), (0, 3, 7, 6)),
    "no-queries": ((2, 3, 0, 8), (2, 3, 7, 8), (2, 3, 7, 6)),
    "no-keys": ((2, 3, 5, 8), (2, 3, 0, 8), (2, 3, 0, 6)),
}  # fmt: skip
#: name: shape of the mask, of query and key, then the same; the layout is the mask's.
_Q, _K = (2, 6, 5, 8), (2, 6, 7, 8)
_MASKED = {
    "scores": ((5, 7), _Q, _K),
    "per-image": ((2, 1, 5, 7), _Q, _K),
    "per-head": ((6, 5, 7), _Q, _K),
    "full": ((2, 6, 5, 7), _Q, _K),
    "keys": ((1, 7), _Q, _K),
    "keys-per-image": ((2, 1, 1, 7), _Q, _K),
    "keys-per-head": ((2, 6, 1, 7), _Q, _K),
    "queries": ((2, 1, 5, 1), _Q, _K),
    "transposed": ((2, 6, 5, 7), _Q, _K, (), {}, "transposed"),
    "strided": ((5, 7), _Q, _K, (), {}, "strided"),
    "causal": ((5, 7), _Q, _K, (0.0, True)),
    "groups": ((5, 7), _Q, (2, 2, 7, 8), (0.0, False), {"enable_gqa": True}),
    "groups-per-head": ((2, 6, 5, 7), _Q, (2, 2, 7, 8), (0.0, False), {"enable_gqa": True}),
    "groups-per-image": ((2, 1, 5, 7), _Q, (2, 2, 7, 8), (0.0, False), {"enable_gqa": True}),
    "rank-5": ((3, 1, 5, 7), (2, 3, 2, 5, 4), (2, 3, 2, 7, 4)),
    "rank-5-scores": ((5, 7), (2, 3, 2, 5, 4), (2, 3, 2, 7, 4)),
    "matrices": ((5, 7), (5, 8), (7, 8)),
}


def _cases():
    for name, (q, k, v, *rest) in _PLAIN.items():
        rest, kwargs, layout = (*rest, *((), {}, "plain")[len(rest) :])
        specs = [Spec(s, layout=layout) for s in (q, k, v)]
        torch = of_broadcast if name == "broadcast" else "scaled_dot_product_attention"
        args = (*specs, None, *rest)
        yield Case(name, attention, args, kwargs, torch=torch, slack=3)
    for name, (mask, q, k, *rest) in _MASKED.items():
        rest, kwargs, layout = (*rest, *((), {}, "plain")[len(rest) :])
        # What all keys have in common has no effect: the gradient is 0.
        mask = Spec(mask, layout=layout, differentiable=mask[-1] > 1)
        args = (Spec(q), Spec(k), Spec(k), mask, *rest)
        torch = causal_with_scores if name == "causal" else "scaled_dot_product_attention"
        yield Case(f"masked-{name}", attention, args, kwargs, torch=torch, slack=3)


CASES = list(_cases())
_NARROW = (
    "heads",
    "causal",
    "causal-blocks",
    "groups",
    "primes",
    "masked-scores",
    "masked-full",
    "masked-groups",
)
CASES += [c.as_dtype("bfloat16") for c in CASES if c.name in _NARROW]
TestCases = checked(CASES, sweep=6)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if "causal" in c.name], ids=str)
def test_large_masks_are_created_in_the_call(case, queue, monkeypatch):
    monkeypatch.setattr(attention_mask, "_MAX_STORED", 0)
    sycl_dnn.cache.clear()
    check_gradient(case, queue)
    sycl_dnn.cache.clear()


@pytest.mark.parametrize("groups", [1, 3])
def test_causal_blocks_store_few_scores(groups, queue):
    """No result of the plan is as large as all scores of the queries would be."""
    rows, size = 2048, 8
    case = Case("long", attention, (Spec((groups, rows, size)),
                Spec((1, rows, size)), Spec((1, rows, size)), None, 0.0, True),
                {"enable_gqa": True})  # fmt: skip
    place, _ = place_of(queue)
    trace = Trace(place.engine)
    args, kwargs = traced(trace, device_arguments(case, queue), case.kwargs)
    attention.operation.body(*args, **kwargs)
    results = [t.size for step in trace.steps for t in step.outputs.values()]
    read = {id(t.storage): t.storage for step in trace.steps for t in step.inputs.values()}
    literals = [s.desc.get_size() for s in read.values() if s.memory is not None]
    assert max(results) <= groups * rows * rows // 8
    assert sum(literals) <= 2**22


def _operands(queue, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal(s).astype("f4") for s in (_Q, _K, _K)]
    return [sycl_dnn.asarray(dpnp.asarray(v, sycl_queue=queue), dtype) for v in values]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 1, 5, 7), (2, 1, 1, 7), (6, 5, 7)])
@pytest.mark.sweep(3)
def test_queries_without_keys_give_zeros(shape, kind, dtype, queue):
    visible = np.random.default_rng(1).random(shape) > 0.4
    visible[..., 0, :] = False
    mask = visible if kind == "bool" else np.where(visible, 0.0, -np.inf).astype("f4")
    q, k, v = _operands(queue, dtype)
    provided = dpnp.asarray(mask, sycl_queue=queue)
    actual, pullback = sycl_dnn.vjp(lambda q, k, v: attention(q, k, v, provided), q, k, v)
    truth = reference(*(to_numpy(t) for t in (q, k, v)), visible)
    limit = 3e-5 if dtype == "float32" else 3e-2
    np.testing.assert_allclose(to_numpy(actual), truth, atol=limit)
    np.testing.assert_allclose(to_numpy(attention(q, k, v, provided)), truth, atol=limit)
    grads = [to_numpy(g) for g in pullback(actual)]
    assert all(np.isfinite(g).all() for g in grads)
    hidden = np.broadcast_to(~visible.any(axis=-1, keepdims=True), (*_Q[:-1], 1))
    assert not (grads[0] * hidden).any()
    assert not (to_numpy(actual) * hidden).any()


def test_large_scores(queue):
    q, k, v = (40 * t for t in _operands(queue))
    truth = reference(*(to_numpy(t) for t in (q, k, v)))
    np.testing.assert_allclose(to_numpy(attention(q, k, v)), truth, atol=2e-3)


def test_dropout(queue):
    q, k, v = _operands(queue)
    ones = dpnp.ones_like(v)
    kept = to_numpy(attention(q, k, ones, None, 0.5))
    assert 0.5 < kept.mean() < 1.5
    assert kept.std() > 0.1
    assert not to_numpy(attention(q, k, v, None, 1.0)).any()


def test_float16(queue):
    q, k, v = (t.astype("f2") for t in _operands(queue))
    actual = attention(q, k, v)
    assert actual.dtype == np.float16
    truth = reference(*(to_numpy(t) for t in (q, k, v)))
    np.testing.assert_allclose(to_numpy(actual), truth, atol=1e-2)


def test_numbers_of_heads_must_agree(queue):
    q, k, v = _operands(queue)
    with pytest.raises(ValueError, match="must broadcast"):
        attention(q, k[:, :4], v[:, :4])
