"""Shared modules below all folders; nothing here knows about mechanics.

- Arrays: `arrays` (NumPy or JAX), `quantity` and `range` (physical quantities with units
  and allowed ranges), `units`, `expression` (formulas as text), `geometric`.
- Printing: `text`, `suggestions` (errors with the nearest valid name), `result_repr`,
  `terminal`, `progress`.
- Process: `environment` (JAX's set-up), `cache` (compiled code on disk), `gc_pause`,
  `machine`, `signals`.
"""
