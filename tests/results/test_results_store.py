"""Files: round trip, refusals (reliability rows B73-B77, B80, B81), damaged bytes."""

import errno
import json
import logging
import os
import signal
import stat
import struct
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from results_standin import moreau, puck

from nonsmooth.errors import OutputExistsError, OutputLockedError, ResultFormatError, StorageError
from nonsmooth.results import Event, EventTable, Result, audit_moreau
from nonsmooth.results.container import write_container
from nonsmooth.results.files import WriterLock
from nonsmooth.results.plain import from_plain, to_plain
from nonsmooth.results.store import claim_output


@pytest.fixture(scope="module")
def result():
    system = puck()
    columns, totals = moreau(system, 0.5, [0, 0, 0.2], [4, 2, 0], 100)
    events = [
        Event(0.2, "impact", "plane", before=0, after=1, law=0, bracket=(0.19, 0.21)),
        Event(0.3, "switch", "relay", before=np.array([1.0, 2.0]), after=np.array([1.0, -2.0])),
        Event(0.4, "touch", "wall", before=None, after=0.5, extra={"iterations": 3, "where": np.arange(3)}),
    ]
    found = Result(
        **columns,
        order=np.ones(101, dtype=int),
        residual=np.linspace(0, 1e-12, 101),
        iterations=np.arange(101),
        nsteps=100,
        nfev=7,
        events=events,
        law_names=system.laws.name,
        coordinate_names=["x", "y", "z\u202e"],
        method="moreau",
        method_options={"dt": 0.005, "solver": {"name": "psor", "tol": 1e-12}},
        problem_name="puck </script>",
        params={"m": np.float64(0.1), "A": np.eye(2), "n": 3, "flag": True, "z": 1 + 2j, "none": None},
        extra={"t_events": [np.array([1.0, 2.0]), np.array([])], "label": "a"},
        message="done",
    )
    found.audit = audit_moreau(system, found, totals)
    return found


def same(a, b):
    for name in ("t", "q", "u", "y", "P_N", "P_T", "modes", "dt", "order", "residual", "iterations"):
        x, y = getattr(a, name), getattr(b, name)
        assert x.dtype == y.dtype, name
        assert np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"), name
    for name in (
        "status",
        "success",
        "message",
        "nfev",
        "nsteps",
        "method",
        "method_options",
        "problem_name",
    ):
        assert getattr(a, name) == getattr(b, name), name
    assert (a.law_names, a.coordinate_names) == (b.law_names, b.coordinate_names)
    assert list(a.events) == list(b.events)
    assert str(a.audit) == str(b.audit)
    return True


def test_round_trip_is_exact(result, tmp_path):
    path = tmp_path / "run.h5"
    result.save(path)
    again = Result.load(path)
    assert same(result, again)
    assert np.array_equal(again.params["A"], np.eye(2))
    assert again.params["z"] == 1 + 2j
    assert {k: again.params[k] for k in ("m", "n", "flag", "none")} == {
        "m": 0.1,
        "n": 3,
        "flag": True,
        "none": None,
    }
    assert np.array_equal(again.t_events[0], [1.0, 2.0])
    assert again.events[2].extra["iterations"] == 3
    assert os.listdir(tmp_path) == ["run.h5"]  # no lock, no temporary file left
    assert not stat.S_IMODE(path.stat().st_mode) & 0o111


