"""FCLIB files: contact problems, guesses and solutions in HDF5 (Acary, Brémond, Koziara, Pérignon 2014).

Layout read and written here::

    fclib_local/   W, [V, R], vectors/{q, mu, [s]}, spacedim, info
                       u = W r + q [+ V l,  V^T r + R l + s = 0]
    fclib_global/  M, H, [G], vectors/{f, w, mu, [b]}, spacedim, info
                       M v = H r + f [+ G l],  u = H^T v + w [,  G^T v + b = 0]
    guesses/       number_of_guesses, 1/{r, u, [v], [l]}, ...
    solution/      {r, u, [v], [l]}

A matrix is a group with ``m, n, nz, nzmax, p, i, x``: ``nz = -1`` compressed columns, ``nz = -2`` compressed
rows, ``nz >= 0`` triplets (`i` rows, `p` columns).

Files may come from anywhere, so nothing in them is trusted: only hard links are followed, only plain numbers
and fixed strings of the expected names are read, sizes are added up before anything is allocated, indices
are checked against the shape.
"""

from __future__ import annotations

import os
import subprocess  # the child of `untrusted=True`, started with fixed arguments
import sys
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse as sp

from nonsmooth.contact.equalities import split
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.errors import InputError, NonsmoothError, OutputExistsError, ResultFormatError
from nonsmooth.names import check_shown

MAX_BYTES = 4 << 30
MAX_GUESSES = 10_000
LARGE = 1 << 24  # bytes from which an array must be stored in the file in earnest
MOST_PACKED = 1200  # what gzip makes of zeros
_FILTERS = {"1", "2", "3", "gzip", "shuffle", "fletcher32"}
_VECTORS = ("r", "u", "v", "l")


