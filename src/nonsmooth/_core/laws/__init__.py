"""Set-valued laws of a step: projections and the solvers of their prox equations."""
