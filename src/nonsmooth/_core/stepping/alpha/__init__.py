"""The nonsmooth generalized-alpha method, compiled: `step` first."""