def test_saving_twice_gives_the_same_bytes(result, tmp_path):
    result.save(tmp_path / "a.h5")
    result.save(tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_special_values_and_minimal_results(tmp_path):
    cases = {
        "empty": Result(t=np.zeros(0)),
        "nan": Result(t=[0, 1], q=[[np.nan, np.inf]], u=[[-0.0, -np.inf]]),
        "complex": Result(t=[0, 1], y=np.array([[1 + 1j, 2 - 1j]]), method="BDF"),
        "real y": Result(t=[0, 1], y=np.array([[1.0, 2.0]])),
        "own y": Result(t=[0, 1], q=[[1, 2]], u=[[3, 4]], y=np.array([[9.0, 9.0]])),
        "table": Result(
            t=[0, 1],
            events=EventTable([0.5, 0.6], [0, 3], [0, 1], [0, 2], [1, 1], names=["floor", "rail"]),
        ),
    }
    for name, case in cases.items():
        path = tmp_path / f"{name}.h5"
        case.save(path)
        assert same(case, Result.load(path)), name
    assert np.signbit(Result.load(tmp_path / "nan.h5").u[0, 0])


def test_dense_output_is_left_out_and_said(tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="nonsmooth"):
        Result(t=[0.0, 1.0], extra={"sol": lambda t: t, "t_events": None}).save(tmp_path / "a.h5")
    assert "sol" in caplog.text
    again = Result.load(tmp_path / "a.h5")
    assert "sol" not in again
    assert again.t_events is None


def test_other_hdf5_tools_can_read_it(result, tmp_path):
    path = tmp_path / "run.h5"
    result.save(path)
    with h5py.File(path) as file:
        assert np.array_equal(file["q"][()], result.q)
        assert json.loads(file["meta"][()])["method"] == "moreau"
    assert path.read_bytes().startswith(b"nonsmooth result\nformat 1\nkind result\n")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text().filter(lambda k: not k.startswith("__")), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(json_values)
def test_plain_values_round_trip(value):
    assert from_plain(json.loads(json.dumps(to_plain(value)))) == value


def test_foreign_objects_become_text_and_types_are_checked():
    assert from_plain(to_plain({"solver": object})) == {"solver": "<class 'object'>"}
    with pytest.raises(ResultFormatError, match="type"):
        from_plain({"__array__": [1], "dtype": "O", "shape": [1]})


# --- refusals at reading ----------------------------------------------------------------------------------


def test_b73_zero_bytes_foreign_and_truncated(result, tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(b"")
    with pytest.raises(ResultFormatError, match="empty"):
        Result.load(path)
    path.write_bytes(b"hello world" * 100)
    with pytest.raises(ResultFormatError, match="no result file"):
        Result.load(path)
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(3)
    with pytest.raises(ResultFormatError, match="another program"):
        Result.load(path)
    result.save(path, overwrite=True)
    whole = path.read_bytes()
    for size in (1, 16, 17, 100, 511, 512, 520, 1000, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ResultFormatError):
            Result.load(path)
    path.write_bytes(whole[:-7])
    with pytest.raises(ResultFormatError, match=f"7 of {len(whole)} bytes are missing"):
        Result.load(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(ResultFormatError, match="1 bytes too many"):
        Result.load(path)


def test_b73_missing_directory_fifo_device(tmp_path):
    with pytest.raises(StorageError) as caught:
        Result.load(tmp_path / "absent.h5")
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(ResultFormatError, match="no streamed run"):
        Result.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ResultFormatError, match="not a regular file"):
            Result.load(path)


def test_b74_future_version(result, tmp_path):
    path = tmp_path / "a.h5"
    result.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"format 1\n", b"format 7\n", 1))
    with pytest.raises(ResultFormatError, match=r"version 7.*up to version 1"):
        Result.load(path)
    path.write_bytes(b"nonsmooth result\nformat 12\nsomething else altogether\n")
    with pytest.raises(ResultFormatError, match=r"version 12.*up to version 1"):
        Result.load(path)


def test_every_flipped_bit_is_found(result, tmp_path):
    """300 random single-bit flips, header and content: all detected before the HDF5 library is used."""
    path = tmp_path / "a.h5"
    result.save(path)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.integers(0, 140, 60), rng.integers(0, len(whole), 240)])
    for place, bit in zip(places, rng.integers(0, 8, places.size)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(ResultFormatError):
            Result.load(path)


def seal(image: bytes, kind: str = "result") -> bytes:
    """An HDF5 image with a right header, as somebody with bad intentions would make it."""
    import hashlib

    head = f"nonsmooth result\nformat 1\nkind {kind}\nbytes {512 + len(image)}\n".encode()
    digest = hashlib.blake2b(head + image, digest_size=32).hexdigest()
    return (head + f"blake2b {digest}\n".encode()).ljust(512, b"\n") + image


def hostile(tmp_path, fill):
    path = tmp_path / "hostile.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        fill(file)
    path.write_bytes(seal(path.read_bytes()[512:]))
    return path


def minimal_meta(file):
    text = json.dumps({"status": 0}).encode()
    file.create_dataset("meta", data=np.bytes_(text))


def test_b75_hostile_content_is_refused(tmp_path):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["t"] = np.arange(5.0)
    raw = tmp_path / "raw.bin"
    raw.write_bytes(struct.pack("<5d", *range(5)))

    def external(file):
        minimal_meta(file)
        file["t"] = h5py.ExternalLink(str(secret), "t")

    def soft(file):
        minimal_meta(file)
        file["t"] = h5py.SoftLink("/meta")

    def cycle(file):
        minimal_meta(file)
        file["t"] = file["/"]

    def group(file):
        minimal_meta(file)
        file.create_group("t/deeper")

    def external_storage(file):
        minimal_meta(file)
        file.create_dataset("t", shape=(5,), dtype="<f8", external=[(str(raw), 0, 40)])

    def virtual(file):
        minimal_meta(file)
        layout = h5py.VirtualLayout(shape=(5,), dtype="<f8")
        layout[:] = h5py.VirtualSource(str(secret), "t", shape=(5,))
        file.create_virtual_dataset("t", layout)

    def reference(file):
        minimal_meta(file)
        file.create_dataset("t", data=file.ref, dtype=h5py.ref_dtype)

    def filtered(file):
        minimal_meta(file)
        file.create_dataset("t", data=np.zeros(1000), compression="gzip")

    def variable(file):
        minimal_meta(file)
        file.create_dataset("t", data=["a", "b"], dtype=h5py.string_dtype())

    def compound(file):
        minimal_meta(file)
        file.create_dataset("t", data=np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]))

    def variable_meta(file):
        file.create_dataset("meta", data="{}", dtype=h5py.string_dtype())

    links = (external, soft, cycle, group)
    for fill in (*links, external_storage, virtual, reference, filtered, variable, compound, variable_meta):
        with pytest.raises(ResultFormatError, match="refused"):
            Result.load(hostile(tmp_path, fill))


