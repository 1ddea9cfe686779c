# SPDX-License-Identifier: Apache-2.0
"""Tables, totals, traces, pictures and the command line."""

import json
import subprocess
import sys

import dpctl
import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.device import usable_devices
from sycl_dnn.tools.profile import presentation
from sycl_dnn.tools.profile.command import main as trace_main
from sycl_dnn.tools.profile.records import Record, TensorFacts, charged, summarized

N_CALLS = 3
SCRIPT = """
import sys
import dpnp
import sycl_dnn
from sycl_dnn import functional as F

x = dpnp.ones((30, 40), dtype="f4", sycl_queue=sycl_dnn.default_queue("cpu"))
for _ in range(int(sys.argv[1])):
    F.tanh(x)
print("the script is", __name__)
"""


@pytest.fixture(scope="module")
def recorded():
    queue = dpctl.SyclQueue(usable_devices("cpu")[0], property="enable_profiling")
    x = dpnp.ones((2, 8, 16, 16), dtype="f4", sycl_queue=queue)
    w = dpnp.ones((16, 8, 3, 3), dtype="f4", sycl_queue=queue)
    sycl_dnn.cache.clear()
    with sycl_dnn.profile() as p:
        for _ in range(N_CALLS):
            F.tanh(F.conv2d(x, w))
        F.argsort(dpnp.ones(80_000, dtype="f4", sycl_queue=queue))
    return p


def made(kind="primitive", name="a", begin=0, host=1, time=None, thread=1, **facts):
    """A record with values that are hard to provoke."""
    known = {
        "implementation": "jit",
        "tensors": (TensorFacts("src", "f32", (2,), "a"),),
        "attributes": "",
        "inserted": False,
        "reference": False,
        "was_cached": None,
        "queue": 0,
    }
    times = {"clock": "", "submitted": 0, "started": 0, "finished": 0}
    if time is not None:
        times = {"clock": "device", "submitted": 5, "started": 9, "finished": 9 + time}
    return Record(
        kind=kind, name=name, begin=begin, host=host, time=time, thread=thread,
        **(known | times | facts),
    )  # fmt: skip


@pytest.mark.slow
def test_table_by_shape(recorded):
    text = recorded.table()
    lines = text.splitlines()
    conv = next(line for line in lines if " convolution_forward " in line)
    assert f" {N_CALLS} " in conv
    assert "src:f32:2x8x16x16" in conv
    assert "host_task" in conv
    assert "inserted reorders" in text
    assert "2 functions traced" not in text  # astype is traced too
    assert "3 functions traced" in text
    assert "calls of dpnp without a time" in text


def test_table_in_other_groups(recorded):
    lines = recorded.table("name").splitlines()
    assert sum(" convolution_forward" in line for line in lines) == 1
    assert "kind" in recorded.table(["kind", "name"]).splitlines()[0]
    assert "more)" in recorded.table(top=1)
    assert "nothing was executed" in sycl_dnn.profile().table()
    with pytest.raises(ValueError, match="table: group_by must .* got 'colour'"):
        recorded.table("colour")


def test_longest_first():
    records = [made(name="short", time=1000), made(name="long", begin=5, time=9000)]
    lines = presentation.parts_by_name(records)
    assert list(lines) == ["long", "short"]
    assert lines["long"][-1] == 0.009


def test_summary(recorded):
    s = recorded.summary
    records = recorded.records
    assert s.executions == sum(r.is_execution for r in records)
    assert s.measure == "time"
    assert set(s.clocks) == {r.clock for r in records if r.time is not None} >= {"host_task"}
    assert s.inserted == sum(r.inserted for r in records if r.kind == "primitive")
    assert s.dpnp == 1
    assert s.plan_misses == 3
    assert s.created == sum(r.kind == "create" for r in records)
    assert s.time_ms == pytest.approx(sum(r.time or 0 for r in records) / 1e6)


def test_shares():
    records = [
        made(time=60),
        made(begin=1, time=30, inserted=True, name="reorder"),
        made(begin=2, time=10, reference=True),
        made(begin=3, kind="create", host=500, was_cached=False),
        made(begin=4, kind="create", host=500, was_cached=True),
    ]
    s = summarized(records)
    assert (s.inserted_share, s.reference_share) == (0.3, 0.1)
    assert (s.created, s.cache_misses) == (2, 1)
    assert s.creation_ms == 0.001
    assert summarized([]).measure == "host"


def test_work_inside_a_dpnp_call_counts_once():
    call = made("dpnp", begin=0, host=100, time=100, clock="wall")
    inside = made(begin=10, host=5, time=30)
    elsewhere = made(begin=20, host=5, time=30, thread=2)
    after = made(begin=100, host=5, time=30)
    assert charged([call, inside, elsewhere, after]) == ("time", [70, 30, 30, 30])


