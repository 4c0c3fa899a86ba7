"""What the paper prints of its example, and what we get: python compare.py."""

import numpy as np

import jaxvib as jv

BEAM = jv.Beam(1.0, 0.675, 7e10 * 5.20833e-10, ("clamped", "free"))
PRINTED = (-0.255 + 25.839j, -0.235 + 161.938j)


def example(mass):
    masses, stiffness = np.full(3, mass), np.full(3, 0.1)
    return jv.oscillators_on_beam(BEAM, [0.1, 0.5, 0.9], masses, stiffness, stiffness)


def agrees(mass):
    values = np.asarray(jv.beam_eigenvalues(example(mass), count=5).values[3:])
    return np.all(np.round(values, 3) == np.array(PRINTED))


def edge(inside, outside):
    while abs(outside - inside) > 1e-4 * inside:
        middle = np.sqrt(inside * outside)
        inside, outside = (middle, outside) if agrees(middle) else (inside, middle)
    return inside


def main():
    modes = jv.beam_eigenvalues(example(0.1), radius=5000.0)
    print(f"bodies of 0.1 kg, |lambda| < 5000 1/s, certified: {bool(modes.certified)}")
    for value, residual in zip(modes.values, modes.residuals, strict=True):
        print(f"{complex(value):.10f}   backward error {float(residual):.0e}")
    low = edge(0.1, 1e-3)
    high = 1e3 if agrees(1e3) else edge(0.1, 1e3)
    print(f"masses that round to the printed digits: {low:.4g} to {high:.4g} kg")


if __name__ == "__main__":
    main()