def test_b75_text_that_is_no_table(tmp_path):
    def fill(text):
        return lambda file: file.create_dataset("meta", data=np.bytes_(text))

    for text in (b"[1, 2]", b"{", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"status": 0, "events": 3}'):
        with pytest.raises(ResultFormatError):
            Result.load(hostile(tmp_path, fill(text)))
    with pytest.raises(ResultFormatError, match="missing"):
        Result.load(hostile(tmp_path, lambda file: file.create_dataset("t", data=np.zeros(3))))


def test_b75_arrays_that_do_not_fit_each_other(result, tmp_path):
    from nonsmooth.results.plain import pack_result

    meta, arrays = pack_result(result)
    changes = [{"q": arrays["q"][:, :-1]}, {"t": arrays["q"]}, {"ev_kind": arrays["ev_kind"] + 200}]
    changes += [{"ev_before_count": np.full(3, 99)}, {"ev_after_count": np.full(2, 1)}]
    changes += [{"ev_name": np.full(3, 50)}]
    for change in changes:
        path = tmp_path / "bad.h5"
        write_container(path, "result", meta, arrays | change)
        with pytest.raises(ResultFormatError):
            Result.load(path)


def test_b76_size_bomb_is_refused_before_reading(tmp_path):
    def fill(file):
        minimal_meta(file)
        space = h5py.h5s.create_simple((10**6, 10**6))
        h5py.h5d.create(file.id, b"t", h5py.h5t.IEEE_F64LE, space)  # contiguous, never allocated

    path = hostile(tmp_path, fill)
    assert path.stat().st_size < 10_000
    with pytest.raises(ResultFormatError, match=r"7\.45e\+03 GiB, the limit is 4 GiB"):
        Result.load(path)


def test_b76_limit_can_be_raised_and_lowered(result, tmp_path):
    path = tmp_path / "a.h5"
    result.save(path)
    with pytest.raises(ResultFormatError, match="max_bytes"):
        Result.load(path, max_bytes=1000)
    assert same(result, Result.load(path, max_bytes=10**7))


def test_b75_untrusted_reads_in_a_child_process(result, tmp_path):
    path = tmp_path / "a.h5"
    result.save(path)
    again = Result.load(path, untrusted=True)
    assert same(result, again)
    assert np.array_equal(again.t_events[0], [1.0, 2.0])
    # A right header before an image that is random noise behind a right signature: whatever the library does.
    rng = np.random.default_rng(1)
    image = bytearray(path.read_bytes()[512:])
    image[8:200] = rng.integers(0, 256, 192, dtype=np.uint8).tobytes()
    path.write_bytes(seal(bytes(image)))
    with pytest.raises(ResultFormatError):
        Result.load(path, untrusted=True)


