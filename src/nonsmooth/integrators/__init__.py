"""Single-step integrators as data (`tableaus`) and the contract they fulfil (`driver`,
`nonsmooth._core.single_step`).
"""
