# SPDX-License-Identifier: Apache-2.0
"""A process forks after it used a device; its child tries every way to use it.

Arguments: the way to fork ("multiprocessing" or "fork"), and whether work is unfinished then.
"""

import multiprocessing
import os
import sys

import dpnp

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph

F32 = dnnl.data_type.f32


def arrays_of(queue):
    """Uses through arrays."""
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)
    compiled = sycl_dnn.compile(lambda a: F.softmax(F.relu(F.linear(a, a)), dim=-1))
    bound = compiled.bind(x)
    return {
        "a call seen before": lambda: F.relu(x),
        "the same into out": lambda: F.relu(x, out=x),
        "a compiled function": lambda: compiled(x),
        "a bound one": bound,
        "a gradient": lambda: sycl_dnn.vjp(F.relu, x),
        "synchronize": lambda: sycl_dnn.synchronize(queue),
        "functions of several steps": lambda: F.layer_norm(F.linear(x, x), (8,)),
    }


def objects_of(queue):
    """Uses through oneDNN's objects."""
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue)
    d = dnnl.MemoryDesc((8, 8), F32)

    def described():
        return dnnl.matmul(engine, src=d, weights=d, dst=d)

    pd = described()
    primitive = dnnl.Primitive(pd)
    args = {name: dnnl.Memory(d, engine) for name in ("src", "weights", "dst")}
    return {
        "an engine": lambda: dnnl.Engine(queue),
        "a stream": lambda: dnnl.Stream(engine, queue),
        "a descriptor": described,
        "a primitive": lambda: dnnl.Primitive(pd),
        "an execution": lambda: primitive.execute(stream, args),
        "a memory": lambda: dnnl.Memory(d, engine),
        "zeros": lambda: args["dst"].zero(stream),
        "a wait": stream.wait,
    }


def graphs_of(queue):
    """Uses through the Graph API."""
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)

    def built():
        graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
        graph.relu(graph.input((8, 8), "f32", name="a"))
        return graph

    compiled = built().compile(queue)
    return {
        "a graph": lambda: compiled(a=x),
        "compiling a graph": lambda: built().compile(queue)(a=x),
    }


def try_all(ways):
    """Print the outcome of each use."""
    for name, way in ways.items():
        try:
            way()
        except RuntimeError as error:
            says = "forked" in str(error) and "spawn" in str(error)
            print(f"{name}: {'refused' if says else error}", flush=True)
        else:
            print(f"{name}: taken", flush=True)


def run_child(way, ways):
    """Fork, let the child try, and return its exit code."""
    if way == "multiprocessing":
        child = multiprocessing.get_context("fork").Process(target=try_all, args=(ways,))
        child.start()
        child.join()
        return child.exitcode
    child = os.fork()
    if not child:
        try_all(ways)
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    way, busy = sys.argv[1], sys.argv[2] == "busy"
    queue = sycl_dnn.default_queue()
    ways = arrays_of(queue) | objects_of(queue) | graphs_of(queue)
    for one in ways.values():
        one()
    sycl_dnn.synchronize(queue)
    big = dpnp.ones((1000, 1000), dtype="f4", sycl_queue=queue)
    y = F.matmul(big, big)
    if not busy:
        sycl_dnn.synchronize(queue)
    sys.stdout.flush()
    print("exit code", run_child(way, ways))
    sycl_dnn.synchronize(queue)
    print("the parent goes on:", float(y[0, 0]) == 1000 and float(F.relu(big)[0, 0]) == 1)


if __name__ == "__main__":
    main()
