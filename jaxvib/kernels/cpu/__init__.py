"""Machine code for the processor, and its calls."""
