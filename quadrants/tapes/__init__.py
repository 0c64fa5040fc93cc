"""Tapes, forward mode and gradients by hand: what users drive derivatives with. `quadrants.ad` loads it by name."""
