# SPDX-License-Identifier: Apache-2.0
"""Mutated models: each loads and runs, or ends in an error of the package; none ends the process.

python tests/onnx/mutated_models.py --models 2000 --seed 7
python tests/onnx/mutated_models.py --models 100000 --seed 7 --official    # ONNX's own test models
python tests/onnx/mutated_models.py --seed 7 --official --only 1234        # one, with a traceback

Models are run in a process of their own, which is started again after one that ends or stops it.
"""

import argparse
import faulthandler
import functools
import random
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from sycl_dnn.errors import DnnlError
from sycl_dnn.onnx import load

#: Seconds for one model.
LONGEST = 120
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


@functools.cache
def official_models():
    """Return ONNX's own tests of single operators with small inputs: model and inputs of each."""
    from onnx.backend.test import loader

    found = []
    for case in loader.load_model_tests(kind="node"):
        inputs = case.data_sets[0][0] if case.data_sets else []
        if all(isinstance(v, np.ndarray) and v.size <= 2048 for v in inputs):
            found.append((case.model, inputs))
    return found


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
        change = rng.choice(CHANGES)
        if change is _version:
            change(model, rng)
        else:
            change(model.graph, rng)
    return model.SerializeToString()


def _attribute(graph, rng):
    named = [a for n in graph.node for a in n.attribute if a.type != onnx.AttributeProto.GRAPH]
    if not named:
        return
    attribute = rng.choice(named)
    if attribute.ints and rng.random() < 0.8:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(SIZES)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = rng.choice([0.0, -1.0, 1e30, float("nan"), float("inf")])
    else:
        attribute.i = rng.choice(SIZES)
        attribute.type = rng.choice([attribute.type, onnx.AttributeProto.INT])


def _values(graph, rng):
    integers = [t for t in graph.initializer if t.data_type == TensorProto.INT64]
    if integers:
        tensor = rng.choice(integers)
        n = rng.choice([1, 2, 4])
        values = np.array([rng.choice(SIZES) for _ in range(n)])
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _dimensions(graph, rng):
    if graph.initializer:
        rng.choice(graph.initializer).dims.append(rng.choice(SIZES))


def _type(graph, rng):
    if graph.initializer:
        rng.choice(graph.initializer).data_type = rng.randrange(30)


def _wiring(graph, rng):
    names = [o for n in graph.node for o in n.output] + [t.name for t in graph.initializer]
    names += [i.name for i in graph.input]
    nodes = [n for n in graph.node if n.input]
    if nodes:
        node = rng.choice(nodes)
        node.input[rng.randrange(len(node.input))] = rng.choice([*names, ""])


def _version(model, rng):
    model.opset_import[0].version = rng.choice([1, 6, 9, 11, 13, 18, 22, 25, 27, 28])


def _operator(graph, rng):
    node = rng.choice(graph.node)
    node.op_type = rng.choice(sorted({s.name for s in onnx.defs.get_all_schemas()}))


CHANGES = (_attribute, _values, _dimensions, _type, _wiring, _operator, _version)


def _changed_inputs(inputs, rng):
    """Return inputs, some with other values, sizes, ranks or data types."""
    changed = list(inputs)
    for _ in range(rng.choice([0, 0, 1, 2]) if changed else 0):
        place = rng.randrange(len(changed))
        x, kind = np.asarray(changed[place]), rng.randrange(5)
        if kind == 0 and x.dtype.kind in "iu":
            size = rng.choice(SIZES)
            x = (x.astype("i8") * (rng.random() < 0.5) + size).astype(x.dtype)
        elif kind == 1:
            x = x[:0] if x.ndim else x
        elif kind == 2:
            x = x.reshape(-1)
        elif kind == 3:
            x = x[None]
        elif kind == 4 and x.dtype.kind in "fiub":
            x = np.nan_to_num(x).astype(rng.choice(["f4", "f2", "i8", "i4", "u1", "?", "f8"]))
        changed[place] = x
    return changed


def _copy(model):
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    return copied


def mutant(seed, number, official=False):
    """Return the bytes of one mutated model, and inputs for it; None for those by default."""
    rng = random.Random(f"{seed}/{number}")
    change = _changed_bytes if rng.random() < 0.3 else _changed_fields
    if not official:
        return change(seed_model(), rng), None
    model, inputs = rng.choice(official_models())
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = _changed_inputs(inputs, rng)
    change = change if rng.random() < 0.8 else lambda m, _: m.SerializeToString()
    return change(_copy(model), rng), inputs


def outcome(content, inputs=None):
    """Load and run a model; return how it ended."""
    x = np.linspace(-1, 1, 144, dtype="f4").reshape(2, 2, 6, 6)
    try:
        net = load(content, device="cpu")
    except DnnlError:
        return "refused at load"
    try:
        result = net(*([x for _ in net.inputs] if inputs is None else inputs))
    except DnnlError:
        return "refused at the call"
    for value in result if isinstance(result, tuple) else (result,):
        np.asarray(value if isinstance(value, np.ndarray) else value.asnumpy())
    return "ran"


def play(options):
    """Run models; print a line for each."""
    if options.official:
        official_models()
    for number in range(options.first, options.models):
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            found = outcome(*mutant(options.seed, number, options.official))
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            found = f"{number}: {type(error).__name__}: {text}"
        print(found, flush=True)
    faulthandler.cancel_dump_traceback_later()


def replayed(options):
    """Yield the outcome of each model, run in processes that are replaced when they die."""
    number = options.first
    while number < options.models:
        command = [sys.executable, __file__, *(["--official"] if options.official else []),
                   *("--here", "--seed", str(options.seed), "--first", str(number)),
                   *("--models", str(options.models))]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                number += 1
                yield line.rstrip()
        if number < options.models:
            yield f"{number}: the process ended: {process.returncode}"
            number += 1


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--official", action="store_true", help="mutate ONNX's own test models")
    parser.add_argument("--only", type=int)
    parser.add_argument("--here", action="store_true", help="no process of its own")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.only is not None:
        print(outcome(*mutant(options.seed, options.only, options.official)))
        return 0
    if options.here:
        play(options)
        return 0
    counts, wrong = Counter(), []
    for line in replayed(options):
        if line[:1].isdigit():
            wrong.append(line)
            print(line, flush=True)
        else:
            counts[line] += 1
    print(dict(counts), f"wrong: {len(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
