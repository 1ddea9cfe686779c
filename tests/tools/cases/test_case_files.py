# SPDX-License-Identifier: Apache-2.0
"""Case files: words, options that stay, products, errors with their places."""

from pathlib import Path

import pytest

from sycl_dnn.tools.cases.case_files import (
    COMMAND_LINE,
    MAX_DEPTH,
    Reader,
    Word,
    read_file,
    words_of_text,
)
from sycl_dnn.tools.cases.driver import CaseError

HERE = Path(__file__).parent


def words(text):
    return [word.text for word in words_of_text(text, "f")]


def lines(text):
    return [case.line for case in Reader().cases(words_of_text(text, "f"), HERE)]


WORDS = {
    "blanks and ends of lines": ("a  b\n c\td", ["a", "b", "c", "d"]),
    "comments": ("a # b\n#c d\ne", ["a", "e"]),
    "no comment inside a word": ("a#b", ["a#b"]),
    "a word goes on": ("--x=1,\\\n  2,\\\n  3 b", ["--x=1,2,3", "b"]),
    "a lone backslash joins": ("--x=1, \\\n  2 b", ["--x=1,2", "b"]),
    "an empty item": ("--x=, \\\n relu", ["--x=,relu"]),
    "a backslash at the end": ("a \\", ["a"]),
}


@pytest.mark.parametrize(("text", "found"), WORDS.values(), ids=WORDS)
def test_words_of_a_file(text, found):
    assert words(text) == found


def test_places_are_file_and_line():
    assert [word.place for word in words_of_text("a\n\nb", "f.in")] == ["f.in:1", "f.in:3"]


def test_options_stay_until_reset():
    text = "--eltwise --alg=TANH --alpha=0 --beta=0 2x3 --dt=bf16 4 --reset --alpha=0 --beta=0 5"
    assert lines(text) == [
        "--eltwise --alg=TANH --alpha=0 --beta=0 2x3",
        "--eltwise --dt=bf16 --alg=TANH --alpha=0 --beta=0 4",
        "--eltwise --alpha=0 --beta=0 5",
    ]


def test_lists_multiply():
    assert len(lines("--softmax --sdt=f32,bf16 --axis=0,1 --dir=FWD_D,FWD_I,BWD_D 3x4 5x6")) == 24


def test_an_empty_list_is_the_default():
    assert lines("--lnorm --ss_dt=bf16 --ss_dt= 2x3") == ["--lnorm 2x3"]


def test_impossible_combinations_are_counted():
    reader = Reader()
    found = list(reader.cases(words_of_text("--eltwise --alg=ABS 2x3", "f"), HERE))
    assert (len(found), reader.skipped) == (1, {"constants do not fit the function": 8})


def test_each_driver_has_separate_state():
    assert lines("--lnorm --dt=bf16 2x3 --shuffle 2x4 --lnorm 2x3") == [
        "--lnorm --dt=bf16 2x3",
        "--shuffle 2x4",
        "--lnorm --dt=bf16 2x3",
    ]


def test_nested_files_share_the_state(tmp_path):
    (tmp_path / "inner").write_text("--group=2 2x4\n")
    (tmp_path / "outer.in").write_text("--shuffle --dt=bf16 --batch=inner 2x8")
    matches = [case.line for case in read_file(tmp_path / "outer.in")]
    assert matches == ["--shuffle --dt=bf16 --group=2 2x4", "--shuffle --dt=bf16 --group=2 2x8"]


def test_an_empty_item_is_the_default():
    assert lines("--lnorm --ss_dt=,bf16 2x3") == ["--lnorm 2x3", "--lnorm --ss_dt=bf16 2x3"]


