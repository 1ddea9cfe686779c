# SPDX-License-Identifier: Apache-2.0
"""What type checkers tell of the package; tests/typed/check.py compares with the comments."""

import dpctl
import dpnp
from typing_extensions import reveal_type

import sycl_dnn
from sycl_dnn import data, nn, optim
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl


def functions(x: dpnp.ndarray, w: dpnp.ndarray, b: sycl_dnn.Array) -> None:
    reveal_type(F.conv2d(x, w, padding=1))  # dpnp_array
    reveal_type(F.conv2d(x, sycl_dnn.freeze(w)))  # dpnp_array
    reveal_type(F.relu(x, out=x))  # dpnp_array
    reveal_type(F.relu(b))  # Array
    reveal_type(F.add(1.0, x))  # dpnp_array
    reveal_type(F.cat([x, w]))  # dpnp_array
    reveal_type(F.chunk(b, 2))  # tuple[Array, ...]
    reveal_type(F.max_pool2d(x, 2))  # dpnp_array
    reveal_type(F.max_pool2d(b, 2, return_indices=True))  # tuple[Array, dpnp_array]
    reveal_type(F.max(x))  # dpnp_array
    reveal_type(F.max(x, 1))  # ValuesAndIndices
    reveal_type(F.lstm(x, None, [w]))  # tuple[dpnp_array, tuple[dpnp_array, dpnp_array]]
    reveal_type(F.softmax(x, -1))  # dpnp_array
    reveal_type(F.softmax(x, -1, dtype="bfloat16"))  # dpnp_array | Array
    reveal_type(sycl_dnn.asarray(x, dtype="bfloat16"))  # dpnp_array | Array


def loss(x: dpnp.ndarray, w: dpnp.ndarray) -> dpnp.ndarray:
    return F.sum(F.linear(x, w))


def transforms(x: dpnp.ndarray, w: dpnp.ndarray) -> None:
    y, _ = sycl_dnn.vjp(loss, x, w)
    reveal_type(y)  # dpnp_array
    fast = sycl_dnn.compile(loss)
    reveal_type(fast)  # Compiled[(x: dpnp_array, w: dpnp_array), dpnp_array]
    reveal_type(fast(x, w))  # dpnp_array
    reveal_type(fast(x, w, out=y))  # dpnp_array
    reveal_type(sycl_dnn.compile(dtype="bfloat16")(loss)(x, w))  # dpnp_array
    reveal_type(sycl_dnn.plan(loss, x, w))  # BoundPlan


def training(x: dpnp.ndarray) -> None:
    net = nn.utils.weight_norm(nn.Linear(2, 3))
    reveal_type(net)  # Linear
    reveal_type(nn.KVCache.empty(1, 2, 3, 4).append(x, x))  # KVCache
    opt = optim.SGD(0.1, momentum=0.9, nesterov=True)
    reveal_type(opt)  # SGD
    reveal_type(optim.Adam(optim.schedules.cosine(0.1, 10), betas=(0.9, 0.99)))  # Adam
    reveal_type(opt.init(net))  # dict[str, Any]
    reveal_type(optim.GradScaler().init())  # dict[str, Any]
    reveal_type(sycl_dnn.load_checkpoint("run.npz", net=net))  # dict[str, Any]
    reveal_type(sycl_dnn.get_rng_state())  # str
    reveal_type(data.Prefetcher([x]))  # Prefetcher
    reveal_type(data.Metrics().result())  # dict[str, float]


def low_level(queue: dpctl.SyclQueue, x: dpnp.ndarray) -> None:
    engine = dnnl.Engine(queue)
    md = dnnl.MemoryDesc((2, 3), dnnl.data_type.f32, dnnl.format_tag.ab)
    reveal_type(md.data_type)  # data_type
    reveal_type(dnnl.Memory(md, engine))  # Memory
    memory = dnnl.Memory(md, engine, x)
    inference = dnnl.prop_kind.forward_inference
    relu = dnnl.algorithm.eltwise_relu
    pd = dnnl.eltwise_forward(engine, prop_kind=inference, algorithm=relu, src=md, dst=md)
    reveal_type(pd)  # PrimitiveDesc
    reveal_type(pd.algorithm)  # algorithm
    reveal_type(pd.src_desc)  # MemoryDesc
    reveal_type(pd.strides)  # tuple[Any, ...]
    maybe = dnnl.matmul(engine, src=md, weights=md, dst=md, allow_empty=True)
    reveal_type(maybe)  # PrimitiveDesc | None
    dnnl.Primitive(pd).execute(dnnl.Stream(engine), {"src": memory, dnnl.arg.dst: memory})
