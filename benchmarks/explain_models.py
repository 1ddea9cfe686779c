# SPDX-License-Identifier: Apache-2.0
"""Write the compiled programs of networks, and a picture of a partitioned graph.

The site's build does it, for its pages docs/explained (docs/written_pages.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import dpnp
from models import zoo

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph

FOLDER = Path(__file__).parents[1] / "docs" / "explained"
#: File and title by name of the network.
PAGES = {
    "resnet50-1": ("resnet50.md", "ResNet-50, one image"),
    "bert-128": ("bert.md", "BERT-base, 128 tokens"),
}
HEAD = """# {title}

The report of the compiled function's `explain()`. Lines with `+` were fused into the step above,
lines with `-` could have been but were not. Parameters are random, which does not matter here;
implementations are those of a CPU with `{isa}`. Your CPU's, as Markdown:

    python benchmarks/explain_models.py --folder out

"""


def explained(name: str, dtype: str | None) -> str:
    """Return the report of a network."""
    entry, queue = zoo.ENTRIES[name], sycl_dnn.default_queue("cpu")
    on_device = lambda v: dpnp.asarray(v, sycl_queue=queue)  # noqa: E731
    parameters = {n: on_device(v) for n, v in entry.parameters().items()}

    def network(*inputs: Any) -> Any:
        return entry.function(parameters, *inputs)

    compiled = sycl_dnn.compile(network, dtype=dtype)
    return str(compiled.explain(*map(on_device, entry.arrays())))


def transformer_layer() -> Graph:
    """Return a layer over 64 tokens as a graph of operations."""
    g: Any = Graph("cpu")
    q, k, v = (g.input((1, 8, 64, 32), name=n) for n in ("query", "key", "value"))
    x, weight, bias = g.input((64, 256), name="x"), g.input((256,)), g.input((256,))
    scores = g.multiply(g.matmul(q, k, transpose_b=True), 32**-0.5)
    scores = g.add(scores, g.input((1, 1, 64, 64), name="mask"))
    y = g.matmul(g.softmax(scores, axis=3), v)
    y = g.static_reshape(
        g.static_transpose(y, order=(0, 2, 1, 3)), shape=(64, 256), special_zero=False
    )
    x = g.add(g.matmul(y, g.input((256, 256), name="out")), x)
    y = g.layer_norm(x, weight, bias, keep_stats=False)
    y = g.gelu(g.matmul(y, g.input((256, 1024), name="up")))
    g.add(g.matmul(y, g.input((1024, 256), name="down")), x)
    g.finalize()
    return g


def main() -> None:
    """Write the pages and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, (file, title) in PAGES.items():
        text = HEAD.format(title=title, isa=dnnl.get_effective_cpu_isa().name)
        for dtype in (None, "bfloat16"):
            try:
                report = explained(name, dtype)
            except NotImplementedError as refusal:  # a CPU without bfloat16
                report = str(refusal)
            text += f"## {dtype or 'float32'}\n\n```text\n{report}\n```\n\n"
        (folder / file).write_text(text.rstrip() + "\n")
    (folder / "partitions.svg").write_text(transformer_layer().to_svg())


if __name__ == "__main__":
    main()
