"""Streamed runs: pieces, bounded memory, `kill -9`, full disk (reliability rows F2, F3, B82), salvage."""

import errno
import os
import shutil
import signal
import subprocess
import time
import tracemalloc

import numpy as np
import pytest

from nonsmooth.errors import OutputExistsError, OutputLockedError, ResultFormatError, ShapeError, StorageError
from nonsmooth.results import Audit, Event, EventTable, Result
from nonsmooth.results.store import StreamWriter, open_stream

LAYOUT = {"t": None, "q": 2, "u": 2, "modes": 1, "dt": None, "order": None}


def columns(first, n):
    """Columns that can be recomputed from their number."""
    k = np.arange(first, first + n)
    return {
        "t": k * 0.5,
        "q": np.vstack([np.sin(k), k * 1.0]),
        "u": np.vstack([np.cos(k), -k * 1.0]),
        "modes": (k % 5 - 2).astype(np.int8)[None, :],
        "dt": np.full(n, 0.5),
        "order": k % 7,
    }


def agrees(result, n):
    wanted = columns(0, n)
    for name in LAYOUT:
        assert np.array_equal(getattr(result, name), wanted[name]), name
    assert result.modes.dtype == np.int8
    return True


def test_round_trip_in_pieces_of_any_size(tmp_path):
    path = tmp_path / "run.nsr"
    sizes = [1, 0, 7, 100, 3, 250, 139]
    with StreamWriter(
        path, LAYOUT, segment_bytes=3000, method="moreau", law_names=["floor"], params={"m": 2.0}
    ) as writer:
        first = 0
        for n in sizes:
            writer.append(columns(first, n), events=[Event(first, "impact", "floor", 0, 1, 0)] if n else ())
            first += n
        writer.finish(
            nsteps=499, status=0, message="done", audit=Audit(unconverged=3), extra={"a": np.arange(2)}
        )
    again = Result.load(path)
    assert agrees(again, 500)
    assert (again.nsteps, again.status, again.message, again.audit.unconverged) == (499, 0, "done", 3)
    assert (again.method, again.law_names, again.params) == ("moreau", ("floor",), {"m": 2.0})
    assert [event.t for event in again.events] == [0, 1, 8, 108, 111, 361]
    assert np.array_equal(again.a, [0, 1])
    assert not again.unfinished
    assert os.listdir(tmp_path) == ["run.nsr"]
    assert same_pieces(path, 500)
    assert agrees(Result.load(path, untrusted=True), 500)


def same_pieces(path, n):
    reader = open_stream(path)
    assert len(reader) > 5
    at = 0
    for piece in reader:
        assert np.array_equal(piece["q"], columns(at, piece["t"].size)["q"])
        at += piece["t"].size
    return at == n


def test_event_tables_stay_tables(tmp_path):
    with StreamWriter(tmp_path / "run", {"t": None}, segment_bytes=80) as writer:
        for k in range(30):
            table = EventTable([k + 0.5], [0], [0], [0], [1], names=["floor"])
            writer.append({"t": np.array([float(k)])}, events=table)
        writer.finish()
    events = Result.load(tmp_path / "run").events
    assert isinstance(events, EventTable)
    assert np.array_equal(events.t, np.arange(30) + 0.5)


def test_unfinished_run_is_readable_and_says_so(tmp_path):
    path = tmp_path / "run.nsr"
    writer = StreamWriter(path, LAYOUT, segment_bytes=3000)
    writer.append(columns(0, 100))
    found = Result.load(path)  # while the writer is at work
    assert found.unfinished and not found.success
    assert 0 < len(found) <= 100
    assert agrees(found, len(found))
    assert "unfinished" in found.message and "unfinished" in repr(found)
    writer.flush()
    assert agrees(Result.load(path), 100)
    writer.close()
    assert Result.load(path).unfinished
    with pytest.raises(StorageError, match="closed"):
        writer.append(columns(100, 1))


