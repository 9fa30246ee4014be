"""Studer, Leine, Glocker 2008, eq. (47) and Fig. 5: what extrapolation makes of (-e)^n at an enduring contact."""

import numpy as np
from _table import figure, save, show


def diagonal(e, substeps):
    """T_ii / gamma_B of the Aitken-Neville scheme (42), i = 1 ... len(substeps)."""
    row, result = [], []
    for i, n in enumerate(substeps):
        new = [(-e) ** n]
        for j in range(i):
            new.append(new[j] + (new[j] - row[j]) / (n / substeps[i - 1 - j] - 1))
        row = new
        result.append(row[-1])
    return result


if __name__ == "__main__":
    here = diagonal(0.7, [1, 2, 3, 4])
    rows = [(f"T_{i + 1}{i + 1}/gamma_B, e = 0.7, all substeps", p, f"{h:.4f}")
            for i, (p, h) in enumerate(zip((-0.7, 1.68, -3.8535, 9.2682), here))]  # fmt: skip
    e = np.linspace(0.0, 1.0, 401)
    every = np.array([diagonal(x, [1, 2, 3, 4]) for x in e])
    odd = np.array([diagonal(x, [1, 3, 5, 7]) for x in e])
    grows = e[np.abs(every[:, 1]) > 1].min()
    rows += [
        ("|T_22| > 1 from e on, all substeps", "0.5", f"{grows:.3f}"),
        ("max |T_ii|, i <= 4, odd substeps", "<= 1", f"{np.abs(odd).max():.4f}"),
    ]
    six = max(np.abs(diagonal(x, [1, 3, 5, 7, 9, 11])).max() for x in e)
    rows.append(("max |T_ii|, i <= 6, odd substeps", "-", f"{six:.4f}"))
    show("Fig. 5: growth of the velocity at an enduring contact", rows)
    picture, axes = figure(1, 2, size=(9.0, 3.6))
    for axis, data, title in zip(axes, (every, odd), ("1, 2, 3, 4 substeps", "1, 3, 5, 7 substeps")):
        for i in range(4):
            axis.plot(e, data[:, i], label=f"$T_{{{i + 1}{i + 1}}}$")
        axis.set(title=title, xlabel="restitution", ylabel=r"$T_{ii}/\gamma_B$")
        axis.legend()
    save(picture, "studer2008_fig5.png")
