"""FCLIB files: round trips, and files that are damaged or hostile."""

import os
import signal
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from nonsmooth.contact.fclib import read_fclib, write_fclib
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.solve import solve_contact
from nonsmooth.errors import InputError, ModelError, OutputExistsError, ResultFormatError, ShapeError

DATA = Path(__file__).parents[1] / "data" / "contact"


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(7, 6))
    return ContactProblem(sp.csr_matrix(H.T @ H), rng.normal(size=6), [0.3, 0.0], 3)


@pytest.fixture
def file(problem, tmp_path):
    path = tmp_path / "problem.hdf5"
    write_fclib(path, problem)
    return path


def test_local_round_trip(problem, tmp_path):
    path = tmp_path / "a.hdf5"
    problem.info = {"title": "two blocks"}
    write_fclib(path, problem, solution=np.ones(6), guess={"r": np.arange(6.0)})
    back = read_fclib(path)
    assert back.dim == 3 and back.info["title"] == "two blocks"
    np.testing.assert_array_equal(back.W.toarray(), problem.W.toarray())
    np.testing.assert_array_equal(back.q, problem.q)
    np.testing.assert_array_equal(back.mu, problem.mu)
    np.testing.assert_array_equal(back.guesses[0]["r"], np.arange(6.0))
    np.testing.assert_allclose(back.solution["u"], problem.velocity(np.ones(6)))


@pytest.mark.parametrize("joints", [False, True])
def test_global_round_trip(tmp_path, joints):
    rng = np.random.default_rng(1)
    G, b = (rng.normal(size=(5, 1)), np.array([0.2])) if joints else (None, None)
    given = ContactProblem.from_global(np.diag(rng.uniform(1, 2, 5)), rng.normal(size=(5, 4)),
    rng.normal(size=5),
                                       rng.normal(size=4), 0.7, 2, G=G, b=b)  # fmt: skip
    write_fclib(tmp_path / "g.hdf5", given)
    back = read_fclib(tmp_path / "g.hdf5")
    assert back.global_form is not None
    np.testing.assert_allclose(back.q, given.q, rtol=1e-14)
    np.testing.assert_allclose(back.velocity(np.ones(4)), given.velocity(np.ones(4)), rtol=1e-13)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.hdf5")), ids=lambda p: p.stem)
def test_shipped_files_survive_a_round_trip(path, tmp_path):
    given = read_fclib(path)
    write_fclib(tmp_path / "copy.hdf5", given)
    back = read_fclib(tmp_path / "copy.hdf5")
    np.testing.assert_array_equal(back.q, given.q)
    assert len(back.guesses) == len(given.guesses)
    assert abs(sp.csc_matrix(back.W) - sp.csc_matrix(given.W)).max() == 0


def test_rows_columns_and_triplets_are_the_same_matrix(file, problem):
    W = problem.W.toarray()
    for kind, nz, A in (("csr", -2, sp.csr_matrix(W)), ("coo", W.size, sp.coo_matrix(W))):
        with h5py.File(file, "r+") as f:
            g = f["fclib_local/W"]
            for key in ("p", "i", "x", "nz"):
                del g[key]
            g["nz"] = np.array([nz], dtype=np.int32)
            g["x"] = A.data
            g["i"], g["p"] = (A.indices, A.indptr) if kind == "csr" else (A.row, A.col)
        np.testing.assert_array_equal(read_fclib(file).W.toarray(), W)


def test_existing_files_are_kept(file, problem):
    with pytest.raises(OutputExistsError):
        write_fclib(file, problem)
    write_fclib(file, problem, overwrite=True)
    assert not list(file.parent.glob("*.partial"))


def mixed(seed=0, redundant=False):
    """Contacts and joints of the same bodies: a mixed problem, and the same with the joints as bilateral blocks."""
    rng = np.random.default_rng(seed)
    contacts, joints = rng.normal(size=(12, 6)), rng.normal(size=(12, 6))
    if redundant:
        joints[:, 5] = joints[:, 0] + joints[:, 1]
    v = rng.normal(size=12)
    q, s = contacts.T @ v - np.array([2.0, 0, 0] * 2), joints.T @ v
    parts = contacts.T @ contacts, contacts.T @ joints, joints.T @ joints, q, s
    both = np.hstack([contacts, joints])
    whole = ContactProblem(
        both.T @ both, np.concatenate([q, s]), 0.4, 3, bilateral=[False, False, True, True]
    )
    return parts, whole