def test_leaving_by_an_exception_keeps_what_was_appended(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with StreamWriter(tmp_path / "run", LAYOUT) as writer:
            writer.append(columns(0, 10))
            1 / 0  # noqa: B018
    found = Result.load(tmp_path / "run")
    assert found.unfinished
    assert agrees(found, 10)


def test_b80_b81_outputs_that_exist_or_are_locked(tmp_path):
    path = tmp_path / "run.nsr"
    with StreamWriter(path, LAYOUT) as writer:
        with pytest.raises(OutputLockedError):
            StreamWriter(path, LAYOUT)
        with pytest.raises(OutputLockedError):
            StreamWriter(path, LAYOUT, overwrite=True)
        writer.append(columns(0, 10))
        writer.finish()
    with pytest.raises(OutputExistsError):
        StreamWriter(path, LAYOUT)
    assert agrees(Result.load(path), 10)
    with StreamWriter(path, LAYOUT, overwrite=True) as writer:
        writer.append(columns(0, 20))
        writer.finish()
    assert agrees(Result.load(path), 20)
    with pytest.raises(StorageError) as caught:
        StreamWriter(tmp_path / "no" / "run", LAYOUT)
    assert caught.value.errno == errno.ENOENT


def test_overwrite_removes_nothing_but_a_streamed_run(tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.tex").write_text("precious")
    file = tmp_path / "file"
    file.write_text("precious")
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (folder, file):
        with pytest.raises(OutputExistsError, match="not a streamed run"):
            StreamWriter(path, LAYOUT, overwrite=True)
    assert (folder / "chapter1.tex").read_text() == file.read_text() == "precious"
    StreamWriter(empty, LAYOUT, overwrite=True).close()
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "thesis"]


def test_columns_are_checked(tmp_path):
    writer = StreamWriter(tmp_path / "run", LAYOUT)
    wrong = columns(0, 10)
    wrong["q"] = wrong["q"][:, :5]
    with pytest.raises(ShapeError, match=r"`q` has shape \(2, 5\), wanted \(2, 10\)"):
        writer.append(wrong)
    with pytest.raises(ShapeError, match="layout"):
        writer.append({"t": np.zeros(1)})
    with pytest.raises(ShapeError, match="'t'"):
        StreamWriter(tmp_path / "other", {"q": 2})
    with pytest.raises(TypeError, match="unknown"):
        StreamWriter(tmp_path / "other", LAYOUT, colour="red")
    writer.close()


@pytest.fixture
def damaged(tmp_path):
    """A finished run of 10 pieces, to be damaged."""
    path = tmp_path / "run.nsr"
    with StreamWriter(path, {"t": None}, segment_bytes=800) as writer:
        writer.append({"t": np.arange(1000.0)})
        writer.finish(nsteps=999)
    assert len(open_stream(path)) == 10
    return path


def other_run(path, i):
    """Put piece i of another run in its place."""
    elsewhere = path.with_name("elsewhere")
    with StreamWriter(elsewhere, {"t": None}, segment_bytes=800) as writer:
        writer.append({"t": np.arange(1000.0)})
    shutil.copy(elsewhere / f"seg-{i:08d}.h5", path)


def swapped(path, i):
    a, b = path / f"seg-{i:08d}.h5", path / f"seg-{i + 1:08d}.h5"
    a.rename(path / "x")
    b.rename(a)
    (path / "x").rename(b)


DAMAGE = {
    "missing piece": (lambda p: (p / "seg-00000004.h5").unlink(), 400),
    "truncated piece": (lambda p: os.truncate(p / "seg-00000004.h5", 600), 400),
    "empty piece": (lambda p: os.truncate(p / "seg-00000004.h5", 0), 400),
    "piece of another run": (lambda p: other_run(p, 4), 400),
    "swapped pieces": (lambda p: swapped(p, 4), 400),
    "missing last piece": (lambda p: (p / "seg-00000009.h5").unlink(), 900),
    "damaged tail": (lambda p: os.truncate(p / "tail.h5", 700), 1000),
}


@pytest.mark.parametrize("name", list(DAMAGE))
def test_damage_is_refused_and_salvaged_on_request(damaged, name):
    damage, rest = DAMAGE[name]
    damage(damaged)
    with pytest.raises(ResultFormatError):
        Result.load(damaged)
    with pytest.raises(ResultFormatError):
        for _ in open_stream(damaged):
            pass
    found = Result.load(damaged, salvage=True)
    assert np.array_equal(found.t, np.arange(float(rest)))
    assert found.unfinished


def test_no_head_no_run(damaged):
    (damaged / "head.h5").unlink()
    with pytest.raises(ResultFormatError, match="head"):
        Result.load(damaged, salvage=True)


def test_b76_limit_is_on_the_whole_run(damaged):
    with pytest.raises(ResultFormatError, match="limit"):
        Result.load(damaged, max_bytes=5000)
    assert sum(piece["t"].size for piece in open_stream(damaged, max_bytes=5000)) == 1000


def test_memory_stays_bounded(tmp_path):
    """Twenty-five pieces of 1 MB: the writer never holds more than a few of them."""
    layout = {"t": None, "q": 10}
    block = {"t": np.zeros(1000), "q": np.zeros((10, 1000))}
    writer = StreamWriter(tmp_path / "run", layout, segment_bytes=2**20)
    writer.append(block)
    tracemalloc.start()
    for _ in range(300):
        writer.append(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    writer.finish()
    assert writer.segments >= 24
    assert peak < 4 * 2**20


def _write_for_ever(path, log):
    """Child: append, and acknowledge in `log` how many instants are on the disk."""
    with open(log, "w") as out, StreamWriter(path, LAYOUT, segment_bytes=4000) as writer:
        first = 0
        while True:
            writer.append(columns(first, 37))
            first += 37
            out.write(f"{writer.stored}\n")
            out.flush()


def test_f2_twenty_kills_lose_no_acknowledged_row(tmp_path):
    rng = np.random.default_rng(5)
    rows = 0
    for i in range(20):
        path, log = tmp_path / f"run{i}.nsr", tmp_path / f"log{i}"
        child = os.fork()
        if child == 0:
            try:
                _write_for_ever(path, log)
            finally:
                os._exit(1)
        while not (log.exists() and log.stat().st_size):
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.15))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        acknowledged = int(log.read_text().rsplit("\n", 2)[-2])
        found = Result.load(path)
        assert found.unfinished
        assert len(found) >= acknowledged
        assert agrees(found, len(found))
        rows += len(found)
        # The name is free again although nobody released the lock.
        StreamWriter(path, LAYOUT, overwrite=True).close()
    assert rows > 1000


