# SPDX-License-Identifier: Apache-2.0
"""The documentation: its programs run, its links lead somewhere, it names all primitives."""

import re
from pathlib import Path

import example_gallery
import pytest
import written_pages
from run_examples import run_all

import sycl_dnn
from sycl_dnn import DnnlError, nn, optim
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl

ROOT = Path(__file__).resolve().parents[1]
#: Folders of the checkout that hold other people's files or products.
FOREIGN = ("build", "dist", "logs", "out")
FRAGMENT = "<!-- fragment -->"
#: Precedes a block that continues the previous program, as in tutorials.
CONTINUES = "<!-- continues -->"


def is_ours(page):
    parts = page.relative_to(ROOT).parts
    return parts[0] not in FOREIGN and not any(part.startswith(".") for part in parts)


PAGES = sorted(page for page in ROOT.rglob("*.md") if is_ours(page))
#: Pages that the site's build generates -> the function that returns their text.
WRITTEN = {ROOT / "docs" / file: make for file, make in written_pages.PAGES.items()}
WRITTEN |= {
    ROOT / "docs" / file: str for file in (*written_pages.EXPLAINED, *example_gallery.PAGES)
}
PROGRAM_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def programs():
    """Every program, which is one Python block or several: the place of each, and its text."""
    result = {}
    for page in PROGRAM_PAGES:
        text, place = page.read_text(), None
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            before = text[: block.start()].rstrip()
            if before.endswith(FRAGMENT):
                continue
            if before.endswith(CONTINUES):
                result[place] += "\n\n" + block.group(1)
            else:
                place = f"{name_of(page)}:{text[: block.start()].count(chr(10)) + 1}"
                result[place] = block.group(1)
    return result


PROGRAMS = programs()
#: Before an output that depends on the machine, or that another command prints.
VARIES = "<!-- varies -->"


def shown_outputs():
    """Yield the place of a program and the lines that its page shows as its output."""
    for page in PROGRAM_PAGES:
        text, place = page.read_text(), None
        for block in re.finditer(r"^```(python|text)\n(.*?)^```$", text, re.M | re.S):
            at = f"{name_of(page)}:{text[: block.start()].count(chr(10)) + 1}"
            place = at if at in PROGRAMS else place
            if block[1] == "text" and place and not text[: block.start()].rstrip().endswith(VARIES):
                yield place, block[2].splitlines()


def without_decimals(text):
    """Return a text whose fractions, which differ from CPU to CPU, are all the same."""
    return re.sub(r"\d+\.\d+", "1.5", text)


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    text = page.read_text() if page.exists() else WRITTEN[page]()
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Exit status and output of each program, all run in one process."""
    folder = tmp_path_factory.mktemp("programs")
    files = {place: folder / f"{n}.py" for n, place in enumerate(PROGRAMS)}
    for place, file in files.items():
        file.write_text(PROGRAMS[place])
    done = run_all(tuple(files.values()))
    return {place: done[file] for place, file in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("place", PROGRAMS)
def test_program_runs(place, ended):
    status, output = ended[place]
    assert status == 0, output


@pytest.mark.slow
@pytest.mark.parametrize(("place", "lines"), list(shown_outputs()))
def test_output_is_as_shown(place, lines, ended):
    printed = without_decimals(ended[place][1])
    assert [line for line in lines if without_decimals(line) not in printed] == []


def test_links_lead_to_files_and_headings():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists() or file in WRITTEN, f"{name_of(page)}: no file {target}"
            assert not heading or heading in anchors(file), f"{name_of(page)}: no {target}"


def test_no_folder_of_some_machine_is_named():
    folder = re.compile(r"(?<![\w.$])/(?:home|root|work|Users)/\S*")
    assert not {name_of(page): text for page in PAGES if (text := folder.findall(page.read_text()))}


#: Pages for those who change the package; a traceback names the module of errors.
INNER_PAGES = ("docs/architecture.md", "docs/add_a_", "CONTRIBUTING.md", "CHANGELOG.md", "tests/")
PUBLIC = {*sycl_dnn.__all__, "data", "errors", "sklearn"}


def inner_names(text):
    """Names of modules that users do not import, such as ``sycl_dnn.trace.steps``."""
    return [n for n in re.findall(r"\bsycl_dnn\.(\w+)(?=\.\w|`)", text) if n not in PUBLIC]


def test_pages_for_users_name_no_inner_module():
    for page in PAGES:
        if not name_of(page).startswith(INNER_PAGES):
            assert inner_names(page.read_text()) == [], name_of(page)


def test_docstrings_for_users_name_no_inner_module():
    for home in (sycl_dnn, F, nn, optim):
        for name in home.__all__:
            described = getattr(home, name).__doc__ or ""
            assert inner_names(described) == [], name


def test_list_of_what_is_supported_names_every_primitive():
    table = (ROOT / "docs" / "supported.md").read_text()
    kinds = {re.sub(r"_(forward|backward).*", "", name) for name in dnnl.PRIMITIVES}
    assert {kind for kind in kinds if f"`{kind}`" not in table} == set()


def test_readme_has_the_commands_as_users_type_them():
    text = (ROOT / "README.md").read_text()
    venv = "python3 -m venv .venv && .venv/bin/pip install -e"
    assert f'    {venv} ".[examples]" && .venv/bin/python examples/train_digits.py\n' in text
    assert f'    {venv} ".[test]" && .venv/bin/pytest\n' in text


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130


F32, INFERENCE = dnnl.data_type.f32, dnnl.prop_kind.forward_inference


def refused_convolution(engine):
    """Weights for 16 input channels in each of two groups, where the source has 16 in all."""
    shapes = {"src": (8, 16, 32, 32), "weights": (2, 32, 16, 3, 3), "dst": (8, 32, 32, 32)}
    window = dict.fromkeys(("strides", "padding_l", "padding_r"), (1, 1))
    descs = {name: dnnl.MemoryDesc(shape, F32) for name, shape in shapes.items()}
    algorithm = dnnl.algorithm.convolution_direct
    dnnl.convolution_forward(engine, prop_kind=INFERENCE, algorithm=algorithm, **descs, **window)


def refused_data_type(engine):
    """There is no f64 on a CPU."""
    d, algorithm = dnnl.MemoryDesc((8, 16), dnnl.data_type.f64), dnnl.algorithm.eltwise_relu
    dnnl.eltwise_forward(engine, prop_kind=INFERENCE, algorithm=algorithm, src=d, dst=d)


def refused_memory(engine):
    """Weights that are not those of the descriptor."""
    shapes = {"src": (2, 3), "weights": (3, 5), "dst": (2, 5)}
    descs = {name: dnnl.MemoryDesc(shape, F32) for name, shape in shapes.items()}
    primitive = dnnl.Primitive(dnnl.matmul(engine, **descs))
    descs["weights"] = dnnl.MemoryDesc((5, 3), F32)
    args = {name: dnnl.Memory(desc, engine) for name, desc in descs.items()}
    primitive.execute(dnnl.Stream(engine), args)


@pytest.mark.parametrize("call", [refused_convolution, refused_data_type, refused_memory])
def test_page_of_errors_shows_messages_as_they_are(call):
    with pytest.raises(DnnlError) as refusal:
        call(dnnl.Engine("cpu"))
    # Device and implementations differ from machine to machine.
    message = str(refusal.value).partition("\n  on <")[0]
    page = (ROOT / "docs" / "errors.md").read_text()
    assert f"sycl_dnn.errors.{refusal.typename}: {message}\n" in page
