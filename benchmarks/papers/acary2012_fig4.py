"""Acary 2012, Fig. 4: implicit Runge-Kutta methods coupled with Moreau's scheme, oscillator and bouncing ball.

Errors are integral L1 norms, cut at the instants of both motions (an instant of the grid on an impact spoils norms on the grid). Flights
of the ball are parabolas, exact for every method: what is seen there are the critical steps, of order p + 1; hence its long steps.
"""

from _acary import Ball, Oscillator, study

METHODS = {"lobatto2": 2, "radau3": 3, "lobatto4": 4, "radau5": 5, "lobatto6": 6}

if __name__ == "__main__":
    study("acary2012_fig4", "Fig. 4: implicit Runge-Kutta methods", METHODS, Oscillator(), Ball())