@pytest.mark.parametrize("redundant", [False, True])
def test_equality_rows_are_bilateral_blocks(tmp_path, redundant):
    parts, whole = mixed(1, redundant)
    reference = solve_contact(whole)
    assert reference.success and reference.r[:6].any()
    direct = ContactProblem.from_mixed(*parts, 0.4, 3)
    write_fclib(tmp_path / "mixed.hdf5", direct, solution=solve_contact(direct))
    write_fclib(tmp_path / "blocks.hdf5", whole, solution=reference)
    for name in ("mixed", "blocks"):
        problem = read_fclib(tmp_path / f"{name}.hdf5")
        np.testing.assert_allclose(problem.mixed_form.V.toarray(), parts[1], atol=1e-12)
        np.testing.assert_allclose(problem.mixed_form.s, parts[4])
        result = solve_contact(problem)
        assert result.success and problem.n_contacts == 2
        np.testing.assert_allclose(result.r, reference.r[:6], atol=1e-6)
        np.testing.assert_allclose(result.u, reference.u[:6], atol=1e-6)
        # the multipliers satisfy the equality rows, recomputed from the data
        W, V, R, q, s = parts
        stored = problem.solution
        np.testing.assert_allclose(V.T @ stored["r"] + R @ stored["l"] + s, 0.0, atol=1e-6)
        np.testing.assert_allclose(W @ stored["r"] + V @ stored["l"] + q, stored["u"], atol=1e-6)


def test_contradictory_equality_rows_are_refused(tmp_path):
    (W, V, R, q, s), _ = mixed(2, redundant=True)
    s = s + np.array([0, 0, 0, 0, 0, 1.0])
    with pytest.raises(ModelError):
        ContactProblem.from_mixed(W, V, R, q, s, 0.4, 3)
    with pytest.raises(ShapeError):
        ContactProblem.from_mixed(W, V[:, :2], R, q, s, 0.4, 3)


def test_bilateral_blocks_of_a_global_problem_become_joints(tmp_path):
    rng = np.random.default_rng(5)
    H, f = rng.normal(size=(9, 6)), rng.normal(size=9)
    w = np.array([-1.0, 0, 0, 0.2, 0, 0])
    problem = ContactProblem.from_global(
        np.diag(np.arange(1.0, 10)), H, f, w, 0.3, 3, bilateral=[False, True]
    )
    reference = solve_contact(problem)
    write_fclib(tmp_path / "joint.hdf5", problem, solution=reference)
    back = read_fclib(tmp_path / "joint.hdf5")
    np.testing.assert_array_equal(back.global_form.G.toarray(), H[:, 3:])
    np.testing.assert_allclose(solve_contact(back).r, reference.r[:3], atol=1e-7)
    stored = back.solution
    motion = np.arange(1.0, 10) * stored["v"] - H[:, :3] @ stored["r"] - H[:, 3:] @ stored["l"] - f
    np.testing.assert_allclose(motion, 0.0, atol=1e-6)


def test_unsymmetric_bilateral_blocks_cannot_be_written(tmp_path):
    W = np.identity(6)
    W[0, 4] = 0.1
    problem = ContactProblem(W, np.ones(6), 0.1, bilateral=[True, False])
    with pytest.raises(InputError):
        write_fclib(tmp_path / "x.hdf5", problem)
    assert not (tmp_path / "x.hdf5").exists()


def refuse(path, part="", **kwargs):
    with pytest.raises(ResultFormatError) as caught:
        read_fclib(path, **kwargs)
    assert path.name in str(caught.value) and part in str(caught.value)


