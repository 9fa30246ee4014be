"""Compile the kernels a wheel brings along (`python tools/build_kernels.py FOLDER`; `make wheel` does it).

For each processor class every front door is used once with each of its methods, on all cores (`nonsmooth.warmup`); what that compiled
is collected in FOLDER, one set for each class. A class this machine does not belong to is left out, with a word.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from nonsmooth._core.kernel_cache import CLASSES, classes


def build(name: str, folder: Path) -> None:
    """Compile for the class `name` and put the set into `folder`."""
    with tempfile.TemporaryDirectory() as cache:
        settings = {
            "NUMBA_CPU_NAME": name,
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": cache,
            "NONSMOOTH_KERNELS": "native",  # nothing that was shipped before
        }
        subprocess.run([sys.executable, "-m", "nonsmooth", "warmup"], env=os.environ | settings, check=True)
        (found,) = Path(cache, "nonsmooth").iterdir()
        shutil.copytree(found, folder / found.name)


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    for name in CLASSES:
        if name in classes():
            print(f"kernels for {name}", flush=True)
            build(name, folder)
        else:
            print(f"no kernels for {name}: this machine cannot run them")
    files = [path for path in folder.rglob("*.nbc")]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB in {folder}")


if __name__ == "__main__":
    main()
