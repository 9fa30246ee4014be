"""The audit of a run of Algorithm 2: its stored states checked by a second, plain-NumPy route.

Fields and indicators are called from Python one by one, gradients are formed by differences whatever the user gave, the
sliding field comes from NumPy's least squares, steps are repeated by SciPy. Nothing of the compiled run is used. The
audit is made when it is first looked at.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from nonsmooth.model.functions import UserFunction
from nonsmooth.results.audit import Audit
from nonsmooth.results.events import count_kinds, counts_text


@dataclass
class FilippovAudit(Audit):
    """What the second route found; ``print(audit)`` gives a table.

    Attributes
    ----------
    surface_drift, surface_drift_t : float
        Largest difference of the indicators of a sliding set, relative to the spread of the group's indicators in the
        run, and its instant. None if nothing slides.
    region_violation, region_violation_t : float
        Largest amount by which the indicator of an active region exceeds the smallest of its group, relative to the spread.
    weight_violation : float
        Largest distance of a sliding weight from [0, 1]: x' outside the convex hull of the fields.
    tangency : float
        Largest speed of a sliding field across its surfaces, relative to that of its fields.
    location_error : float
        Largest estimated error of a switching instant, |psi| over |d psi/dt|, and `location_units`, what it means for the
        state after the switch in units of the tolerance.
    lcp_residual : float
        Largest violation of (13) by the active set after a switching point: a negative weight, or a region outside the
        set whose indicator falls below, relative to the speeds there.
    step_error, step_error_t : float
        Largest difference of a step from the same step by SciPy, in units of the tolerance.
    gradient_error : float
        Largest difference of given gradients from differences of the indicators, relative.
    points_checked : int
    """

    surface_drift: float | None = None
    surface_drift_t: float | None = None
    region_violation: float | None = None
    region_violation_t: float | None = None
    weight_violation: float | None = None
    tangency: float | None = None
    location_error: float | None = None
    location_units: float | None = None
    lcp_residual: float | None = None
    gradient_error: float | None = None

    def failures(self) -> list[str]:
        """What is not in order, one line each; empty if all is well."""
        lines = [] if self.checked() else [self._unchecked()]
        for name, limit in self.limits.items():
            value = getattr(self, name)
            if value is not None and not value <= limit:  # also catches NaN
                lines.append(f"{name.replace('_', ' ')} {value:.3g} is above {limit:.3g}")
        return lines

    def checked(self) -> bool:
        """Whether the second route has looked at a stored state."""
        return self.points_checked > 0

    def rows(self) -> list[tuple[str, str]]:
        """The table as (label, text)."""
        rows = [("audit", "ok" if self.ok else "NOT ok: " + "; ".join(self.failures()))]
        rows.append(("points recomputed", str(self.points_checked)))
        rows.append(("steps repeated", f"{self.steps_checked} of {self.steps_total}"))

        def number(label: str, value: float | None, t: float | None = None, unit: str = "") -> None:
            if value is not None:
                rows.append((label, f"{value:.3e}{unit}" + ("" if t is None else f"  at t = {t:.9g}")))

        number("drift off sliding surfaces", self.surface_drift, self.surface_drift_t)
        number("states outside their region", self.region_violation, self.region_violation_t)
        number("weights outside [0, 1]", self.weight_violation)
        number("sliding field off the surface", self.tangency)
        number("location of switching points", self.location_error, None, " in time")
        number("  effect on the state", self.location_units, None, " tolerances")
        number("complementarity (13)", self.lcp_residual)
        number("error of a step", self.step_error, self.step_error_t, " tolerances")
        number("given gradients", self.gradient_error)
        rows.append(("events", counts_text(self.events)))
        if self.derivatives:
            rows.append(
                ("derivatives", ", ".join(f"{name}: {source}" for name, source in self.derivatives.items()))
            )
        return rows + [("note", note) for note in self.notes]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, fit for JSON; the table is kept among the notes for readers that know only `Audit`."""
        table = [f"{label.strip()}: {text}" for label, text in self.rows() if label not in ("note", "events")]
        return super().as_dict() | {"notes": [*table, *self.notes]}


@contextmanager
def with_parameters(python, parameters):
    """The functions of `python` with the parameters a run had."""
    functions = [
        f
        for values in (python.fields, python.indicators, python.gradients, python.rates, [python.smooth])
        for f in values
        if isinstance(f, UserFunction)
    ]
    saved = [f.parameters for f in functions]
    try:
        for f in functions:
            f.parameters = parameters
        yield
    finally:
        for f, old in zip(functions, saved):
            f.parameters = old


