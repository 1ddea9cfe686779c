# SPDX-License-Identifier: Apache-2.0
"""Bench: counts, copies, clocks, lines and files. No test measures time."""

import csv
import itertools
import json

import dpctl
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import __main__ as program
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.bench import command, measure, roof
from sycl_dnn.tools.bench.measure import Figures, Settings
from sycl_dnn.tools.bench.measure import measure as measure_of_measure
from sycl_dnn.tools.bench.roof import Roof, find, type_of
from sycl_dnn.tools.cases import storage
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.trace import capabilities

ONCE = Settings(runs=2)


@pytest.fixture(scope="module")
def bench_stream():
    return measure.stream_for(sycl_dnn.default_queue("cpu").sycl_device)


@pytest.mark.parametrize(
    ("line", "products"),
    [
        ("--matmul 4x3x5:4x5x7", 4 * 3 * 5 * 7),
        ("--conv --dir=BWD_W g2mb3ic4ih8oc6kh3", 3 * 6 * 6 * 6 * 2 * 9),
        ("--deconv mb1ic4ih5oc6kh3", 5 * 5 * 6 * 4 * 9),
        ("--conv mb1ic16ih14oc16kh3ph1", (3 * 14 - 2) ** 2 * 16 * 16),
        ("--deconv --dir=BWD_D mb2ic4ih5oc6kh3ph1", 2 * (3 * 5 - 2) ** 2 * 6 * 4),
        ("--ip mb4ic3ih2oc5", 4 * 3 * 4 * 5),
        ("--rnn --alg=VANILLA_LSTM l2t3mb4sic8", 3 * 4 * 2 * 2 * 8 * 4 * 8),
        ("--rnn --prop=BWD_DW l1t3mb4sic8", 2 * 3 * 4 * 2 * 8 * 8),
        ("--softmax 4x5", 0),
    ],
)
def test_operations(line, products):
    assert measure.operations(case_of(line).call()) == 2 * products


def test_bytes_are_those_of_the_arguments(bench_stream):
    # Every CPU supports integers, but not bfloat16.
    line = "--matmul --dt=u8:s8:f32 --stag=abx --wtag=abx --dtag=abx"
    plain = measure.ready(case_of(f"{line} 8x16:16x4"), bench_stream)
    expected = 8 * 16 + 16 * 4 + 8 * 4 * 4
    assert measure.bytes_moved(plain.call, plain.primitive.arguments) == expected
    added = measure.ready(case_of(f"{line} --attr-post-ops=sum 8x16:16x4"), bench_stream)
    assert measure.bytes_moved(added.call, added.primitive.arguments) == expected + 8 * 4 * 4


@pytest.mark.parametrize("cold", measure.COLD)
def test_copies_are_larger_than_the_cache(cold, bench_stream, monkeypatch):
    monkeypatch.setattr(measure, "cache_bytes", lambda device: 40_000)
    one = measure.ready(case_of("--matmul 64x64:64x64"), bench_stream, cold)
    addresses = {n: {a[n].pointer for a in one.arguments} for n in ("src", "weights", "dst")}
    counts = {name: len(found) for name, found in addresses.items()}
    if cold == "none":
        assert counts == {"src": 1, "weights": 1, "dst": 1}
        return
    cycled = ["weights"] if cold == "wei" else ["src", "weights", "dst"]
    assert all(counts[name] == len(one.arguments) > 1 for name in cycled)
    assert all(counts[name] == 1 for name in counts.keys() - set(cycled))
    assert len(one.arguments) * len(cycled) * 64 * 64 * 4 >= 2 * 40_000


