"""The nonsmooth generalized-alpha method: the scheme, its coefficients, its runs, its record for the compiled step."""

from nonsmooth.schemes.generalized_alpha.coefficients import hht, newmark
from nonsmooth.schemes.generalized_alpha.scheme import GeneralizedAlpha

__all__ = ["GeneralizedAlpha", "hht", "newmark"]
