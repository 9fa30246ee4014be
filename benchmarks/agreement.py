"""Do schemes that share nothing but the model agree within what they say of their errors?

Run ``python benchmarks/agreement.py [systems per family [first seed]]``, 60 random systems by default
(`tests/agreement/systems.py`). `event-driven`, `event-capturing`, `extrapolated-moreau` and `moreau` with halved steps; printed is the
largest distance of two end states over the sum of their estimates (wanted: 10).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.agreement.systems import FAMILIES, disagreement, kept

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    beyond = total = 0
    for family in FAMILIES:
        for seed, *drawn in kept(family, count, first):
            ratio, text = disagreement(*drawn)
            total, beyond = total + 1, beyond + (ratio > 10.0)
            print(f"{family.__name__:10s} {seed:4d}  {ratio:8.3g}  {text}", flush=True)
    print(f"{total - beyond} of {total} systems agree within ten times the sum of their estimates")
