# SPDX-License-Identifier: Apache-2.0
"""Explanations: variants differ in one thing, and better ones are better."""

import json

import pytest

from sycl_dnn import __main__ as program
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.tools.explain import command, probe
from sycl_dnn.tools.explain.judge import explain, notes, pairs, variants
from sycl_dnn.tools.explain.probe import Answer, Attempt, Prober

LRN = "--lrn mb2ic10ih5ls3"
POST_OPS = "--attr-post-ops=relu+add:f32:per_oc"
CONV = f'--conv --dir=FWD_I --dt=u8:s8:u8 --stag=abx {POST_OPS} g2mb2ic6ih9oc10kh3_n"odd"'


@pytest.fixture(scope="module")
def prober():
    with Prober("cpu", "sse41") as found:
        yield found


def lines(line):
    return {variant.change: variant.case.line for variant in variants(case_of(line))}


def test_variants_change_one_thing():
    provided = case_of(CONV)
    for variant in variants(provided):
        names = provided.texts.keys() | variant.case.texts.keys()
        changed = {n for n in names if provided.texts.get(n) != variant.case.texts.get(n)}
        if variant.change.startswith("all layouts"):
            assert changed <= {"stag", "wtag", "dtag"}
        else:
            assert len(changed) + (variant.case.problem != provided.problem) == 1, variant
    assert len({v.case.line for v in variants(provided)}) == len(variants(provided))


def test_variants_are_listed_by_their_change():
    found = lines(CONV)
    assert found["sizes rounded up to 16"].endswith('g2mb2ic32ih9oc32kh3_n"odd"')
    assert found["without groups"].endswith(' mb2ic6ih9oc10kh3_n"odd"')
    assert "--attr-post-ops=add:f32:per_oc " in found["without relu of --attr-post-ops"]
    assert "--attr-post-ops=relu " in found["without add:f32:per_oc of --attr-post-ops"]
    assert "post-ops" not in found["without --attr-post-ops"]
    assert "--dt" not in found["--dt f32"]
    assert "--dt=s8:s8:f32" in found["--dt s8:s8:f32"]
    assert "stag" not in found["all layouts any"]
    assert "--alg=AUTO" in found["--alg AUTO"]
    assert "--dir=FWD_D" in found["--dir FWD_D"]


@pytest.mark.parametrize(
    ("line", "change", "problem"),
    [
        ("--matmul 3x5x30:3x30x17", "sizes rounded up to 16", "3x5x32:3x32x32"),
        ("--conv g10mb1ic10ih5oc10kh3", "sizes rounded up to 16", "g16mb1ic16ih5oc16kh3"),
        ("--rnn l1t2mb2sic10", "sizes rounded up to 16", "l1t2mb2sic16"),
        ("--bnorm --flags=CH mb2ic8ih5eps0.1", "without flag C", "mb2ic8ih5eps0.1"),
    ],
)
def test_problems_of_other_drivers(line, change, problem):
    assert lines(line)[change].split()[-1] == problem


def test_gradients_stay_gradients():
    found = lines("--conv --dir=BWD_W mb1ic16ih5oc16kh3")
    assert "--dir=BWD_WB" in found["--dir BWD_WB"]
    assert not [change for change in found if "FWD" in change]


def test_pairs_are_no_single_changes():
    provided = case_of(LRN)
    single = {v.case.line for v in variants(provided)}
    double = {v.case.line for v in pairs(provided)}
    assert double
    assert not double & (single | {provided.line})


def test_better_variants_are_better(prober):
    found = explain(case_of("--pool mb2ic17ih8kh2sh2"), prober)
    assert found.answer.state in ("ref", "simple")
    assert found.better
    for variant, answer in found.better:
        assert probe.rank(answer.state) > probe.rank(found.answer.state)
        assert prober.ask(variant.case).impl == answer.impl
    ranks = [probe.rank(answer.state) for _, answer in found.better]
    assert ranks == sorted(ranks, reverse=True)


def test_two_changes_are_combined_if_one_is_not_enough(prober):
    """Neither another type nor another accumulator alone makes this one possible."""
    line = "--conv --dir=FWD_I --dt=f64 --attr-acc-mode=f16 mb1ic16ih9oc16kh3"
    found = explain(case_of(line), prober)
    assert found.answer.state == "refused"
    assert [v.change for v, _ in found.better]
    assert all("; " in variant.change for variant, _ in found.better)
    assert "--conv --dir=FWD_I mb1ic16ih9oc16kh3" in {v.case.line for v, _ in found.better}


def test_all_lists_equally_good_variants(prober):
    case = case_of("--eltwise --alpha=0 --beta=0 2x16x4x4")
    assert explain(case, prober).better == ()
    assert len(explain(case, prober, everything=True).better) > 0


def test_notes_explain_answers():
    free = Answer("optimized", "jit:avx2")
    blocked = Attempt("ref:any", "", {"src": "f32 (2, 16) aB16b", "dst": "f32 (2, 16) ab"}, 3 << 20)
    answer = Answer("ref", "conv+ref:any", attempts=(blocked,), warned=("known fault",))
    text = notes(answer, free)
    assert text[0].startswith("slow: conv+ref:any wraps the reference")
    assert text[1] == "needs 3.0 MiB of scratchpad"
    assert text[2] == "with layouts left to oneDNN it would be jit:avx2"
    assert text[3].startswith("not row-major: src aB16b;")
    assert text[4] == "known fault"
    refused = Answer("refused", attempts=(Attempt("ref:any", "bad luck"),), of_hint=True)
    assert notes(refused, None)[0] == "no implementation takes it: bad luck"
    assert "forward descriptor" in notes(refused, None)[1]


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path, capsys):
    file = tmp_path / "e.json"
    arguments = ["--device=cpu", "--isa=sse41", f"--json={file}", *LRN.split()]
    assert program.main(["explain", *arguments]) == 0
    text = capsys.readouterr().out
    assert "cpu:sse41" in text
    assert "ref: ref:any" in text
    assert text.count("<- this one runs") == 1
    (found,) = json.loads(file.read_text())["cases"]
    assert (found["line"], found["state"]) == (LRN, "ref")
    assert all(attempt["impl"] in text for attempt in found["attempts"])
    assert all(case["line"] in text for case in found["better"])


@pytest.mark.slow
def test_options_may_stand_behind_the_problem(capsys):
    assert command.main(["--isa=sse41", "--lrn", "mb2ic10ih5ls3", "--tag=axb"]) == 0
    assert "--lrn --tag=axb mb2ic10ih5ls3" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "cases must be 1 to 50, got 0"),
        (["--conv", "--dir=SIDEWAYS", "mb1ic3ih8oc4kh3"], "command line: --dir: must be one of"),
        (["--device=nonsense", "--lrn", "mb2ic10ih5"], "device must be one of"),
        (["--isa=avx3", "--lrn", "mb2ic10ih5"], "isa must be of sse41"),
    ],
)
def test_unexplainable_cases(arguments, message, capsys):
    assert command.main(arguments) == 2
    assert message in capsys.readouterr().err
