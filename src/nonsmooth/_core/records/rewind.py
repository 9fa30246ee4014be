"""Many small arrays put back to what they held, in one call: from Python, each would take as long as all of them together do here."""

from nonsmooth._core.compiler.arrays import floats_at
from nonsmooth._core.jit import f8_1, i8_1, kernel, void


@kernel(void(i8_1, i8_1, f8_1), references=False)
def put_back(addresses, sizes, kept):
    """Words of arrays that live at `addresses`, which stand one array behind the other in `kept`."""
    first = 0
    for a in range(addresses.size):
        array = floats_at(addresses[a], sizes[a])
        for i in range(sizes[a]):
            array[i] = kept[first + i]
        first += sizes[a]