def test_the_largest_cache_counts(tmp_path):
    device = sycl_dnn.default_queue("cpu").sycl_device
    for index, text in enumerate(("48K\n", "96M\n", "1024K\n")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(text)
    assert capabilities.cache_bytes(device, tmp_path) == max(96 << 20, device.global_mem_cache_size)


def test_runs_really_compute_and_in_order(bench_stream):
    """Each run of a batch adds to dst what the sum post-op keeps: the runs can be counted."""
    line = "--matmul --dt=f32 --stag=abx --wtag=abx --dtag=abx --attr-post-ops=sum 2x2:2x2"
    one = measure.ready(case_of(line), bench_stream)
    (args,) = one.arguments
    desc = dnnl.MemoryDesc((2, 2), dnnl.data_type.f32)
    ones, total = (storage.write(np.full((2, 2), v), desc, bench_stream) for v in (1.0, 0.0))
    provided = args | {"src": ones.memory, "weights": ones.memory, "dst": total.memory}
    batch = measure.batches(bench_stream, one.primitive, [provided])
    batch(3)
    batch(4)
    assert storage.read(total).tolist() == [[14.0, 14.0], [14.0, 14.0]]


def test_argument_sets_take_turns(bench_stream):
    line = "--matmul --stag=abx --wtag=abx --dtag=abx --attr-post-ops=sum 2x2:2x2"
    one = measure.ready(case_of(line), bench_stream)
    desc = dnnl.MemoryDesc((2, 2), dnnl.data_type.f32)
    ones, *totals = (storage.write(np.full((2, 2), v), desc, bench_stream) for v in (1.0, 0.0, 0.0))
    base = one.arguments[0] | {"src": ones.memory, "weights": ones.memory}
    batch = measure.batches(
        bench_stream, one.primitive, [base | {"dst": total.memory} for total in totals]
    )
    batch(3)
    batch(1)
    assert [storage.read(total)[0, 0] for total in totals] == [4.0, 4.0]


def test_the_device_clock_counts_from_barrier_to_barrier():
    device = sycl_dnn.default_queue("cpu").sycl_device
    queue = dpctl.SyclQueue(device, property=["in_order", "enable_profiling"])
    stream = dnnl.Stream(dnnl.Engine(queue), queue)
    assert measure.clock_of(stream) == "device"
    found = measure_of_measure(case_of("--eltwise --alpha=0 --beta=0 64x64"), stream, ONCE)
    assert (found.clock, found.batches, found.refusal) == ("device", 2, "")
    assert found.min_ms > 0


def test_samples_count_runs_and_batches():
    lengths = []

    def batch(count):
        lengths.append(count)
        return 1.0 / count  # seconds for one run: every batch takes a second

    assert measure.samples(batch, 3, 0.0, runs=4) == [1.0] * 4
    assert lengths == [3, 1, 1, 1, 1]
    assert len(measure.samples(batch, 3, 0.0)) == 5


@pytest.mark.parametrize(
    "line",
    [
        "--conv --dir=BWD_WB mb1ic16ih7oc16kh3ph1",
        "--pool --dir=BWD_D --alg=max mb1ic16ih8kh2sh2",
        "--bnorm --dir=BWD_DW --flags=CH mb2ic16ih4",
        "--softmax --dir=BWD_D 4x16",
        "--rnn --alg=VANILLA_LSTM --prop=BWD_DW l1t2mb2sic16",
        "--sum 2x16x4",
        "--concat 2x16x4:2x8x4",
        "--reorder --sdt=f32 --ddt=s8 4x16",
    ],
)
def test_every_kind_of_case_can_be_repeated(line, bench_stream):
    found = measure_of_measure(case_of(line), bench_stream, ONCE)
    assert found.refusal == ""
    assert found.impl
    assert 0 < found.min_ms <= found.median_ms <= found.max_ms
    assert found.nbytes > 0


def test_refusals_have_a_reason(bench_stream):
    found = measure_of_measure(case_of("--lrn --dt=f64 mb2ic16ih9"), bench_stream, ONCE)
    assert found.refusal.startswith("lrn_forward: unimplemented")
    small = Settings(runs=1, max_memory=1000)
    found = measure_of_measure(case_of("--matmul 64x64:64x64"), bench_stream, small)
    assert "must need at most 1000 bytes" in found.refusal


FIGURES = Figures(
    "matmul", "--matmul 2x3:3x4", "mine", "brg", 1.5, 8_000_000, 2_000_000, 2.0, 4.0, 3.0, 8.0, 5,
    "host",
)  # fmt: skip


def test_rates():
    assert FIGURES.gflops(2.0) == pytest.approx(4.0)
    assert FIGURES.bandwidth(4.0) == pytest.approx(0.5)
    assert FIGURES.intensity == 4.0
    assert Figures("sum", "").gflops(0.0) == 0.0


def test_lines():
    text = command.line(command.TEMPLATE, FIGURES, "cpu")
    expected = 'perf,cpu,brg,"mine",--matmul 2x3:3x4,0.008,1.5,2,4,1,4,2,0.5'
    assert text == expected
    every = "%driver% %clock% %Gbytes% %~time% %+time% %~bw%"
    assert command.line(command.check(every), FIGURES, "cpu") == "matmul host 0.002 3 8 0.666667"
    for bad in ("%nothing%", "%-prb%", "%time%"):
        with pytest.raises(ValueError, match="--perf-template must have fields such as"):
            command.check(bad)


def test_the_roof_is_the_lower_of_two_limits():
    roof = Roof(bandwidth=0.5, peaks={"f32": 100.0, "bf16": 1.5})
    assert roof.limit(FIGURES, "f32") == pytest.approx(2.0)
    assert roof.limit(FIGURES, "bf16") == pytest.approx(1.5)
    assert roof.limit(FIGURES, "f8_e4m3") == pytest.approx(2.0)
    assert roof.share(FIGURES, "f32") == pytest.approx(8 / 3 / 2)
    copied = Figures("sum", "", nbytes=500_000, median_ms=2.0)
    assert roof.share(copied, "f32") == pytest.approx(0.5)


@pytest.mark.slow
def test_the_roof_is_measured_for_the_types_there_are(bench_stream):
    roof = find(["f32", "f64", "f32", "s4"], bench_stream, Settings(runs=1))
    assert roof.peaks.keys() == {"f32"}
    assert roof.bandwidth > 0
    assert type_of(case_of("--matmul --dt=bf16 2x3:3x4")) == "bf16"
    assert type_of(case_of("--conv --dir=BWD_D --dt=bf16 mb1ic16ih5oc16kh3")) == "bf16"


@pytest.mark.slow
def test_the_picture_has_the_cases_and_the_roofs():
    pytest.importorskip("matplotlib")
    other = Figures("softmax", "", nbytes=10, median_ms=1.0)
    matches = [(FIGURES, "f32"), (other, "f32"), (FIGURES, "f8_e4m3")]
    figure = roof.roofline(matches, Roof(2.0, {"f32": 16.0}), "a CPU")
    (axes,) = figure.axes
    roofs = [line for line in axes.lines if len(line.get_xdata()) == 3]
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(roofs) == 1
    assert list(roofs[0].get_ydata())[1:] == [16.0, 16.0]
    assert roofs[0].get_xdata()[1] == 8.0
    at = list(itertools.chain.from_iterable(zip(p.get_xdata(), p.get_ydata()) for p in points))  # noqa: B905
    assert at == [(4.0, pytest.approx(8 / 3))] * 2
    assert "2 GB/s" in axes.get_title()


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = {name: tmp_path / f"b.{name}" for name in ("json", "csv", "png")}
    arguments = ["--device=cpu", "--fix-times-per-prb=2", f"--json={files['json']}"]
    arguments += [f"--csv={files['csv']}", f"--plot={files['png']}", "--mode=P"]
    cases = ["--matmul", "--dt=f32,f64", '16x16:16x16_n"mine"']
    assert program.main(["bench", *arguments, *cases]) == 0
    header, first, second, roof, share = capsys.readouterr().out.splitlines()
    assert header == f"Output template: {command.TEMPLATE}"
    assert first.startswith("perf,cpu,")
    assert '"mine",--matmul 16x16:16x16' in first
    assert second.startswith("REFUSED --matmul --dt=f64")
    assert roof.startswith("roof: ")
    assert share.endswith('--matmul 16x16:16x16_n"mine"')
    data = json.loads(files["json"].read_text())
    assert [bool(c["refusal"]) for c in data["cases"]] == [False, True]
    assert data["facts"]["roof"]["peaks"].keys() == {"f32"}
    rows = list(csv.DictReader(files["csv"].open()))
    assert rows[0]["flops"] == str(2 * 16**3)
    assert files["png"].read_bytes().startswith(b"\x89PNG")


def test_status_is_1_where_nothing_was_measured(capsys):
    assert command.main(["--device=cpu", "--lrn", "--dt=f64", "mb2ic16ih9"]) == 1


def test_a_case_without_an_implementation_is_refused_and_the_next_one_measured(capsys):
    words = ["--matmul", "--impl=zebra", "5x8:8x3", "--softmax", "4x3"]
    assert command.main(["--device=cpu", "--fix-times-per-prb=1", *words]) == 0
    refused, measured = capsys.readouterr().out.splitlines()[1:]
    assert refused.startswith("REFUSED --matmul --impl=zebra 5x8:8x3: --impl and --skip-impl must")
    assert measured.startswith("perf,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there must be a case"),
        (["--matmul", "2x3:4x5"], "command line: problem must be"),
        (["--perf-template=%frob%", "--matmul", "2x3:3x5"], "--perf-template must have"),
        (["--fix-times-per-prb=0", "--matmul", "2x3:3x5"], "must be at least 1, got 0"),
        (["--max-ms-per-prb=-1", "--matmul", "2x3:3x5"], "must be 0 to 3600000, got -1"),
        (["--device=nonsense", "--matmul", "2x3:3x5"], "device must be one of"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, message, capsys):
    assert command.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_simulated_gpu_is_not_measured(monkeypatch, capsys):
    monkeypatch.setattr(command, "is_simulated", lambda kind: True)
    assert command.main(["--matmul", "2x3:3x5"]) == 2
    assert "got the simulated" in capsys.readouterr().err
