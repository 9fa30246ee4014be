"""First tangent of a chain written as a plain function: CPU seconds in a new process, after the functions of the model were compiled.

python benchmarks/tangents.py [n]        n unknowns; by default 201 and 1001, each in a process of its own
"""

import subprocess
import sys
import time

import numpy as np

import nonsmooth as ns


def force(t, q, u, p):
    """Springs that harden and dampers between neighbours."""
    h = np.zeros(q.size, dtype=(q + u).dtype)
    for i in range(q.size - 1):
        d, v = q[i + 1] - q[i], u[i + 1] - u[i]
        f = p.k * d + d**3 + 0.1 * v
        h[i] += f
        h[i + 1] -= f
    return h


def mass(t, q, p):
    """One kilogram each."""
    return np.eye(q.size)


def first(n):
    """Seconds to compile the model of a chain of `n` unknowns, to its first tangent, and to the second one."""
    system = ns.MechanicalSystem(mass, force, params={"k": 100.0})
    q, u = np.linspace(0.1, 0.9, n) ** 2, np.zeros(n)
    ticks = [time.process_time()]
    model = system.bind(0.0, q, u)
    assert model.core.mass is not None  # its functions are compiled as for any run
    ticks.append(time.process_time())
    for shift in (0.0, 1e-3):
        K = model.tangent(0.0, q + shift, u, np.zeros(n), np.zeros(0), cM=1.0, cD=1.0, cK=1.0)
        ticks.append(time.process_time())
    assert K.nnz <= 3 * n
    return np.diff(ticks)


def main():
    if len(sys.argv) > 1:
        n = int(sys.argv[1])
        bound, tangent, again = first(n)
        print(
            f"{n} unknowns: model compiled in {bound:.2f} s, first tangent {tangent:.2f} s, next {again * 1e3:.2f} ms"
        )
        return
    for n, wanted in ((201, 1.0), (1001, 5.0)):
        subprocess.run([sys.executable, __file__, str(n)], check=True)
        print(f"  (wanted: first tangent in {wanted:g} s)")


if __name__ == "__main__":
    main()