def _mutate_and_load(image, path, seed, count):
    """Child: `count` sealed files with one to three wrong bytes; exit code 0 if each is read or refused cleanly."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        mutant = bytearray(image)
        for _ in range(rng.integers(1, 4)):
            mutant[rng.integers(0, len(mutant))] = rng.integers(0, 256)
        path.write_bytes(seal(bytes(mutant)))
        signal.alarm(5)  # a reader that hangs is ended by the signal
        try:
            Result.load(path)
        except ResultFormatError:
            pass
        except BaseException:  # anything else is a failure
            return 1
    return 0


def _fuzz(result, tmp_path, rounds, count):
    path = tmp_path / "a.h5"
    result.save(path)
    image = path.read_bytes()[512:]
    for seed in range(rounds):
        child = os.fork()
        if child == 0:
            code = 2
            try:
                code = _mutate_and_load(image, path, seed, count)
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, f"seed {seed}"


SMALL = Result(
    t=np.arange(9.0), q=np.ones((2, 9)), u=np.ones((2, 9)), events=[Event(1.0, "impact", "a", 0, 1, 0)]
)


def test_f17_fuzzed_files_with_right_checksum(tmp_path):
    _fuzz(SMALL, tmp_path, rounds=2, count=150)


@pytest.mark.soak
def test_f17_fuzzed_files_with_right_checksum_long(tmp_path):
    _fuzz(SMALL, tmp_path, rounds=1000, count=100)


def test_b77_no_pickle_in_the_sources():
    import nonsmooth.results

    folder = os.path.dirname(nonsmooth.results.__file__)
    for name in os.listdir(folder):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                code = [line for line in file if not line.lstrip().startswith("#")]
            assert not any("import pickle" in line or "allow_pickle" in line for line in code), name
    assert "pickle" not in vars(sys.modules["nonsmooth.results.store"])


# --- refusals at writing ----------------------------------------------------------------------------------


def test_b80_existing_output_is_untouched(result, tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(b"precious")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        result.save(path)
    assert path.read_bytes() == b"precious"
    result.save(path, overwrite=True)
    assert same(result, Result.load(path))


def test_b80_missing_directory_and_wrong_names(result, tmp_path):
    with pytest.raises(StorageError) as caught:
        claim_output(tmp_path / "no" / "a.h5")
    assert caught.value.errno == errno.ENOENT
    assert "create it first" in str(caught.value)
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "a.h5", tmp_path / ("x" * 300), "..", ""):
        with pytest.raises(StorageError):
            result.save(path)


def test_b80_no_permission(result, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    child = os.fork()
    if child == 0:  # a process without privileges
        code = 1
        try:
            tmp_path.chmod(0o711)
            folder.chmod(0o555)
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            try:
                claim_output(folder / "a.h5")
            except StorageError as error:
                code = 0 if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_b81_second_writer_is_refused_and_the_first_unharmed(result, tmp_path):
    path = tmp_path / "a.h5"
    with claim_output(path):
        with pytest.raises(OutputLockedError, match="another run"):
            result.save(path, overwrite=True)
    result.save(path)
    assert same(result, Result.load(path))


def test_a_left_over_lock_or_temporary_file_does_no_harm(result, tmp_path):
    (tmp_path / ".a.h5.lock").write_bytes(b"")
    (tmp_path / ".a.h5.123-00ff.tmp").write_bytes(b"half a file")
    result.save(tmp_path / "a.h5")
    assert os.listdir(tmp_path) == ["a.h5"]


def test_f8_races_have_exactly_one_winner(tmp_path):
    """Forty pairs of processes claim the same output at once."""
    for i in range(40):
        path = tmp_path / f"{i}.h5"
        ready, go = os.pipe(), os.pipe()
        children = []
        for _ in range(2):
            child = os.fork()
            if child == 0:
                code = 9
                try:
                    os.write(ready[1], b"x")
                    os.read(go[0], 1)
                    try:
                        with claim_output(path):
                            with open(path, "xb") as file:
                                file.write(b"mine")
                        code = 0
                    except (OutputLockedError, OutputExistsError):
                        code = 1
                finally:
                    os._exit(code)
            children.append(child)
        os.read(ready[0], 1), os.read(ready[0], 1)
        os.write(go[1], b"gg")
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
        for end in (*ready, *go):
            os.close(end)
        assert codes == [0, 1]


def test_lock_is_released_by_the_death_of_its_holder(tmp_path):
    path = tmp_path / "a.h5"
    child = os.fork()
    if child == 0:
        WriterLock(path)
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    with claim_output(path):
        pass


def test_full_disk_while_saving_leaves_the_former_file(result, tmp_path):
    import resource

    path = tmp_path / "a.h5"
    result.save(path)
    former = path.read_bytes()
    child = os.fork()
    if child == 0:
        code = 9
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            try:
                result.save(path, overwrite=True)
            except StorageError as error:
                code = 0 if error.errno == errno.EFBIG else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == former
    assert os.listdir(tmp_path) == ["a.h5"]
