"""Single-step integrators as data (`tableaus`) and the contract they fulfil (`driver`,
`nonsmooth._core.integrators.single_step`).
"""
