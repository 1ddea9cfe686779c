# SPDX-License-Identifier: Apache-2.0
"""A small matmul with attributes, run on NumPy arrays."""

import dpnp

from sycl_dnn import onednn as dnnl

T = dnnl.data_type
ALG = dnnl.algorithm
F32 = T.f32
M, K, N = 4, 32, 8


def desc(*dims, data_type=F32, tag=None):
    return dnnl.MemoryDesc(dims, data_type, *([tag] if tag else []))


def attr_of(*calls):
    """The attributes after some calls: (setter, arguments...)."""
    attr = dnnl.PrimitiveAttr()
    for setter, *arguments in calls:
        getattr(attr, setter)(*arguments)
    return attr


def ops_of(*calls):
    ops = dnnl.PostOps()
    for method, *arguments in calls:
        getattr(ops, method)(*arguments)
    return ops


def matmul(engine, attr=None, types="f32 f32 f32", n=N, **options):
    src, weights, dst = (T[name] for name in types.split())
    return dnnl.matmul(
        engine, src=desc(M, K, data_type=src), weights=desc(K, n, data_type=weights),
        dst=desc(M, n, data_type=dst), attr=attr, **options,
    )  # fmt: skip


STOCHASTIC = dnnl.rounding_mode.stochastic
ANY_MATH = ("set_fpmath_mode", dnnl.fpmath_mode.any, True)
I8 = "u8 s8 f32"


def array_memory(values, engine):
    return dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=engine.sycl_queue), engine)


def download(memory, stream):
    """Return the values of a Memory as a NumPy array, through a reorder if it is not plain."""
    if not memory.desc.is_plain:
        plain = dnnl.Memory(dnnl.MemoryDesc(memory.desc.dims, memory.desc.data_type), stream.engine)
        reorder = dnnl.reorder(stream.engine, src=memory.desc, dst=plain.desc)
        dnnl.Primitive(reorder).execute(stream, {"src": memory, "dst": plain}).wait()
        memory = plain
    return memory.to_array().asnumpy()


def run(pd, stream, **values):
    """Execute with NumPy arrays or Memory objects by argument name; return the result."""
    primitive = dnnl.Primitive(pd)
    args = {}
    for name, value in values.items():
        args[name] = value if isinstance(value, dnnl.Memory) else array_memory(value, stream.engine)
    args.setdefault("dst", dnnl.Memory(pd.dst_desc, stream.engine))
    primitive.execute(stream, args).wait()
    return download(args["dst"], stream)


ALL_OPS = [
    ("append_sum", 2.0, 1, T.s8),
    ("append_eltwise", ALG.eltwise_relu, 0.5),
    ("append_binary", ALG.binary_add, desc(1, N)),
    ("append_binary", ALG.binary_select, desc(1, N), desc(M, N, data_type=T.s8)),
    ("append_prelu", 2),
    ("append_dw", F32, F32, F32, 3, 1, 1),
]