class _Reader:
    """Reads named datasets of one open file, refusing everything that is not plain data."""

    def __init__(self, path, file, max_bytes):
        self.path = path
        self.file = file
        self.left = max_bytes
        self.max_bytes = max_bytes

    def fail(self, text):
        raise ResultFormatError(f"{self.path}: {text}")

    def child(self, group, name, kind, required=True):
        """Member `name` of `group` if it is a hard link to an object of the wanted `kind`."""
        link = group.get(name, getlink=True)
        if link is None:
            if required:
                self.fail(f"{group.name.rstrip('/')}/{name} is missing; this is no complete FCLIB problem.")
            return None
        if not isinstance(link, h5py.HardLink):
            self.fail(
                f"{group.name.rstrip('/')}/{name} is a {type(link).__name__}; links out of place are not "
                f"followed."
            )
        found = group[name]
        if not isinstance(found, kind):
            self.fail(f"{group.name.rstrip('/')}/{name} is a {type(found).__name__}, not a {kind.__name__}.")
        return found

    def array(self, group, name, kinds, required=True):
        """Dataset `name` as a flat array of float64 ('f') or int64 ('i')."""
        data = self.child(group, name, h5py.Dataset, required)
        if data is None:
            return None
        dtype = data.dtype
        plain = dtype.kind in kinds and dtype.itemsize <= 8 and dtype.subdtype is None and dtype.names is None
        if not plain or h5py.check_dtype(ref=dtype) or h5py.check_dtype(vlen=dtype):
            self.fail(f"{data.name} holds {dtype}; only plain {' or '.join(kinds)} numbers are read.")
        if data.is_virtual or data.external:
            self.fail(f"{data.name} takes its values from other files; that is refused.")
        plist = data.id.get_create_plist()
        for k in range(plist.get_nfilters()):
            if str(plist.get_filter(k)[0]) not in _FILTERS:
                self.fail(
                    f"{data.name} uses HDF5 filter {plist.get_filter(k)[0]}; only gzip, shuffle and checksum "
                    f"are read."
                )
        if data.shape is None:
            self.fail(f"{data.name} has no data space.")
        size = int(np.prod([int(k) for k in data.shape], dtype=object)) * 8 if data.shape else 8
        if size > self.left:
            self.fail(
                f"{data.name} has shape {data.shape}, {size} bytes; more than the limit of {self.max_bytes} "
                f"bytes. Raise `max_bytes` if the file is meant to be that large."
            )
        stored = data.id.get_storage_size()
        if size > LARGE and size > MOST_PACKED * stored:
            self.fail(
                f"{data.name} has shape {data.shape}, {size} bytes, and the file holds {stored} bytes of it: no numbers were ever "
                "written there; it is refused."
            )
        self.left -= size
        try:
            values = np.asarray(data[()])
        except (OSError, RuntimeError) as error:
            self.fail(f"{data.name} cannot be read ({error}).")
        return np.atleast_1d(values).ravel().astype(np.float64 if "f" in kinds else np.int64)

    def number(self, group, name):
        values = self.array(group, name, "iu")
        if values.size != 1:
            self.fail(f"{group.name}/{name} has {values.size} entries; one is wanted.")
        return int(values[0])

    def text(self, group, name):
        """A fixed-length string, or '' if there is none."""
        data = self.child(group, name, h5py.Dataset, required=False)
        if (
            data is None
            or data.dtype.kind != "S"
            or data.shape not in ((), (1,))
            or data.dtype.itemsize > 1 << 20
        ):
            return ""
        if data.is_virtual or data.external:
            self.fail(f"{data.name} takes its values from other files; that is refused.")
        return np.atleast_1d(data[()])[0].split(b"\0")[0].decode("utf-8", "replace")

    def matrix(self, group, name, required=True):
        g = self.child(group, name, h5py.Group, required)
        if g is None:
            return None
        m, n, nz = self.number(g, "m"), self.number(g, "n"), self.number(g, "nz")
        if m < 0 or n < 0 or m > 1 << 31 or n > 1 << 31:
            self.fail(f"{g.name} is {m} x {n}; sizes out of range.")
        p, i = self.array(g, "p", "iu"), self.array(g, "i", "iu")
        x = self.array(g, "x", "f")
        if nz >= 0:
            if min(i.size, p.size, x.size) < nz:
                self.fail(f"{g.name} announces {nz} triplets and holds {min(i.size, p.size, x.size)}.")
            rows, columns = i[:nz], p[:nz]
            if nz and (rows.min() < 0 or rows.max() >= m or columns.min() < 0 or columns.max() >= n):
                self.fail(f"{g.name} has a triplet outside {m} x {n}.")
            return sp.coo_matrix((x[:nz], (rows, columns)), shape=(m, n)).tocsc()
        if nz not in (-1, -2):
            self.fail(f"{g.name}/nz = {nz}; -1 (columns), -2 (rows) or a number of triplets is wanted.")
        major, minor = (n, m) if nz == -1 else (m, n)
        if p.size != major + 1 or p[0] != 0 or np.any(np.diff(p) < 0):
            self.fail(
                f"{g.name}/p has {p.size} entries or is not ascending from 0; {major + 1} pointers are "
                f"wanted."
            )
        count = int(p[-1])
        if count > min(i.size, x.size):
            self.fail(f"{g.name}/p ends at {count} and there are {min(i.size, x.size)} entries.")
        if count and (i[:count].min() < 0 or i[:count].max() >= minor):
            self.fail(f"{g.name}/i points outside {m} x {n}.")
        kind = sp.csc_matrix if nz == -1 else sp.csr_matrix
        A = kind((x[:count], i[:count], p), shape=(m, n))
        A.sum_duplicates()
        return A

    def vectors(self, group):
        return {k: v for k in _VECTORS if (v := self.array(group, k, "f", required=False)) is not None}


def read_fclib(path, *, max_bytes=MAX_BYTES, untrusted=False) -> ContactProblem:
    """Read a contact problem from an FCLIB file.

    Parameters
    ----------
    path : path-like
    max_bytes : int
        Refuse files whose arrays add up to more than this.
    untrusted : bool
        Parse the file in a child process, so that even a fault inside the HDF5 library cannot hurt this one.

    Returns
    -------
    ContactProblem
        Its `solution` is a dict of arrays (`r`, `u`, for global problems `v`) or None, `guesses` a list of
        such dicts, `info` the strings of the file.

    Raises
    ------
    ResultFormatError
        The file is no FCLIB problem, is damaged, too large, or holds something that is not plain data.
    """
    path = Path(path)
    if untrusted:
        _check_in_child(path, max_bytes)
    if not path.is_file():
        raise ResultFormatError(f"{path}: there is no such file.")
    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError) as error:
        raise ResultFormatError(
            f"{path}: no readable HDF5 file ({error}); it is empty, truncated or of another kind."
        ) from None
    with file:
        reader = _Reader(path, file, max_bytes)
        try:
            return _read(reader)
        except NonsmoothError as error:
            if isinstance(error, InputError):
                raise ResultFormatError(f"{path}: the numbers make no contact problem: {error}") from error
            raise
        except Exception as error:  # whatever the HDF5 library makes of damaged types
            raise ResultFormatError(
                f"{path}: damaged FCLIB file ({type(error).__name__}: {error})."
            ) from None


