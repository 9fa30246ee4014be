"""The NSGS kernel against the same loop in C (`python benchmarks/contact_c_kernel.py [FILE]`).

The C reference is a line-by-line copy of `_core.nsgs.sweep3` and the functions of `_core.contact.cone` it calls, compiled with gcc -O3
-march=native when gcc is present. Both run the same sweeps on the same problem; the impulses are compared,
and nanoseconds per contact-iteration printed.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from nonsmooth._core.contact.nsgs import sweep3
from nonsmooth.contact.fclib import read_fclib

SOURCE = r"""
#include <math.h>
#include <stdint.h>
static int local3(const double *a, double b0, double b1, double b2, double mu, double *alpha_io, double *out)
{
  double alpha = *alpha_io;
  if (b0 >= 0.0) { out[0] = out[1] = out[2] = 0.0; return 0; }
  double a00 = a[0];
  if (!(a00 > 0.0)) return 1;
  double inv = 1.0 / a00;
  if (mu == 0.0) { out[0] = -b0 * inv; out[1] = out[2] = 0.0; return 0; }
  double g1 = a[1] * inv, g2 = a[2] * inv;
  double s11 = a[4] - a[3] * g1, s12 = a[5] - a[3] * g2, s21 = a[7] - a[6] * g1, s22 = a[8] - a[6] * g2;
  double r_free = -b0 * inv, c1 = b1 + a[3] * r_free, c2 = b2 + a[6] * r_free;
  double size = fabs(s11) + fabs(s22), tiny = 1e-14 * (a[4] + a[8]);
  if (s11 < -tiny || s22 < -tiny) return 1;
  double det = s11 * s22 - s12 * s21, floor_ = 0.0;
  if (det > 1e-15 * size * size) {
    double inv_det = 1.0 / det, t1 = (s12 * c2 - s22 * c1) * inv_det, t2 = (s21 * c1 - s11 * c2) * inv_det;
    double r0 = r_free - g1 * t1 - g2 * t2, limit = mu * r0;
    if (r0 >= 0.0 && t1 * t1 + t2 * t2 <= limit * limit) {
      out[0] = r0; out[1] = t1; out[2] = t2; *alpha_io = 0.0; return 0;
    }
  } else floor_ = 1e-10 * (size + a00);
  double low = floor_, high = INFINITY;
  if (!(alpha > low)) alpha = fmax(low, 0.5 * size);
  double r0 = 0, t1 = 0, t2 = 0, length = 0;
  for (int k = 0; k < 60; ++k) {
    double d11 = s11 + alpha, d22 = s22 + alpha;
    det = d11 * d22 - s12 * s21;
    if (!(det > 0.0)) { *alpha_io = 0.0; return 1; }
    double inv_det = 1.0 / det;
    t1 = (s12 * c2 - d22 * c1) * inv_det; t2 = (s21 * c1 - d11 * c2) * inv_det;
    length = sqrt(t1 * t1 + t2 * t2);
    r0 = r_free - g1 * t1 - g2 * t2;
    if (length == 0.0) { out[0] = r_free; out[1] = out[2] = 0.0; *alpha_io = alpha; return 0; }
    double gap = mu * r0 - length;
    if (fabs(gap) <= 4e-16 * length) break;
    if (gap < 0.0) low = alpha; else high = alpha;
    double p1 = (s12 * t2 - d22 * t1) * inv_det, p2 = (s21 * t1 - d11 * t2) * inv_det;
    double slope = mu * (-(g1 * p1 + g2 * p2) - r0 * (t1 * p1 + t2 * p2) / (length * length));
    double step = slope > 0.0 ? -gap / slope : INFINITY, new_ = alpha + step;
    if (!(low < new_ && new_ < high)) new_ = high < INFINITY ? 0.5 * (low + high) : 4.0 * alpha + size;
    if (fabs(new_ - alpha) <= 4e-16 * alpha) { alpha = new_; break; }
    alpha = new_;
  }
  if (!(r0 > 0.0)) { *alpha_io = 0.0; return 1; }
  double shrink = mu * r0 / length;
  if (shrink < 1.0) { t1 *= shrink; t2 *= shrink; }
  out[0] = r0; out[1] = t1; out[2] = t2; *alpha_io = alpha;
  return 0;
}
static void project(double *x, double mu)
{
  double length = sqrt(x[1] * x[1] + x[2] * x[2]);
  if (x[0] >= 0.0 && length <= mu * x[0]) return;
  double height = (x[0] + mu * length) / (1.0 + mu * mu);
  if (height <= 0.0) { x[0] = x[1] = x[2] = 0.0; return; }
  double shrink = mu * height / length;
  x[0] = height; x[1] *= shrink; x[2] *= shrink;
}
static void hold(const double *a, double b0, double b1, double b2, double *out)
{
  double c00 = a[4] * a[8] - a[5] * a[7], c01 = a[5] * a[6] - a[3] * a[8], c02 = a[3] * a[7] - a[4] * a[6];
  double det = a[0] * c00 + a[1] * c01 + a[2] * c02;
  out[0] = out[1] = out[2] = 0.0;
  if (det == 0.0) return;
  double c10 = a[2] * a[7] - a[1] * a[8], c11 = a[0] * a[8] - a[2] * a[6], c12 = a[1] * a[6] - a[0] * a[7];
  double c20 = a[1] * a[5] - a[2] * a[4], c21 = a[2] * a[3] - a[0] * a[5], c22 = a[0] * a[4] - a[1] * a[3];
  double inv = -1.0 / det;
  out[0] = inv * (c00 * b0 + c10 * b1 + c20 * b2);
  out[1] = inv * (c01 * b0 + c11 * b1 + c21 * b2);
  out[2] = inv * (c02 * b0 + c12 * b1 + c22 * b2);
}
int64_t sweep(int64_t n, const int64_t *indptr, const int64_t *indices, const double *data,
              const int64_t *diagonal, const double *q, const double *mu, const uint8_t *bilateral,
              const double *rho, const double *weight, double *r, double *alpha, int64_t sweeps, double stop) {
  for (int64_t s = 0; s < sweeps; ++s) {
    double total = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      double b0 = q[3 * i], b1 = q[3 * i + 1], b2 = q[3 * i + 2];
      int64_t home = diagonal[i];
      for (int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
        if (k == home) continue;
        const double *w = data + 9 * k, *x = r + 3 * indices[k];
        b0 += w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
        b1 += w[3] * x[0] + w[4] * x[1] + w[5] * x[2];
        b2 += w[6] * x[0] + w[7] * x[1] + w[8] * x[2];
      }
      const double *a = data + 9 * home;
      double r0 = r[3 * i], r1 = r[3 * i + 1], r2 = r[3 * i + 2], new_[3];
      if (bilateral[i]) hold(a, b0, b1, b2, new_);
      else if (local3(a, b0, b1, b2, mu[i], alpha + i, new_)) {
        double u0 = b0 + a[0] * r0 + a[1] * r1 + a[2] * r2, u1 = b1 + a[3] * r0 + a[4] * r1 + a[5] * r2;
        double u2 = b2 + a[6] * r0 + a[7] * r1 + a[8] * r2;
        u0 += mu[i] * sqrt(u1 * u1 + u2 * u2);
        new_[0] = r0 - rho[i] * u0; new_[1] = r1 - rho[i] * u1; new_[2] = r2 - rho[i] * u2;
        project(new_, mu[i]);
      }
      double d0 = new_[0] - r0, d1 = new_[1] - r1, d2 = new_[2] - r2;
      total += (d0 * d0 + d1 * d1 + d2 * d2) * weight[i];
      r[3 * i] = new_[0]; r[3 * i + 1] = new_[1]; r[3 * i + 2] = new_[2];
    }
    if (sqrt(total) <= stop) return s + 1;
  }
  return sweeps;
}
"""


def main(path, repeats=200):
    gcc = shutil.which("gcc")
    if gcc is None:
        print("gcc not found: no C reference")
    problem = read_fclib(path)
    if problem.dim != 3:
        print(f"{Path(path).stem}: {problem.dim}-D, left out")
        return
    b, n = problem.blocks, problem.n_contacts
    sweeps = max(20, 20_000 // n)  # the call itself is not what is measured

    def compiled():
        r, alpha = np.zeros(3 * n), np.zeros(n)
        laws = problem.mu, problem.bilateral, problem.rho, problem.weight
        start = time.perf_counter()
        sweep3(*b, problem.q, *laws, r, alpha, sweeps, -1.0)
        return time.perf_counter() - start, r

    compiled()
    if gcc is None:
        best = min(compiled()[0] for _ in range(repeats))
        print(f"{Path(path).stem}: {1e9 * best / (sweeps * n):.1f} ns per contact-iteration")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "nsgs.c"), Path(folder, "nsgs.so")
        source.write_text(SOURCE)
        flags = [
            "-O3",
            "-march=native",
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-o",
            str(library),
            str(source),
            "-lm",
        ]
        subprocess.run([gcc, *flags], check=True)
        function = ctypes.CDLL(str(library)).sweep
        function.restype = ctypes.c_int64

        def reference():
            r, alpha = np.zeros(3 * n), np.zeros(n)
            arrays = (
                b.indptr,
                b.indices,
                b.data,
                b.diagonal,
                problem.q,
                problem.mu,
                problem.bilateral,
                problem.rho,
                problem.weight,
                r,
                alpha,
            )
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
            start = time.perf_counter()
            function(ctypes.c_int64(n), *pointers, ctypes.c_int64(sweeps), ctypes.c_double(-1.0))
            return time.perf_counter() - start, r

        mine, theirs = [], []
        for _ in range(repeats):  # in turn, so that both see the same machine
            t, r = compiled()
            mine.append(t)
            t, r_c = reference()
            theirs.append(t)
    scale = 1e9 / (sweeps * n)
    print(
        f"{Path(path).stem}: {n} contacts, {b.indices.size / n:.1f} blocks per row; compiled {scale * min(mine):.1f}, "
        f"C {scale * min(theirs):.1f} ns per contact-iteration, ratio {min(mine) / min(theirs):.3f}, "
        f"largest difference of impulses {np.abs(r - r_c).max() / np.abs(r_c).max():.1e}"
    )


if __name__ == "__main__":
    data = Path(__file__).parents[1] / "tests" / "data" / "contact"
    for name in sys.argv[1:] or sorted(data.glob("*.hdf5")):
        main(name)