class Check:
    """The second route at single points; numbers are collected as the largest so far."""

    def __init__(self, python, t_scale, x_scale, near):
        self.p, self.t_scale, self.x_scale, self.near = python, t_scale, x_scale, near
        self.R, self.n, self.starts = len(python.fields), python.n, python.starts
        self.worst: dict[str, tuple[float, float | None]] = {}

    def note(self, name, value, t=None):
        """Keep the largest `value` of `name`; NaN counts as largest."""
        old = self.worst.get(name, (-1.0, None))[0]
        if not value <= old and not np.isnan(old):
            self.worst[name] = float(value), t

    def indicators(self, t, x):
        """All h_k."""
        return np.array([self.p.indicator(k, t, x) for k in range(self.R)])

    def gradient(self, k, t, x):
        """(grad h_k, dh_k/dt) by central differences."""
        if not isinstance(self.p.indicators[k], UserFunction) and self.p.mirror[k] < 0:
            return np.append(self.p.indicators[k], 0.0)
        out = np.empty(self.n + 1)
        for i in range(self.n):
            d = np.zeros(self.n)
            d[i] = 6e-6 * max(abs(x[i]), self.x_scale)
            out[i] = (self.p.indicator(k, t, x + d) - self.p.indicator(k, t, x - d)) / (2 * d[i])
        d_t = 6e-6 * max(abs(t), self.t_scale)
        out[self.n] = (self.p.indicator(k, t + d_t, x) - self.p.indicator(k, t - d_t, x)) / (2 * d_t)
        return out

    def members(self, active):
        """Active regions of each group."""
        return [[k for k in range(a, b) if active[k] > 0] for a, b in zip(self.starts[:-1], self.starts[1:])]

    def slope(self, active, t, x):
        """(x', weights, speed across the surfaces relative to that of the fields) of an active set."""
        z = np.zeros(self.R)
        x_dot = self.p.field(self.R, t, x).copy()
        rows, fields = [], []
        for group in self.members(active):
            base = self.p.field(group[0], t, x)
            x_dot += base
            z[group[0]] = 1.0
            if len(group) > 1:
                c_base = self.gradient(group[0], t, x)
                for k in group[1:]:
                    rows.append(self.gradient(k, t, x) - c_base)
                    fields.append((k, group[0], self.p.field(k, t, x) - base))
        if not rows:
            return x_dot, z, 0.0
        C, J = np.array(rows), np.array([f for _, _, f in fields]).T
        D, r = C[:, :-1] @ J, -(C[:, :-1] @ x_dot + C[:, -1])
        size = np.maximum(np.abs(C[:, :-1]) @ np.abs(J).max(axis=1), np.finfo(float).tiny)
        lam = 0.5 + np.linalg.lstsq(D / size[:, None], (r - D.sum(axis=1) * 0.5) / size, rcond=1e-10)[0]
        for (k, b, f), value in zip(fields, lam):
            z[k] += value
            z[b] -= value
            x_dot = x_dot + value * f
        across = float((np.abs(C[:, :-1] @ x_dot + C[:, -1]) / size).max())
        return x_dot, z, across

    def point(self, active, t, x, spread):
        """A stored state with the active set of the step that ends there."""
        h = self.indicators(t, x)
        for j, group in enumerate(self.members(active)):
            low = h[self.starts[j] : self.starts[j + 1]].min()
            self.note("region_violation", (h[group].max() - low) / spread[j], t)
            if len(group) > 1:
                self.note("surface_drift", np.ptp(h[group]) / spread[j], t)
        if any(len(group) > 1 for group in self.members(active)):
            _, z, across = self.slope(active, t, x)
            on = np.asarray(active) > 0
            self.note("weight_violation", max(0.0, -z[on].min(), z[on].max() - 1.0))
            self.note("tangency", across)

    def switching_point(self, before, after, t, x, spread, scale):
        """Location error and complementarity at a switching point."""
        h = self.indicators(t, x)
        old, z_old, _ = self.slope(before, t, x)
        new, z, _ = self.slope(after, t, x)
        for was, now in zip(self.members(before), self.members(after)):
            if was == now:
                continue
            entered = [k for k in now if k not in was]
            if entered:  # an indicator met that of the old members
                c = self.gradient(entered[0], t, x) - self.gradient(was[0], t, x)
                rate = abs(c[:-1] @ old + c[-1])
                if rate > 0.0:
                    delta = abs(h[entered[0]] - h[was[0]]) / rate
                    self.note("location_error", delta)
                    self.note("location_units", float(np.abs((new - old) / scale).max()) * delta)
            else:  # sliding ends where a weight vanishes
                left = [k for k in was if k not in now]
                self.note("exit_weight", float(np.abs(z_old[left]).min()))
        on = np.asarray(after) > 0
        self.note("lcp_residual", max(0.0, -z[on].min(initial=0.0)))
        fields = np.abs(self.p.field(self.R, t, x)) + sum(
            np.abs(self.p.field(k, t, x)) for k in np.flatnonzero(on)
        )
        for j, group in enumerate(self.members(after)):
            for k in range(self.starts[j], self.starts[j + 1]):
                if k not in group and h[k] - h[group].min() <= self.near * spread[j]:
                    c = self.gradient(k, t, x) - self.gradient(group[0], t, x)
                    speed = np.abs(c[:-1]) @ fields + abs(c[-1])
                    if speed > 0.0:
                        self.note("lcp_residual", max(0.0, -(c[:-1] @ new + c[-1]) / speed))


def _picks(count, most):
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int)) if count else ()