def test_missing_empty_truncated_foreign(tmp_path, file):
    refuse(tmp_path / "nowhere.hdf5")
    (tmp_path / "empty.hdf5").write_bytes(b"")
    refuse(tmp_path / "empty.hdf5")
    (tmp_path / "text.hdf5").write_text("3\n4\n")
    refuse(tmp_path / "text.hdf5")
    whole = file.read_bytes()
    (tmp_path / "cut.hdf5").write_bytes(whole[: len(whole) // 2])
    refuse(tmp_path / "cut.hdf5")
    with h5py.File(tmp_path / "other.hdf5", "w") as f:
        f["t"] = 1.0
    refuse(tmp_path / "other.hdf5", "fclib_local")


@pytest.mark.parametrize(
    "name", ["spacedim", "vectors/q", "vectors/mu", "W/p", "W/i", "W/x", "W/nz", "W/m", "W", "vectors"]
)
def test_missing_parts(file, name):
    with h5py.File(file, "r+") as f:
        del f["fclib_local/" + name]
    refuse(file, name.split("/")[-1])


@pytest.mark.parametrize(
    "name, value",
    [
        ("W/i", np.full(36, 99, dtype=np.int32)),
        ("W/i", np.full(36, -1, dtype=np.int32)),
        ("W/p", np.array([0, 6, 12, 18, 24, 30, 99], dtype=np.int32)),
        ("W/p", np.array([0, 6, 3, 18, 24, 30, 36], dtype=np.int32)),
        ("W/p", np.array([5, 6], dtype=np.int32)),
        ("W/nz", np.array([-7], dtype=np.int32)),
        ("W/nz", np.array([1000], dtype=np.int32)),
        ("W/m", np.array([-6], dtype=np.int32)),
        ("W/m", np.array([2**31 - 1], dtype=np.int32)),
        ("W/x", np.full(36, np.nan)),
        ("vectors/q", np.full(6, np.inf)),
        ("vectors/q", np.zeros(5)),
        ("vectors/mu", np.full(2, -1.0)),
        ("spacedim", np.array([7], dtype=np.int32)),
        ("spacedim", np.array([3, 3], dtype=np.int32)),
        ("vectors/q", np.array([b"abc"])),
        ("vectors/q", np.zeros(6, dtype=complex)),
    ],
)
def test_wrong_numbers(file, name, value):
    with h5py.File(file, "r+") as f:
        del f["fclib_local/" + name]
        f["fclib_local/" + name] = value
    refuse(file)


def test_links_virtual_and_external_data_are_not_followed(file, tmp_path):
    q = np.arange(6.0)
    with h5py.File(tmp_path / "other.hdf5", "w") as f:
        f["q"] = q
    (tmp_path / "raw.bin").write_bytes(q.tobytes())

    def replace(make):
        with h5py.File(file, "r+") as f:
            v = f["fclib_local/vectors"]
            if "q" in v or v.get("q", getlink=True) is not None:
                del v["q"]
            make(v)

    replace(lambda v: v.__setitem__("q", h5py.ExternalLink(str(tmp_path / "other.hdf5"), "/q")))
    refuse(file, "ExternalLink")
    replace(lambda v: v.__setitem__("q", h5py.SoftLink("/fclib_local/vectors/mu")))
    refuse(file, "SoftLink")

    def virtual(v):
        layout = h5py.VirtualLayout(shape=(6,), dtype=float)
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.hdf5"), "q", shape=(6,))
        v.create_virtual_dataset("q", layout)

    replace(virtual)
    refuse(file, "other files")
    replace(lambda v: v.create_dataset("q", (6,), float, external=[(str(tmp_path / "raw.bin"), 0, 48)]))
    refuse(file, "other files")
    replace(lambda v: v.create_dataset("q", (1,), dtype=h5py.ref_dtype))
    refuse(file, "plain")
    replace(lambda v: v.create_dataset("q", (1,), dtype=h5py.string_dtype()))
    refuse(file, "plain")
    replace(lambda v: v.create_group("q"))
    refuse(file, "Group")


def test_cycles_are_not_followed(file):
    with h5py.File(file, "r+") as f:
        f["fclib_local/W/again"] = f["fclib_local"]
        f["guesses"] = f["fclib_local"]
    refuse(file, "number_of_guesses")


def test_a_bomb_is_refused_before_it_is_read(file):
    with h5py.File(file, "r+") as f:
        del f["fclib_local/W/x"]
        f["fclib_local/W"].create_dataset("x", (10**12,), dtype=float, chunks=(1024,), compression="gzip")
    assert file.stat().st_size < 200_000
    refuse(file, "limit")


def test_size_limit_is_the_callers(file):
    refuse(file, "limit", max_bytes=100)


def test_untrusted_files_are_read_in_a_child(file, tmp_path):
    assert read_fclib(file, untrusted=True).n_contacts == 2
    (tmp_path / "bad.hdf5").write_bytes(file.read_bytes()[:900])
    refuse(tmp_path / "bad.hdf5", untrusted=True)


def test_arrays_that_were_never_written_are_refused_at_once(tmp_path):
    """A file of some kilobytes that declares 3.2 GB."""
    path = tmp_path / "declared.hdf5"
    write_fclib(path, ContactProblem(np.eye(3), -np.ones(3), np.array([0.5]), 3))
    with h5py.File(path, "r+") as file:
        del file["fclib_local/W/x"]
        file["fclib_local/W"].create_dataset("x", shape=(400_000_000,), dtype="f8")
    assert path.stat().st_size < 100_000
    with pytest.raises(ResultFormatError, match="no numbers were ever written"):
        read_fclib(path)
    with h5py.File(path, "r+") as file:
        del file["fclib_local/W/x"]
        file["fclib_local/W"].create_dataset(
            "x", shape=(400_000_000,), dtype="f8", chunks=(1000,), compression="gzip"
        )
    with pytest.raises(ResultFormatError, match="no numbers were ever written"):
        read_fclib(path)


def kinds_of_hdf5():
    """Types of HDF5 that are no plain numbers, or numbers no file of this kind has."""
    of = h5py.h5t
    short = of.STD_I32LE.copy()
    short.set_precision(17)
    return {
        "reference": of.STD_REF_OBJ,
        "reference to a region": of.STD_REF_DSETREG,
        "time": of.UNIX_D32LE,
        "bits": of.STD_B8LE,
        "text of any length": of.py_create(h5py.string_dtype(), logical=True),
        "text": of.py_create(np.dtype("S5")),
        "lists": of.py_create(h5py.vlen_dtype(np.float64), logical=True),
        "records": of.py_create(np.dtype([("a", "f8"), ("b", "i4")])),
        "arrays": of.py_create(np.dtype(("f8", (3,)))),
        "opaque": of.create(of.OPAQUE, 7),
        "names": of.py_create(h5py.enum_dtype({"A": 1}, basetype="i4"), logical=True),
        "complex": of.py_create(np.dtype(complex)),
        "booleans": of.py_create(np.dtype(bool), logical=True),
        "17 bits": short,
        "unsigned": of.STD_U64LE,
    }


SPACES = {"one": (1,), "scalar": (), "empty": (0,), "two rows": (2, 3), "deep": (1,) * 20, "nothing": None}


@pytest.mark.parametrize("kind", kinds_of_hdf5())
def test_odd_types_and_shapes_are_typed_errors(tmp_path, kind):
    """Any of the arrays of a file, replaced: a problem is read, or `ResultFormatError` says why not."""
    path = tmp_path / "odd.hdf5"
    problem = ContactProblem(np.eye(3), -np.ones(3), np.array([0.5]), 3)
    write_fclib(path, problem, solution=np.zeros(3), guess=np.zeros(3))
    whole, names = path.read_bytes(), []
    with h5py.File(path) as file:
        file.visititems(lambda name, member: names.append(name) if isinstance(member, h5py.Dataset) else None)
    assert len(names) == 18
    refused = 0
    for name in names:
        for shape in SPACES.values():
            path.write_bytes(whole)
            with h5py.File(path, "r+") as file:
                group, _, last = name.rpartition("/")
                del file[name]
                space = (
                    h5py.h5s.create(h5py.h5s.NULL if shape is None else h5py.h5s.SCALAR)
                    if not shape
                    else h5py.h5s.create_simple(shape)
                )
                h5py.h5d.create(file[group].id, last.encode(), kinds_of_hdf5()[kind], space)
            try:
                read_fclib(path)
            except ResultFormatError as error:
                refused += 1
                assert path.name in str(error)
    assert refused > len(names)


def test_files_with_bytes_changed_are_read_or_refused(file):
    whole = file.read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(150):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=rng.integers(1, 6)):
            damaged[at] = rng.integers(256)
        file.write_bytes(damaged)
        child = os.fork()
        if child == 0:
            end = 4
            signal.alarm(60)
            try:
                read_fclib(file)
                end = 0
            except ResultFormatError:
                end = 3
            finally:
                os._exit(end)
        assert os.waitpid(child, 0)[1] in (0, 3 << 8), "the file of this round hurts its reader"


def test_words_of_a_problem_are_kept_and_controls_refused(tmp_path):
    path = tmp_path / "words.hdf5"
    problem = ContactProblem(np.eye(3), -np.ones(3), np.array([0.5]), 3)
    problem.info = {"title": "Räder: 1/2", "description": "two\nlines"}
    write_fclib(path, problem)
    assert read_fclib(path).info["title"] == "Räder: 1/2"
    assert read_fclib(path).info["description"] == "two\nlines"
    for bad in ("\x1b[31m", "nul\0", 3, b"bytes"):
        problem.info = {"title": bad}
        with pytest.raises(InputError, match="title"):
            write_fclib(path, problem, overwrite=True)
    assert read_fclib(path).info["title"] == "Räder: 1/2"
