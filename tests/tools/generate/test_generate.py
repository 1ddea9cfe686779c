# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn generate``: output and refusals."""

import io

import pytest
from small_language_models import write_folder

from sycl_dnn import llm
from sycl_dnn.__main__ import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("models") / "folder")


def test_prints_the_generated_text(folder, capsys, monkeypatch):
    expected = llm.load(folder).generate("the cat", max_tokens=6)
    words = ["generate", "--model", str(folder), "--max-tokens", "6"]
    assert main([*words, "the cat"]) == 0
    assert capsys.readouterr().out == expected + "\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("the cat"))
    assert main([*words, "-", "--speed"]) == 0
    text, speed = capsys.readouterr().out.removesuffix("\n").rsplit("\n", 1)
    assert text == expected
    assert "tokens a second" in speed


def test_a_chat_has_the_model_s_form(folder, capsys):
    lm = llm.load(folder)
    messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    expected = lm.chat(messages, max_tokens=6)
    words = ["generate", "--model", str(folder), "--max-tokens", "6", "--chat"]
    assert main([*words, "--system", "be kind", "hi"]) == 0
    assert capsys.readouterr().out == expected + "\n"


@pytest.mark.parametrize(("words", "said"), [
    (["--model", "nowhere"], "nowhere does not exist"),
    (["--temperature", "-1"], "temperature must be at least 0"),
])  # fmt: skip
def test_unusable_devices_are_reported(folder, words, said, capsys):
    words = words if "--model" in words else ["--model", str(folder), *words]
    assert main(["generate", *words, "text"]) == 2
    assert said in capsys.readouterr().err