CHOSEN = {
    "match": ("--match=mb=4 --batch=inner", ["--softmax --mb=4 2x8"]),
    "match of a file": ("--batch=inner", ["--softmax --mb=4 2x8", "--softmax 3x8"]),
    "start": ("--start=1 2x4 3x4", ["--softmax 3x4"]),
    "names": ("--skip-impl=ref,jit 2x4", ["--softmax --skip-impl=ref,jit 2x4"]),
    "no names": ("--skip-impl=ref --skip-impl= 2x4", ["--softmax 2x4"]),
    "forced": ("--global-impl=ref --skip-impl=ref 2x4", ["--softmax --impl=ref 2x4"]),
}


@pytest.mark.parametrize(("text", "found"), CHOSEN.values(), ids=CHOSEN)
def test_cases_and_implementations_are_chosen(text, found, tmp_path):
    inner = "--mb=4 --match=mb 2x8 --mb= 9x8 --reset 3x8"
    (tmp_path / "inner").write_text(inner)
    words = [Word(word, COMMAND_LINE) for word in f"--softmax {text}".split()]
    assert [case.line for case in Reader().cases(words, tmp_path)] == found


def test_options_without_effect_are_named():
    reader = Reader()
    list(reader.cases(words_of_text("--conv --mode=P -v1 --engine=cpu --fast-ref=0", "f"), HERE))
    assert list(reader.common.ignored) == ["mode", "v1", "engine", "fast-ref"]


WRONG = {
    "pattern": ("--conv --match=(", "f:1: --match: must be a regular expression"),
    "start": ("--conv --start=x", "f:1: --start: must be an integer from 0"),
    "no driver": ("mb1ic3", "f:1: a driver such as --conv must come first"),
    "unknown option": ("--conv\n--dri=FWD_B", "f:2: --conv must have a known option"),
    "unknown value": ("--conv --dir=FORWARD", "f:1: --dir: must be one of FWD_B"),
    "data type": ("--conv --dt=f33", "f:1: --dt: configuration must be made of data types"),
    "letters": ("--conv mb1zz3", "f:1: problem must be made of"),
    "no channels": ("--conv mb1ih3kh3", "f:1: ic must be given"),
    "empty output": ("--conv ic3oc3ih3kh5", "f:1: the output must not be empty"),
    "groups": ("--conv g3ic4oc3ih3kh1", "f:1: g must divide ic and oc"),
    "stride": ("--conv ic3oc3ih3kh1sh0", "f:1: kernel and stride must be at least 1"),
    "huge": ("--softmax 99999999999999999999", "f:1: dims must be at most 12"),
    "rank": ("--softmax 1x1x1x1x1x1x1x1x1x1x1x1x1", "f:1: dims must be at most 12"),
    "no dims": ("--softmax axb", "f:1: problem must be dims such as"),
    "inner size": ("--matmul 2x3:4x5", "f:1: problem must be"),
    "post-op": ("--conv --attr-post-ops=relux", "f:1: --attr-post-ops: post-op must be one of"),
    "policy": ("--conv --attr-scales=src:per", "f:1: --attr-scales: policy must be one of"),
    "argument": ("--conv --attr-scales=bias:common", "f:1: --attr-scales: argument must be"),
    "probability": ("--matmul --attr-dropout=2", "f:1: --attr-dropout: probability must be in"),
    "product": (
        f"--softmax --axis={','.join(['0'] * 600)} --mb={','.join(['1'] * 600)} 2x3",
        "f:1: lists must make at most",
    ),
    "missing file": ("--conv --batch=nowhere", "f:1: --batch must name a file"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_errors_name_the_file_and_line(text, message):
    with pytest.raises(CaseError) as caught:
        lines(text)
    assert str(caught.value).startswith(message)


def test_files_that_include_themselves_end(tmp_path):
    (tmp_path / "a.in").write_text("--conv --batch=a.in")
    with pytest.raises(CaseError, match=f"nested at most {MAX_DEPTH} deep"):
        list(read_file(tmp_path / "a.in"))


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "a.in").write_bytes(b"\xff\xfe\x00--conv")
    with pytest.raises(CaseError, match="must be UTF-8 text"):
        list(read_file(tmp_path / "a.in"))
