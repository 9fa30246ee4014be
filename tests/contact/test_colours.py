"""Coloured sweeps on several threads: valid colours, the same bits for every number of threads, interrupts, busy machines."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.contact import colours
from nonsmooth.contact.colours import GROUPS, colour, coloured, coloured_order, plan
from nonsmooth.contact.nsgs import sweeps
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import residual
from nonsmooth.contact.solve import solve_contact
from nonsmooth.errors import InputError, RangeError

#: Without compilation a sweep takes a thousand times as long.
LARGE = 2000 if JIT_ENABLED else 60


def chain(n, dim, seed=0, shuffled=False):
    """`n` contacts along a chain of bodies, some of them frictionless or bilateral; well conditioned."""
    rng = np.random.default_rng(seed)
    left, right = 0.3 * rng.normal(size=(n, dim, dim)), np.eye(dim) + 0.2 * rng.normal(size=(n, dim, dim))
    data = np.stack([left, right], axis=1).reshape(2 * n, dim, dim)
    indices = (np.arange(n)[:, None] + np.arange(2)).ravel()
    H = sp.bsr_matrix((data, indices, np.arange(0, 2 * n + 1, 2)), shape=(dim * n, dim * (n + 1)))
    W = (H @ H.T).tocsr()
    q = rng.normal(size=n * dim)
    q[::dim] -= 1.0
    mu = rng.choice([0.0, 0.3, 0.8], n)
    bilateral = rng.random(n) < 0.1
    if shuffled:
        order = rng.permutation(n)
        rows = (dim * order[:, None] + np.arange(dim)).ravel()
        W, q = W[rows][:, rows], q[rows]
    return ContactProblem(W.tocsc(), q, mu, dim, bilateral)


@pytest.fixture(scope="module")
def large():
    return chain(LARGE, 3)


@pytest.fixture(autouse=True)
def helpers_wanted(monkeypatch):
    """Helpers are called also where other tests keep the cores busy."""
    monkeypatch.setattr(colours._Crowd, "room", lambda self: True)


def swept(problem, threads, count=20, groups=GROUPS, omega=1.0):
    r, alpha = np.zeros(problem.q.size), np.zeros(problem.n_contacts)
    return r, coloured_order(problem, r, alpha, count, -1.0, threads, groups, omega)


@pytest.mark.parametrize("groups", [GROUPS, (1,), (7,)])
def test_neighbours_have_different_colours(groups):
    rng = np.random.default_rng(3)
    for n, density in ((1, 1.0), (5, 0.0), (40, 0.05), (200, 0.01), (200, 0.2), (300, 0.003)):
        pattern = sp.random(n, n, density, format="csr", rng=rng) + sp.eye(n)  # not symmetric
        pattern = pattern.tocsr()
        pattern.sort_indices()
        found, group = colour(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64), groups)
        assert found.size == -(-n // group) and set(found) == set(range(found.max() + 1))
        rows, cols = pattern.nonzero()
        apart = rows // group != cols // group
        assert np.all(found[rows[apart] // group] != found[cols[apart] // group])


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_contact_belongs_to_one_item_and_colours_do_not_overlap(large, threads):
    form = coloured(large)
    items = plan(form, threads)
    entries = sorted(
        (int(items.first[t, k]), int(items.last[t, k]), int(items.opens[t, k]))
        for t in range(threads)
        for k in range(items.lengths[t])
    )
    assert entries[0][0] == -1 and entries[0][2] == len(entries) - 1  # the sum, after all others
    assert entries[1][0] == 0 and entries[-1][1] == large.n_contacts
    assert all(a[1] == b[0] for a, b in zip(entries[1:], entries[2:]))
    assert sorted(form.order) == list(range(large.n_contacts))
    # items that may run at the same time do not act on each other
    stage = np.zeros(large.n_contacts, dtype=int)
    number = np.zeros(large.n_contacts, dtype=int)
    for k, (first, last, opens) in enumerate(entries[1:]):
        stage[form.order[first:last]], number[form.order[first:last]] = opens, k
    b = large.blocks
    rows = np.repeat(np.arange(large.n_contacts), np.diff(b.indptr))
    apart = number[rows] != number[b.indices]
    assert np.all(stage[rows[apart]] != stage[b.indices[apart]])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_one_sweep_is_gauss_seidel_in_coloured_order(dim):
    problem = chain(60, dim, seed=dim)
    r, (count, change) = swept(problem, 1, count=3, groups=(8,))
    order = coloured(problem, (8,)).order
    rows = (dim * order[:, None] + np.arange(dim)).ravel()
    W = problem.W.tocsr()[rows][:, rows]
    reordered = ContactProblem(W, problem.q[rows], problem.mu[order], dim, problem.bilateral[order])
    expected = np.zeros(problem.q.size)
    done, last = sweeps(reordered, expected, np.zeros(60), 3, -1.0)
    assert count == done == 3 and change == pytest.approx(last, rel=1e-9)
    np.testing.assert_allclose(r[rows], expected, rtol=1e-9, atol=1e-12)


def test_over_relaxation_goes_further_and_stays_in_the_cones():
    """The first contact of a sweep makes `omega` times its change; sweeps still end at the solution."""
    problem = chain(60, 3, seed=3)
    first = coloured(problem, (8,)).order[0]
    start = 1e-3 * np.ones(problem.q.size)
    start.reshape(-1, 3)[:, 1:] = 0.0
    moved = {}
    for omega in (1.0, 1.5):
        r = start.copy()
        coloured_order(problem, r, np.zeros(60), 1, -1.0, 1, (8,), omega)
        assert residual(problem, r).cone <= 1e-15
        moved[omega] = r.reshape(-1, 3)[first] - start.reshape(-1, 3)[first]
    assert np.linalg.norm(moved[1.0]) > 0.01
    np.testing.assert_allclose(moved[1.5], 1.5 * moved[1.0], rtol=1e-12)
    r = start.copy()
    coloured_order(problem, r, np.zeros(60), 400, -1.0, 1, (8,), 1.5)
    assert max(residual(problem, r)[:2]) <= 1e-10


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("shuffled", [False, True])
def test_the_same_bits_for_every_number_of_threads(dim, shuffled):
    problem = chain(LARGE, dim, seed=dim, shuffled=shuffled)
    for groups in (GROUPS, (1,)):
        one, verdict = swept(problem, 1, groups=groups)
        assert verdict[0] == 20
        if JIT_ENABLED:
            assert np.count_nonzero(plan(coloured(problem, groups), 3).lengths) == 3  # there is work to share
        for threads in (2, 3) * 3:
            other, same = swept(problem, threads, groups=groups)
            assert np.array_equal(one, other) and same == verdict


def test_sweeps_stop_early_and_alike():
    problem = chain(LARGE, 3, seed=5)
    for threads in (1, *(2, 3) * 20):
        r, alpha = np.zeros(problem.q.size), np.zeros(problem.n_contacts)
        count, change = coloured_order(problem, r, alpha, 1000, 1e-3, threads)
        assert 1 < count < 1000 and change <= 1e-3
        if threads == 1:
            first = count, change, r
        else:
            assert (count, change) == first[:2] and np.array_equal(r, first[2])
    assert coloured_order(problem, r, alpha, 0, 1e-3, 2) == (0, np.inf)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_agreement_with_nsgs(dim):
    for seed in range(3):
        problem = chain(25, dim, seed)
        one, other = (
            solve_contact(problem, "nsgs-coloured", tol=1e-9),
            solve_contact(problem, "nsgs", tol=1e-10),
        )
        assert one.success and other.success, (one, other)
        assert residual(problem, one.r).scaled <= 1e-9
        np.testing.assert_allclose(one.r, other.r, atol=1e-7 * np.abs(other.r).max())


def test_more_threads_than_cores(large):
    results = [solve_contact(large, "nsgs-coloured", tol=1e-8, threads=threads) for threads in (1, 8)]
    assert all(result.success for result in results)
    assert np.array_equal(results[0].r, results[1].r) and results[0].iterations == results[1].iterations


def test_where_no_thread_can_be_started_the_caller_does_it_all(large, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    expected, _ = swept(large, 1)
    monkeypatch.setattr(colours._Worker, "__init__", refuse)
    monkeypatch.setattr(colours, "_idle", [])
    found, _ = swept(large, 4)
    assert np.array_equal(found, expected)


def test_helpers_that_never_come_are_not_waited_for(large, monkeypatch):
    class Absent:
        class calls:
            @staticmethod
            def put(call):
                pass

    expected, _ = swept(large, 1)
    monkeypatch.setattr(colours, "_idle", [Absent(), Absent()])
    found, _ = swept(large, 3)
    assert np.array_equal(found, expected)


def test_calls_from_several_threads_at_once():
    problems = [chain(LARGE // 2, 3, seed) for seed in range(3)]
    expected = [swept(problem, 1, 100)[0] for problem in problems]
    found = [[], [], []]

    def work(k):
        for _ in range(5):
            found[k].append(swept(problems[k], 2, 100)[0])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    assert all(len(f) == 5 and all(np.array_equal(r, e) for r in f) for f, e in zip(found, expected))
    workers = [t for t in threading.enumerate() if t.name == "nonsmooth-worker"]
    assert len(workers) <= 2 * colours.THREADS + 3


def test_idle_workers_keep_no_data():
    problem = chain(LARGE, 3, seed=9)
    r, alpha = np.zeros(problem.q.size), np.zeros(problem.n_contacts)
    kept = weakref.ref(r)
    coloured_order(problem, r, alpha, 5, -1.0, 2)
    del r
    end = time.monotonic() + 10.0
    while kept() is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert kept() is None


if hasattr(signal, "setitimer"):

    def test_interrupts_come_through_and_leave_everything_usable(large):
        # no tolerance to reach: sweeps would go on for minutes
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        expected, _ = swept(large, 1)
        try:
            for delay in (0.05, 0.11, 0.2):
                signal.setitimer(signal.ITIMER_REAL, delay)
                with pytest.raises(KeyboardInterrupt):
                    while True:
                        swept(large, 2, 50)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, previous)
        assert np.array_equal(swept(large, 2)[0], expected)


if hasattr(os, "fork"):

    def test_child_processes_start_their_own_workers():
        script = """
            import os, sys
            import numpy as np
            sys.path.insert(0, sys.argv[1])
            from test_colours import chain, swept
            problem = chain(400, 3)
            expected, _ = swept(problem, 2)
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(swept(problem, 2)[0], expected) else 1)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", textwrap.dedent(script), os.path.dirname(__file__)],
            check=True,
            timeout=120,
        )