def audit_filippov(python, parameters, data, max_points=150, max_steps=40):
    """Audit of a run.

    Parameters
    ----------
    python : PythonSystem
    parameters : Parameters
        Those of the run.
    data : dict
        ``t`` (k,), ``y`` (k, n), ``active`` (k, R) at the ends of all steps, ``events`` (m, 2 + 2 R), ``rtol``, ``atol``,
        ``epsilon``, ``fixed``, ``implicit``, ``kinds`` (events), ``derivatives``, ``notes``, ``accumulated`` (instants).
    max_points, max_steps : int
        Stored states to recompute and steps to repeat, evenly spaced.

    Returns
    -------
    FilippovAudit
    """
    with with_parameters(python, parameters):
        return _audit(python, data, max_points, max_steps)


def _audit(python, data, max_points, max_steps):
    t, y, active = data["t"], data["y"], data["active"]
    R, rtol = len(python.fields), data["rtol"]
    audit = FilippovAudit(events=count_kinds(data["kinds"]), derivatives=data["derivatives"])
    audit.steps_total = t.size - 1
    scale = data["atol"] + rtol * np.abs(y).max(axis=0)
    sizes = max(abs(t[-1] - t[0]), 1e-300), max(float(np.abs(y).max(initial=0.0)), 1e-8)
    check = Check(python, *sizes, 1e-2 * data["epsilon"])
    starts = python.starts
    picks = _picks(t.size, max_points)
    spread = np.zeros(len(starts) - 1)
    for k in picks:
        h = check.indicators(t[k], y[k])
        for j in range(spread.size):
            spread[j] = max(spread[j], np.ptp(h[starts[j] : starts[j + 1]]))
    spread[spread == 0.0] = 1.0
    for k in picks:
        if all(check.members(active[k])):  # a run of no length has no active set
            check.point(active[k], t[k], y[k], spread)
    events = data["events"]
    for e in _picks(len(events), max_points):
        at = int(np.searchsorted(t, events[e, 0]))
        if at < t.size and not _in_tail(events[e, 0], events[:, 0], data["accumulated"]):
            check.switching_point(events[e, 2 : 2 + R], events[e, 2 + R :], t[at], y[at], spread, scale)
    _repeat_steps(audit, check, data, scale, max_steps)
    _given_gradients(check, t, y)
    audit.points_checked = len(picks) + min(len(events), max_points)
    for name, (value, instant) in check.worst.items():
        if name != "exit_weight":
            setattr(audit, name, value)
            if instant is not None:
                setattr(audit, f"{name}_t", float(instant))
    loose = max(1e-8, rtol)
    audit.limits = {
        "surface_drift": loose, "region_violation": 10 * (loose + data["epsilon"]), "weight_violation": max(1e-6, 10 * rtol),
        "tangency": 1e-5, "location_units": 20.0, "lcp_residual": 1e-5, "gradient_error": 1e-4,
    }  # fmt: skip
    if data["fixed"]:
        audit.notes.append("fixed steps: errors are not measured by the tolerance")
        del audit.limits["location_units"]
    else:
        audit.limits["step_error"] = 20.0
    if "exit_weight" in check.worst:
        audit.notes.append(f"weights where sliding ends: at most {check.worst['exit_weight'][0]:.1e}")
    audit.notes += data["notes"]
    return audit


def _in_tail(t, instants, accumulated):
    """Whether a switching point at `t` is a limit of others, or one of the last few before it: these are no longer told
    apart one by one, the limit follows from those before.
    """
    for limit in accumulated:
        before = instants[instants < limit]
        if before.size and t <= limit and limit - t <= 4.0 * (limit - before[-1]):
            return True
    return t in accumulated


def _repeat_steps(audit, check, data, scale, max_steps):
    """Repeat steps by SciPy's solvers, at a hundredth of the tolerance."""
    t, y, active = data["t"], data["y"], data["active"]
    rtol = max(1e-2 * data["rtol"], 1e-13)
    method = "Radau" if data["implicit"] else "DOP853"
    skip = set(data["accumulated"])
    for k in _picks(t.size - 1, max_steps):
        if not t[k + 1] > t[k] or float(t[k + 1]) in skip:
            continue
        run = solve_ivp(
            lambda s, x, set_=active[k + 1]: check.slope(set_, s, x)[0], (t[k], t[k + 1]), y[k], method=method,
            rtol=rtol, atol=1e-2 * data["atol"], max_step=t[k + 1] - t[k],
        )  # fmt: skip
        if run.success:
            check.note("step_error", float(np.abs((run.y[:, -1] - y[k + 1]) / scale).max()), float(t[k + 1]))
            audit.steps_checked += 1


def _given_gradients(check, t, y):
    """Gradients given by the user against differences, at the start and the end."""
    for k, given in enumerate(check.p.gradients):
        if given is None:
            continue
        for i in (0, -1):
            value = given.call(t[i], y[i], y[i]) if isinstance(given, UserFunction) else given
            reference = check.gradient(k, t[i], y[i])[:-1]
            size = max(float(np.abs(reference).max()), float(np.abs(value).max()), 1e-300)
            check.note("gradient_error", float(np.abs(value - reference).max()) / size)
