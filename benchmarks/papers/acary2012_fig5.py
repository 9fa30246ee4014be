"""Acary 2012, Fig. 5: half-explicit Runge-Kutta methods coupled with Moreau's scheme, oscillator and bouncing ball (norms as in Fig. 4).

The paper does not name its tableaus; here they are Runge's midpoint rule, Kutta's third-order and classical methods, and Dormand-Prince 5.
"""

from _acary import Ball, Oscillator, study

METHODS = {"midpoint2": 2, "kutta3": 3, "rk4": 4, "RK45": 5}

if __name__ == "__main__":
    study("acary2012_fig5", "Fig. 5: half-explicit Runge-Kutta methods", METHODS, Oscillator(), Ball())