def _read(reader) -> ContactProblem:
    file = reader.file
    local = reader.child(file, "fclib_local", h5py.Group, required=False)
    root = local or reader.child(file, "fclib_global", h5py.Group, required=False)
    if root is None:
        reader.fail("neither fclib_local nor fclib_global found; this is no FCLIB file.")
    dim = reader.number(root, "spacedim")
    vectors = reader.child(root, "vectors", h5py.Group)
    mu = reader.array(vectors, "mu", "f")
    if local is not None:
        W, q = reader.matrix(root, "W"), reader.array(vectors, "q", "f")
        V = reader.matrix(root, "V", required=False)
        if V is None:
            problem = ContactProblem(W, q, mu, dim)
        else:
            R, s = reader.matrix(root, "R"), reader.array(vectors, "s", "f")
            problem = ContactProblem.from_mixed(W, V, R, q, s, mu, dim)
    else:
        G = reader.matrix(root, "G", required=False)
        problem = ContactProblem.from_global(
            reader.matrix(root, "M"), reader.matrix(root, "H"), reader.array(vectors, "f", "f"),
            reader.array(vectors, "w", "f"), mu, dim, G=G,
            b=reader.array(vectors, "b", "f", required=False) if G is not None else None,
        )  # fmt: skip
    info = reader.child(root, "info", h5py.Group, required=False)
    if info is not None:
        problem.info = {k: reader.text(info, k) for k in ("title", "description", "math_info")}
    solution = reader.child(file, "solution", h5py.Group, required=False)
    if solution is not None:
        problem.solution = reader.vectors(solution)
    guesses = reader.child(file, "guesses", h5py.Group, required=False)
    if guesses is not None:
        count = reader.number(guesses, "number_of_guesses")
        if not 0 <= count <= MAX_GUESSES:
            reader.fail(f"guesses/number_of_guesses = {count}; 0 to {MAX_GUESSES} are read.")
        for k in range(1, count + 1):
            problem.guesses.append(reader.vectors(reader.child(guesses, str(k), h5py.Group)))
    for what in [problem.solution or {}, *problem.guesses]:
        if "r" in what and what["r"].size != problem.q.size:
            reader.fail(
                f"a guess or solution has {what['r'].size} impulses, the problem {problem.q.size} rows."
            )
    return problem


