# SPDX-License-Identifier: Apache-2.0
"""The gallery: examples run while the site is built; pages show pictures, outputs and sources.

Each example can be downloaded as a notebook, which writes the modules that it shares with others.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
GALLERY = DOCS / "gallery"

#: Example -> its title and the picture that it writes into ``out``.
SHOWN = {
    "diffusion_digits": ("A diffusion model draws digits", "diffusion_digits.png"),
    "vae": ("A variational autoencoder", "vae.png"),
    "train_digits": ("Digits by oneDNN's primitives", "train_digits.png"),
    "gpt_text": ("A GPT writes documentation", "gpt_text_loss.png"),
    "finetune_language_model": ("LoRA on a small Llama", "finetune_language_model_loss.png"),
    "finetune_ocr": ("An ONNX model learns a font", "finetune_ocr.png"),
    "lstm_sequence": ("Sequences of different lengths", "lstm_sequence_loss.png"),
    "resnet_cifar_like": ("A residual network", "resnet_cifar_like_loss.png"),
    "ported_training": ("A training script from PyTorch", "ported_training_loss.png"),
    "train_digits_nn": ("Modules and one compiled step", "train_digits_nn_loss.png"),
    "gradient_penalty": ("A loss with a gradient in it", "gradient_penalty_loss.png"),
    "sklearn_pipeline": ("An estimator for scikit-learn", "sklearn_pipeline_loss.png"),
    "resume": ("Stop and continue, bit for bit", "resume_loss.png"),
}
#: Options of a brief gallery, of examples without ``--steps``.
BRIEF = {"ported_training": ("--until", "1", "--no-check"), "gradient_penalty": ("--no-check",)}
#: What is there after a build.
PAGES = ("gallery/index.md", *(f"gallery/{name}.md" for name in SHOWN))

INDEX = """# Gallery

Each picture was made by its example when this site was built, on a CPU. A page shows the source and
its output, and has the program as a notebook. [Examples](../examples.md) lists all programs.

::::{{container}} gallery
:::{{container}} card
[![The heat equation](../heat_equation.png)](../differential_equations.md)

[The heat equation, solved by a network](../differential_equations.md)
:::
{cards}
::::

```{{toctree}}
:hidden:
:maxdepth: 1
{names}
```
"""
CARD = """:::{{container}} card
[![{title}]({picture})]({name}.md)

[{title}]({name}.md)
:::"""
PAGE = """# {title}

{text}

![The picture that it makes]({picture})

Download {{download}}`the program <../../examples/{name}.py>` or
{{download}}`a notebook <{name}.ipynb>`.
The last lines that it prints:

```text
{output}
```

```{{literalinclude}} ../../examples/{name}.py
:language: python
```
"""


def parsed(name):
    """Return the source of an example and its syntax tree."""
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    return source, ast.parse(source)


def shared_modules(name):
    """Return the examples' own modules that one imports, each after those that it needs."""
    found = []
    for node in ast.walk(parsed(name)[1]):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for module in names:
            if (EXAMPLES / f"{module}.py").exists():
                found += [*shared_modules(module), module]
    return list(dict.fromkeys(found))


def parts(name):
    """Return the source of an example in parts: imports, each function and class, what runs it."""
    source, tree = parsed(name)
    lines, found, last = source.splitlines(), [], None
    for before, node in zip([None, *tree.body], tree.body, strict=False):
        begin = before.end_lineno if before else 0
        text = "\n".join(lines[begin : node.end_lineno]).strip("\n")
        is_large = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If))
        if before is tree.body[0] or is_large or last:
            found.append(text)
        elif before is not None:
            found[-1] += "\n" * (1 + (lines[begin] == "")) + text
        last = is_large
    return found


def notebook(name):
    """Return an example as a notebook, a dict."""
    title, picture = SHOWN[name]
    *texts, guarded = parts(name)
    guarded = "\n".join(line[4:] for line in guarded.splitlines()[1:])
    options = f'import sys\n\nsys.argv = ["{name}"]  # and options, as on a command line\n'
    cells = [(f"# {title}\n\n{ast.get_docstring(parsed(name)[1])}\n\n"
              "It needs `sycl_dnn` with the extra `examples`.", "markdown")]  # fmt: skip
    for module in shared_modules(name):
        cells.append((f"%%writefile {module}.py\n{parsed(module)[0]}", "code"))
    cells += [(text, "code") for text in texts]
    cells.append((options + guarded, "code"))
    cells.append((f'from IPython.display import Image\n\nImage("out/{picture}")', "code"))
    return {
        "cells": [_cell(f"part-{i}", *cell) for i, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(number, text, kind):
    cell = {"cell_type": kind, "id": number, "metadata": {}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def last_lines(output):
    """Return the lines that an example printed, without bars of progress and the device's name."""
    lines = [line.rpartition("\r")[2] for line in output.splitlines()]
    return [line for line in lines if line and not re.match(r"device: |training: ", line)]


def run_examples(is_brief):
    """Run all examples in the folder of the gallery; return the output of each."""
    groups = {}
    for name in SHOWN:
        options = BRIEF.get(name, ("--steps", "3", "--no-check")) if is_brief else ()
        groups.setdefault(options, []).append(name)
    return {n: o for options, names in groups.items() for n, o in _outputs(names, options).items()}


def _outputs(names, options):
    files = {name: EXAMPLES / f"{name}.py" for name in names}
    runner = DOCS.parent / "tests" / "helpers" / "run_examples.py"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, runner, "--report", report, *files.values(), "--"]
        # Warnings name folders of the machine.
        more = {"MPLCONFIGDIR": folder, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([*command, "--device", "cpu", *options], cwd=GALLERY,
                              capture_output=True, text=True, env=os.environ | more)  # fmt: skip
        if done.returncode:
            raise SystemExit(f"the gallery: {done.stdout}{done.stderr}")
        ended = json.loads(report.read_text(encoding="utf-8"))
    return {name: ended[str(file)][1] for name, file in files.items()}


def write(is_brief=False):
    """Write pages and notebooks; examples run only if there are no pages yet.

    A brief gallery, ``sphinx-build -t brief``, has a few steps of each and is not for readers.
    """
    if all((DOCS / page).exists() for page in PAGES):
        return
    GALLERY.mkdir(exist_ok=True)
    cards = []
    outputs = run_examples(is_brief)
    for name, (title, picture) in SHOWN.items():
        words = {"name": name, "title": title, "picture": f"out/{picture}"}
        cards.append(CARD.format(**words))
        text = PAGE.format(
            **words,
            text=ast.get_docstring(parsed(name)[1]).replace("``", "`"),
            output="\n".join(last_lines(outputs[name])[-12:]),
        )
        (GALLERY / f"{name}.md").write_text(text, encoding="utf-8")
        (GALLERY / f"{name}.ipynb").write_text(json.dumps(notebook(name), indent=1))
    index = INDEX.format(cards="\n".join(cards), names="\n".join(SHOWN))
    (GALLERY / "index.md").write_text(index, encoding="utf-8")
