"""Bodies, joints, forces and contacts of a `World`: one kernel per type, over tables of all elements of that type."""
