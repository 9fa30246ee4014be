"""Compile the kernels a wheel brings along (`python tools/build_kernels.py FOLDER [--jobs N]`; `make wheel` does it).

For each processor class every front door is used once with each of its methods, on all cores (`nonsmooth.warmup`); what that compiled
is collected in FOLDER, one set for each class. A class this machine does not belong to is left out, with a word. What was compiled is kept
beside FOLDER for as long as the sources stay the same: a build that was broken off goes on where it stopped.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from nonsmooth._core.kernel_cache import CLASSES, classes, library


def build(name: str, folder: Path, kept: Path, jobs: int | None) -> None:
    """Compile for the class `name`, keeping what is ready in `kept`, and put the set into `folder`."""
    settings = {
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(kept),
        "XDG_CACHE_HOME": str(kept),  # what lies in the cache of whoever builds would not get into the set
        "NONSMOOTH_KERNELS": "native",  # nothing that was shipped before
    }
    command = [sys.executable, "-m", "nonsmooth", "warmup", *(["--jobs", str(jobs)] if jobs else [])]
    subprocess.run(command, env=os.environ | settings, check=True)
    (found,) = (kept / "nonsmooth").iterdir()
    shutil.copytree(found, folder / found.name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, help="processes; as many as there are cores if left out")
    options = parser.parse_args()
    folder = options.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    drafts = folder.with_name(folder.name + "-kept")
    state = drafts / library.sources.digest[:16]
    for old in drafts.glob("*"):
        if old != state:
            shutil.rmtree(old)
    for name in CLASSES:
        if name in classes():
            print(f"kernels for {name}", flush=True)
            build(name, folder, state / name, options.jobs)
        else:
            print(f"no kernels for {name}: this machine cannot run them")
    files = list(folder.rglob("*.nbc"))
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB in {folder}")


if __name__ == "__main__":
    main()
