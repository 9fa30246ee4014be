"""Citations used by several problems."""

STUDER_2008 = (
    "C. Studer, R. I. Leine, Ch. Glocker: Step size adjustment and extrapolation for time-stepping schemes "
    "in non-smooth dynamics. Int. J. Numer. Meth. Engng 76 (2008) 1747-1781"
)
ACARY_2012 = (
    "V. Acary: Higher order event capturing time-stepping schemes for nonsmooth multibody systems with "
    "unilateral constraints and impacts. Applied Numerical Mathematics 62 (2012) 1259-1275"
)
COMPERE_2001 = (
    "M. D. Compere: Simulation of engineering systems described by high-index DAE and discontinuous ODE using single step "
    "methods. PhD thesis, The University of Texas at Austin, 2001"
)