def _write_until_full(path, space):
    """Child: write under a limit; exit code 5 on a clean StorageError, printing the finished instants."""
    writer = StreamWriter(path, LAYOUT, segment_bytes=4000)
    first = 0
    try:
        while first < 10**6:
            writer.append(columns(first, 37))
            first += 37
    except StorageError as error:
        if error.errno not in space:
            return 8
        # Nothing in memory was lost: the waiting columns follow the finished ones without a gap.
        pending = writer._filled + sum(item["t"].size for item in writer._queue)
        return 5 if writer.stored + pending == first + 37 else 9
    return 7


def _in_child(function, *arguments):
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = function(*arguments)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_f3_full_disk_on_a_small_file_system(tmp_path):
    """A tmpfs of 2 MB where it can be mounted; a limit on the file size everywhere."""
    import resource

    mount = tmp_path / "small"
    mount.mkdir()
    mounted = not subprocess.run(  # noqa: S603
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)],  # noqa: S607
        capture_output=True,
        check=False,
    ).returncode
    try:
        if mounted:
            most = 0
            for position in range(30):
                path = mount / "run.nsr"
                left = 20_000 + 3_973 * position
                (mount / "filler").write_bytes(bytes(2 * 2**20 - left))
                assert _in_child(_write_until_full, path, (errno.ENOSPC,)) == 5
                found = Result.load(path)
                assert found.unfinished
                assert agrees(found, len(found))
                most = max(most, len(found))
                shutil.rmtree(path)
            assert most > 300
    finally:
        if mounted:
            subprocess.run(["umount", str(mount)], check=True)  # noqa: S603, S607

    def limited(path, size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        writer = StreamWriter(path, LAYOUT, segment_bytes=4000)
        writer.append(columns(0, 300))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            writer.append(columns(300, 300))
        except StorageError as error:
            return 5 if error.errno == errno.EFBIG else 8
        return 7

    for size in (0, 1, 511, 512, 2000, 5000):
        path = tmp_path / f"run{size}.nsr"
        assert _in_child(limited, path, size) == 5
        found = Result.load(path)
        assert agrees(found, len(found))
        assert len(found) > 200
        assert not [name for name in os.listdir(path) if name.endswith(".tmp")]


def test_b82_writing_goes_on_after_space_is_freed(tmp_path, monkeypatch):
    """The disk is full for three tries; nothing is lost and the run can be finished."""
    import nonsmooth.results.files as files

    path = tmp_path / "run"
    writer = StreamWriter(path, LAYOUT, segment_bytes=3000)
    writer.append(columns(0, 50))
    real, full = os.write, [True]

    def write(handle, data):
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    monkeypatch.setattr(files.os, "write", write)
    block = columns(50, 200)
    with pytest.raises(StorageError) as caught:
        writer.append(block)
    assert caught.value.errno == errno.ENOSPC
    assert "free some space" in str(caught.value)
    for name in block:
        block[name][...] = 0  # the caller uses its memory again
    with pytest.raises(StorageError):
        writer.append(columns(250, 10))
    with pytest.raises(StorageError):
        writer.flush()
    full[0] = False
    writer.append(columns(260, 40))
    writer.finish(nsteps=299)
    assert agrees(Result.load(path), 300)


def test_events_given_at_the_end_are_stored_once(tmp_path):
    event = Event(3.0, "impact", "floor", 0, 1, 0)
    for name, early in (("late", ()), ("early", [event])):
        with StreamWriter(tmp_path / name, {"t": None}) as writer:
            writer.append({"t": np.arange(5.0)}, events=early)
            writer.finish(events=[event])
        assert list(Result.load(tmp_path / name).events) == [event]


def test_lazy_reading_gives_the_same_and_reads_only_what_is_used(tmp_path):
    path = tmp_path / "run.nsr"
    origin = {
        "method": "moreau",
        "law_names": ["floor"],
        "params": {"m": 2.0},
        "coordinate_names": ["x", "y"],
    }
    with StreamWriter(path, LAYOUT, segment_bytes=3000, **origin) as writer:
        writer.append(columns(0, 300), events=[Event(3.0, "impact", "floor", 0, 1, 0)])
        unfinished = Result.load(path, lazy=True)
        assert unfinished.unfinished and agrees(unfinished, len(unfinished))
        writer.finish(nsteps=299, audit=Audit(unconverged=3), extra={"a": np.arange(2)})
    lazy, whole = Result.load(path, lazy=True), Result.load(path)
    assert not {"t", "q", "u", "y", "events"} & set(lazy.__dict__)
    assert len(lazy) == 300 and lazy.nsteps == 299 and lazy.audit.unconverged == 3
    assert np.array_equal(lazy.q, whole.q)
    assert not {"t", "u", "y"} & set(lazy.__dict__)
    assert agrees(lazy, 300)
    assert np.array_equal(lazy.y, whole.y) and lazy.P_N.shape == (0, 300) and lazy.residual.size == 0
    assert list(lazy.events) == list(whole.events)
    assert repr(lazy) == repr(whole) and lazy.summary() == whole.summary()
    assert set(whole.keys()) <= set(lazy.keys()) | {"_"} and "t" in lazy
    assert np.array_equal(lazy.a, [0, 1])
    with pytest.raises(AttributeError, match="no field 'colour'"):
        lazy.colour  # noqa: B018
    lazy.plot()
    with pytest.raises(ResultFormatError, match="max_bytes"):
        Result.load(path, lazy=True, max_bytes=4000).q  # noqa: B018


def test_lazy_salvage(damaged):
    (damaged / "seg-00000004.h5").unlink()
    found = Result.load(damaged, lazy=True, salvage=True)
    assert found.unfinished and np.array_equal(found.t, np.arange(400.0))


def test_hostile_heads_and_pieces_are_refused(damaged):
    from nonsmooth.results.container import read_container, write_container

    head, _ = read_container(damaged / "head.h5", "head")
    for change in (
        {"layout": 3},
        {"layout": {"q": 1}},
        {"layout": {"t": 3}},
        {"layout": {"t": None, "q": 2}},
    ):
        write_container(damaged / "head.h5", "head", head | change, {})
        with pytest.raises(ResultFormatError):
            Result.load(damaged)
    write_container(damaged / "head.h5", "head", head, {})
    meta, arrays = read_container(damaged / "seg-00000002.h5", "segment")
    write_container(
        damaged / "seg-00000002.h5", "segment", meta | {"events": 7}, arrays | {"ev_t": np.zeros(2)}
    )
    with pytest.raises(ResultFormatError, match="events"):
        Result.load(damaged)
    write_container(damaged / "seg-00000002.h5", "segment", meta, arrays)
    assert np.array_equal(Result.load(damaged).t, np.arange(1000.0))