def test_traces_inside_traces_count_once():
    outer = made("trace", begin=0, host=2_000_000)
    inner = made("trace", begin=10, host=1_000_000)
    assert summarized([outer, inner]).tracing_ms == 2.0


def test_chrome_trace(recorded, tmp_path):
    path = tmp_path / "trace.json"
    recorded.to_chrome_trace(path)
    data = json.loads(path.read_text())
    events = data["traceEvents"]
    phases = {e["ph"] for e in events}
    assert phases == {"M", "X", "s", "f"}
    for e in events:
        assert isinstance(e["pid"], int)
        assert isinstance(e["tid"], int)
        assert isinstance(e["name"], str)
        assert e["ph"] == "M" or e["ts"] >= 0
        assert e["ph"] != "X" or e["dur"] >= 0
    host = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
    assert len(host) == len(recorded.records)
    device = [e for e in events if e["ph"] == "X" and e["pid"] == 1]
    assert len(device) == sum(r.queue is not None for r in recorded.records)
    assert sorted(e["id"] for e in events if e["ph"] == "s") == sorted(
        e["id"] for e in events if e["ph"] == "f"
    )
    titles = [e["args"]["name"] for e in events if e["ph"] == "M"]
    assert "host" in titles
    assert any(t.startswith("queue 0: ") for t in titles)
    assert "MainThread" in titles


def test_tracks_of_a_queue_do_not_overlap():
    records = [made(begin=i, time=1000, started=9 + 100 * i, finished=1009) for i in range(3)]
    events = presentation.trace_events(records, [{"device": "x"}], {})
    lanes = [e["tid"] for e in events if e["ph"] == "X" and e["pid"] == 1]
    assert sorted(lanes) == [0, 1, 2]


def test_clocks_of_devices_are_brought_to_the_host():
    apart = 10**12
    shifted = {"submitted": apart + 5, "started": apart + 50, "finished": apart + 90}
    records = [made(begin=0, host=10, time=40, **shifted)]
    events = presentation.trace_events(records, [{"device": "x"}], {})
    (run,) = [e for e in events if e["ph"] == "X" and e["pid"] == 1]
    assert run["ts"] == pytest.approx(0.05)


def test_json(recorded, tmp_path):
    recorded.to_json(tmp_path / "all.json")
    data = json.loads((tmp_path / "all.json").read_text())
    assert len(data["records"]) == len(recorded.records)
    assert data["records"][-1]["kind"]
    assert data["summary"]["executions"] == recorded.summary.executions
    conv = next(r for r in data["records"] if r["name"] == "convolution_forward")
    assert conv["tensors"][0]["argument"] == "src"


@pytest.mark.slow
def test_picture(recorded, tmp_path):
    pytest.importorskip("matplotlib")
    recorded.plot(tmp_path / "time.png")
    assert (tmp_path / "time.png").read_bytes().startswith(b"\x89PNG")
    parts = presentation.parts_by_name(recorded.records)
    total = sum(t for r, t in zip(recorded.records, charged(recorded.records)[1], strict=True)
                if r.is_execution)  # fmt: skip
    assert sum(map(sum, parts.values())) == pytest.approx(total / 1e6)
    assert parts["reorder"][0] > 0
    sycl_dnn.profile().plot(tmp_path / "empty.svg")
    assert "<svg" in (tmp_path / "empty.svg").read_text()


def run_script(folder, text, *arguments):
    (folder / "script.py").write_text(text)
    command = [sys.executable, "-m", "sycl_dnn", "trace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900)


@pytest.mark.slow
def test_command_line(tmp_path):
    files = ["--wait", "--chrome", "c.json", "--json", "j.json", "--group-by", "name"]
    done = run_script(tmp_path, SCRIPT, *files, "script.py", "4")
    assert done.returncode == 0, done.stderr
    assert "the script is __main__" in done.stdout
    assert "eltwise_forward" in done.stdout
    runs = [r for r in json.loads((tmp_path / "j.json").read_text())["records"] if r["time"]]
    assert [(r["name"], r["clock"]) for r in runs] == [("eltwise_forward", "wall")] * 4
    assert json.loads((tmp_path / "c.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("end", "status"), [("sys.exit(7)", 7), ("sys.exit('no')", 1), ("1 / 0", 1), ("sys.exit()", 0)]
)
def test_command_line_reports_how_the_script_ended(tmp_path, capsys, end, status):
    script = tmp_path / "ends.py"
    script.write_text(f"import sys\n{end}\n")
    before = sys.argv, sys.path[:]
    assert trace_main([str(script)]) == status
    assert (sys.argv, sys.path[:]) == before
    out, err = capsys.readouterr()
    assert "nothing was executed" in out
    assert ("ZeroDivisionError" in err) == ("/" in end)


def test_command_line_refuses(capsys):
    for arguments in (["missing.py"], ["--limit", "0", __file__], []):
        with pytest.raises(SystemExit):
            trace_main(arguments)
    assert "script must be a file, got 'missing.py'" in capsys.readouterr().err
