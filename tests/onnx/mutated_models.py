# SPDX-License-Identifier: Apache-2.0
"""Mutated models: each loads and runs, or ends in an error of the package; none ends the process.

python tests/onnx/mutated_models.py --models 2000 --seed 7
python tests/onnx/mutated_models.py --seed 7 --only 1234      # one again, with its traceback
"""

import argparse
import random
import sys
import warnings
from collections import Counter

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from sycl_dnn.errors import DnnlError
from sycl_dnn.onnx import load

SIZES = [0, 1, 2, 3, -1, -2, 7, 2**31, 2**40, -(2**40)]


def seed_model():
    """Return a model with convolutions, shapes, indices and nested graphs."""
    body = """<ir_version: 10, opset_import: ["": 22]>
    g (float[N, 2, 6, 6] x) => (float[M] y, int64[K] i) <
        int64[2] shape = {0, -1}, int64[1] k = {2}, int64[2] starts = {0, 1},
        int64[2] ends = {2, 9}, int64[1] axes = {1}, float[2] scale = {1.0, 2.0},
        float[1] low = {-1.0}, int64[3] index = {0, 1, 0}, bool c = {1}>
    {
        a = Conv <pads = [1, 1, 1, 1], strides = [1, 1]> (x, w)
        b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
        d = Reshape(b, shape)
        e = Slice(d, starts, ends)
        f, t = TopK <axis = 1> (e, k)
        h = If (c) <then_branch = p () => (float[A] q) { q = Relu(f) },
                    else_branch = r () => (float[A] s) { s = Neg(f) }>
        m = Gather <axis = 0> (h, index)
        n = ReduceSum <keepdims = 0> (m, axes)
        o = Cast <to = 1> (t)
        u = Transpose <perm = [1, 0]> (o)
        y = Softmax <axis = 0> (n)
        i = Shape(u)
    }"""
    model = onnx.parser.parse_model(body)
    weight = np.linspace(-1, 1, 54, dtype="f4").reshape(3, 2, 3, 3)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    return model


def _changed_bytes(model, rng):
    content = bytearray(model.SerializeToString())
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(content))
        kind = rng.randrange(3)
        if kind == 0:
            content[place] = rng.randrange(256)
        elif kind == 1:
            del content[place : place + rng.randint(1, 8)]
        else:
            content[place:place] = rng.randbytes(rng.randint(1, 8))
    return bytes(content)


def _changed_fields(model, rng):
    for _ in range(rng.randint(1, 3)):
        rng.choice(CHANGES)(model.graph, rng)
    return model.SerializeToString()


def _attribute(graph, rng):
    named = [a for n in graph.node for a in n.attribute if a.type != onnx.AttributeProto.GRAPH]
    attribute = rng.choice(named)
    if attribute.ints and rng.random() < 0.8:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(SIZES)
    else:
        attribute.i = rng.choice(SIZES)
        attribute.type = rng.choice([attribute.type, onnx.AttributeProto.INT])


def _values(graph, rng):
    tensor = rng.choice([t for t in graph.initializer if t.data_type == TensorProto.INT64])
    n = rng.choice([1, 2, 4])
    values = np.array([rng.choice(SIZES) for _ in range(n)])
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _dimensions(graph, rng):
    tensor = rng.choice(graph.initializer)
    tensor.dims.append(rng.choice(SIZES))


def _type(graph, rng):
    rng.choice(graph.initializer).data_type = rng.randrange(30)


def _wiring(graph, rng):
    names = [o for n in graph.node for o in n.output] + [t.name for t in graph.initializer]
    node = rng.choice([n for n in graph.node if n.input])
    node.input[rng.randrange(len(node.input))] = rng.choice([*names, ""])


def _operator(graph, rng):
    node = rng.choice(graph.node)
    node.op_type = rng.choice(sorted({s.name for s in onnx.defs.get_all_schemas()}))


CHANGES = (_attribute, _values, _dimensions, _type, _wiring, _operator)


def mutant(seed, number):
    """Return the bytes of one mutated model."""
    rng = random.Random(f"{seed}/{number}")
    change = _changed_bytes if rng.random() < 0.3 else _changed_fields
    return change(seed_model(), rng)


def outcome(content):
    """Load and run a model; return how it ended."""
    x = np.linspace(-1, 1, 144, dtype="f4").reshape(2, 2, 6, 6)
    try:
        net = load(content, device="cpu")
    except DnnlError:
        return "refused at load"
    try:
        made = net(*[x for _ in net.inputs])
    except DnnlError:
        return "refused at the call"
    for value in made if isinstance(made, tuple) else (made,):
        np.asarray(value if isinstance(value, np.ndarray) else value.asnumpy())
    return "ran"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.only is not None:
        print(outcome(mutant(options.seed, options.only)))
        return 0
    counts, wrong = Counter(), []
    for number in range(options.models):
        try:
            counts[outcome(mutant(options.seed, number))] += 1
        except Exception as error:
            wrong.append(f"{number}: {type(error).__name__}: {str(error)[:200]}")
    print(dict(counts), *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