def _check_in_child(path, max_bytes):
    """Read the file once in a child process; a crash or an error there stops here."""
    code = (
        "import sys; from nonsmooth.contact.fclib import read_fclib\n"
        "from nonsmooth.errors import ResultFormatError\n"
        "try: read_fclib(sys.argv[1], max_bytes=int(sys.argv[2]))\n"
        "except ResultFormatError as error: sys.stderr.write(str(error)); sys.exit(3)\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, os.fspath(path), str(int(max_bytes))],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode == 3:
        raise ResultFormatError(done.stderr)
    if done.returncode != 0:
        raise ResultFormatError(
            f"{path}: reading it ended a child process with code {done.returncode}; the file is refused."
        )


def write_fclib(path, problem, solution=None, guess=None, overwrite=False):
    """Write a contact problem, and optionally a solution and a guess, as an FCLIB file.

    Parameters
    ----------
    path : path-like
    problem : ContactProblem
        Written in the form it was given in (local or global, with its equality rows). Files hold no mark for
        bilateral blocks: they are written as equality rows (``V, R, s`` or ``G, b``), whose multipliers take the
        place of their impulses.
    solution, guess : ContactResult, dict of arrays (`r`, `u`, `v`) or array of impulses, optional
    overwrite : bool
        Replace an existing file; the old one stays intact until the new one is complete.
    """
    path = Path(path)
    arrays = _arrays(problem)
    if path.exists() and not overwrite:
        raise OutputExistsError(f"{path} exists; choose another name or pass overwrite=True.")
    partial = path.with_name(path.name + ".partial")
    try:
        with h5py.File(partial, "w") as file:
            _write(file, problem, arrays, solution, guess)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _arrays(problem):
    """``(name of the root, matrices, vectors)`` as written, bilateral blocks turned into equality rows."""
    g, m, held = problem.global_form, problem.mixed_form, np.repeat(problem.bilateral, problem.dim)
    vectors = {"mu": problem.mu[~problem.bilateral]}
    if g is not None:
        H, matrices = sp.csc_matrix(g.H), {"M": g.M}
        matrices["H"] = H[:, ~held]
        vectors |= {"f": g.f, "w": g.w[~held]}
        if g.G is not None or held.any():
            G = sp.csc_matrix(g.G if g.G is not None else (H.shape[0], 0))
            matrices["G"] = sp.hstack([G, H[:, held]], format="csc")
            vectors["b"] = np.concatenate([g.b if g.G is not None else np.zeros(0), g.w[held]])
        return "fclib_global", matrices, vectors
    if not held.any():
        if m is None:
            return "fclib_local", {"W": problem.W}, vectors | {"q": problem.q}
        return "fclib_local", {"W": m.W, "V": m.V, "R": m.R}, vectors | {"q": m.q, "s": m.s}
    # bilateral blocks next to equality rows: the reduced problem is the one that is written
    parts = split(problem.W, problem.q, problem.dim, problem.bilateral)
    if parts is None:
        raise InputError(
            "write_fclib: FCLIB holds bilateral blocks as symmetric equality rows (V and its transpose), and W is "
            "unsymmetric between these blocks and the contacts; give the global form."
        )
    W, V, R, q, s = parts
    return "fclib_local", {"W": W, "V": V, "R": R}, vectors | {"q": q, "s": s}


def _write(file, problem, arrays, solution, guess):
    name, matrices, numbers = arrays
    root = file.create_group(name)
    root.create_dataset("spacedim", data=np.array([problem.dim], dtype=np.int32))
    for key, matrix in matrices.items():
        _write_matrix(root, key, matrix)
    vectors = root.create_group("vectors")
    for key, vector in numbers.items():
        vectors.create_dataset(key, data=vector)
    info = root.create_group("info")
    for key in ("title", "description", "math_info"):
        text = problem.info.get(key)
        for line in text.splitlines() if isinstance(text, str) else [text]:
            check_shown(
                line.replace("\t", " ") if isinstance(line, str) else line, f"`info[{key!r}]` of the problem"
            )
        info.create_dataset(key, data=np.bytes_((text or "-").encode("utf-8", "replace")))
    if solution is not None:
        _write_vectors(file.create_group("solution"), problem, solution)
    guesses = list(problem.guesses) if guess is None else [guess]
    if guesses:
        group = file.create_group("guesses")
        group.create_dataset("number_of_guesses", data=np.array([len(guesses)], dtype=np.int32))
        for k, one in enumerate(guesses, start=1):
            _write_vectors(group.create_group(str(k)), problem, one)


def _write_vectors(group, problem, what):
    if isinstance(what, dict):
        values = {k: np.asarray(v, dtype=float) for k, v in what.items() if k in _VECTORS}
    elif hasattr(what, "r"):
        values = {"r": np.asarray(what.r), "u": np.asarray(what.u)}
    else:
        r = problem.check_impulse(what, "solution or guess")
        values = {"r": r, "u": problem.velocity(r)}
    if "r" in values and values["r"].size == problem.q.size:
        values |= {k: v for k, v in problem.multipliers(values["r"]).items() if k not in values}
        held = np.repeat(problem.bilateral, problem.dim)
        if held.any():
            # impulses of bilateral blocks are multipliers of equality rows
            joints = values.pop("l", np.zeros(0)) if problem.global_form is not None else np.zeros(0)
            values["l"] = np.concatenate([joints, values["r"][held]])
            values["r"] = values["r"][~held]
            if "u" in values:
                values["u"] = values["u"][~held]
    for key, value in values.items():
        group.create_dataset(key, data=value)


def _write_matrix(root, name, A):
    A = sp.csc_matrix(A)
    A.sort_indices()
    group = root.create_group(name)
    for key, value in (("m", A.shape[0]), ("n", A.shape[1]), ("nz", -1), ("nzmax", A.nnz)):
        group.create_dataset(key, data=np.array([value], dtype=np.int32))
    group.create_dataset("p", data=A.indptr.astype(np.int32))
    group.create_dataset("i", data=A.indices.astype(np.int32))
    group.create_dataset("x", data=A.data)