def test_busy_machines_are_given_a_rest():
    crowd = colours._Crowd()
    room = type(crowd).__dict__["room"]
    assert room(crowd)
    crowd.met(True)
    crowd.met(True)
    pauses = crowd.rest
    crowd.met(False)
    assert pauses == 4 and crowd.rest == 0
    for _ in range(20):
        crowd.met(True)
    assert crowd.rest == colours.LONGEST_PAUSE


@pytest.mark.parametrize("threads", [0, -1, 2.5, True, "two", 10_000])
def test_bad_numbers_of_threads(threads):
    problem = chain(3, 3)
    with pytest.raises(RangeError, match="threads"):
        solve_contact(problem, "nsgs-coloured", threads=threads)
    with pytest.raises(InputError, match="option"):
        solve_contact(problem, "nsgs-coloured", colour=2)


def test_small_and_odd_problems():
    assert solve_contact(ContactProblem(np.eye(3), [-1.0, 0.2, 0.0], 0.5), "nsgs-coloured", threads=3).success
    nothing = ContactProblem(np.zeros((0, 0)), [], 0.5)
    assert solve_contact(nothing, "nsgs-coloured").success
    dense = np.random.default_rng(0).normal(size=(60, 60))
    full = ContactProblem(dense @ dense.T + np.eye(60), np.full(60, -1.0), 0.3)
    assert solve_contact(full, "nsgs-coloured", threads=2, tol=1e-7).success
