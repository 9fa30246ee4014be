"""pytest plugin: SciPy's test module of `solve_ivp`, unmodified, gets this library's function instead."""

import scipy.integrate

from nonsmooth.ivp import solve_ivp

scipy.integrate.solve_ivp = solve_ivp
