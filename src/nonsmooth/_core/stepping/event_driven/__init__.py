"""Motion in given modes, and what happens between: `event-driven`, compiled: `step` first."""
