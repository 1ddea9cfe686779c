# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn COMMAND``: every command exists, and a mistyped one gets a suggestion."""

import pytest

from sycl_dnn import __main__ as program


@pytest.mark.parametrize("name", program.COMMANDS)
def test_every_command_has_its_function(name):
    assert callable(program.command(name))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("expain", "explain"),
        ("chek-gpu", "check-gpu"),
        ("check_gpu", "check-gpu"),
        ("Bench", "bench"),
        ("lanch", "launch"),
        ("tracee", "trace"),
        ("reports", "report"),
    ],
)
def test_a_mistyped_command_has_a_suggestion(typed, meant, capsys):
    assert program.main([typed, "--isa", "avx2"]) == 2
    assert capsys.readouterr().err == (
        f"python -m sycl_dnn: there is no command {typed!r}; did you mean {meant}?\n"
    )


def test_unrecognizable_command_gets_the_list(capsys):
    assert program.main(["frobnicate"]) == 2
    assert f"; commands are {', '.join(program.COMMANDS)}\n" in capsys.readouterr().err
