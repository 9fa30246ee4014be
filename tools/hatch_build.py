"""Build hook: a wheel brings the compiled kernels of the folder named in NONSMOOTH_WHEEL_KERNELS, if it is set (`make wheel`).

Such a wheel is for one Python, one platform; without kernels it is for all.
"""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    """Adds the kernels to a wheel."""

    def initialize(self, version, build_data):
        """Called before the wheel is put together."""
        folder = os.environ.get("NONSMOOTH_WHEEL_KERNELS")
        if not folder or version == "editable":
            return
        if not any(Path(folder).rglob("*.nbc")):
            raise FileNotFoundError(f"NONSMOOTH_WHEEL_KERNELS: there are no kernels in {folder}.")
        build_data["force_include"][str(Path(folder).resolve())] = "nonsmooth/_kernels"
        build_data["pure_python"], build_data["infer_tag"] = False, True
