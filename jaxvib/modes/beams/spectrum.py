"""The certified spectrum of a single beam with bodies, computed on the host.

Ritz starts, simultaneous roots, separation of multiple and close roots, certification,
and a search for missing roots until the certificate holds.
"""

import dataclasses

import jax
import numpy as np
from jaxtyping import Complex, Float, Int

from .bare_beam import bare_modes
from .certificate import estimate_missing, missing_roots, roots_near
from .characteristic import Dimensionless, mixing
from .ritz import all_starts, ritz_problem
from .roots import clusters, polish, unsymmetric, vectors, zeros_at_origin

# Each attempt doubles the modes, or adds estimates of the missing roots.
_ATTEMPTS = 4
_MULTIPLE = 4  # numbers of links and bodies are padded to multiples of this
_LOST = 1e-2  # relative rounding error of a root above which it is not certified
_GAP = 1e-3  # smallest relative gap between moduli for a certifying circle


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Dimensionless roots with Im >= 0 by modulus, repeated by multiplicity."""

    values: Complex[np.ndarray, " values"]
    vectors: Complex[np.ndarray, "values N"]
    backward_errors: Float[np.ndarray, " values"]
    conditions: Float[np.ndarray, " values"]
    multiplicities: Int[np.ndarray, " values"]
    certified: bool
    radius: float | None
    within: int


@mixing
def certified_spectrum(
    system: Dimensionless, count: int | None, radius: float | None
) -> Spectrum:
    """Return the first `count` roots, or all within a dimensionless `radius`.

    **Raises:** `ValueError` for a system whose matrices are not finite.
    """
    system = jax.tree.map(np.asarray, system)
    modes = _modes_needed(system, count, radius)
    wanted = 0 if count is None else count
    whole, system = system, padded(system)
    extra = np.zeros(0, complex)
    for attempt in range(_ATTEMPTS):
        starts = all_starts(ritz_problem(whole, modes, np))
        if not starts.size:
            raise ValueError("a parameter is so large that the matrices are not finite")
        zeros, sure = zeros_at_origin(system, starts)
        starts = np.concatenate([starts[zeros:], extra])
        starts = starts[np.argsort(np.abs(starts), kind="stable")]
        if radius is None:
            upper = np.abs(starts[starts.imag >= 0])
            if len(upper) + zeros < wanted + 4:
                modes = 2 * modes + 10
                continue
            bound = float(upper[max(0, wanted + 3 - zeros)])
        else:
            bound = radius
        active = starts[np.abs(starts) <= bound * (1.02 if radius is None else 1.2)]
        passive = starts[np.abs(starts) > bound * (1.02 if radius is None else 1.2)]
        passive = passive[np.abs(passive) < 4 * bound + 100]
        # the first attempt keeps the symmetry of the starts, later ones break it
        active = unsymmetric(active) if attempt else active
        roots = polish(system, active, np.concatenate([passive, np.zeros(zeros)]))
        spectrum, missing, known = _certify(system, roots, passive, zeros, count, radius)
        spectrum = dataclasses.replace(spectrum, certified=spectrum.certified and sure)
        if spectrum.certified:
            break
        extra = np.zeros(0, complex)
        if missing is not None and 0 < missing <= 6:
            extra = estimate_missing(system, spectrum.radius, known, missing)
        else:
            modes = 2 * modes + 10
    return dataclasses.replace(spectrum, vectors=_stripped(whole, spectrum.vectors))


def padded(system: Dimensionless) -> Dimensionless:
    """Return a system padded with links without stiffness and fixed bodies.

    Padding leaves all roots unchanged and lets systems of many sizes share compiled
    code; for the same reason rotational links come last, and the ends' names, needed
    for starts only, are dropped.
    """
    links, bodies = system.link_map.shape
    place, turns = _slots(system)
    after = -bodies % _MULTIPLE

    def spread(of_links, nothing=0.0, axis=0):
        shape = list(np.shape(of_links))
        shape[axis] = len(turns)
        full = np.full(shape, nothing)
        full[(slice(None),) * axis + (place,)] = of_links
        return full

    def excess(matrix):
        matrix = np.zeros((bodies, links)) if matrix is None else matrix
        return np.pad(spread(matrix, axis=1), ((0, after), (0, 0)))

    fixed = np.diag(np.r_[np.zeros(bodies), np.ones(after)])
    return dataclasses.replace(
        system,
        positions=spread(system.positions, 0.5),
        link_stiffness=spread(system.link_stiffness),
        link_damping=spread(system.link_damping),
        link_inertance=spread(system.link_inertance),
        link_map=np.pad(spread(system.link_map), ((0, 0), (0, after))),
        mass=np.pad(system.mass, (0, after)),
        damping=np.pad(system.damping, (0, after)),
        stiffness=np.pad(system.stiffness, (0, after)) + fixed,
        excess_stiffness=excess(system.excess_stiffness),
        excess_damping=excess(system.excess_damping),
        turns=turns,
        ends=("free", "free"),
        elastic=(False, False),
    )


def _slots(system: Dimensionless):
    """Return each link's index in the padded system, and its rotational links."""
    turning = np.array(system.turns, bool)
    straight, turned = (
        -(-int(np.sum(each)) // _MULTIPLE) * _MULTIPLE for each in (~turning, turning)
    )
    place = np.where(
        turning, straight + np.cumsum(turning) - 1, np.cumsum(~turning) - 1
    ).astype(int)
    return place, (False,) * straight + (True,) * turned


def _stripped(system: Dimensionless, vectors):
    """Return null vectors without the entries added by `padded`."""
    place, turns = _slots(system)
    bodies = system.link_map.shape[1]
    retained = np.r_[:4, 4 + place, 4 + len(turns) + np.arange(bodies)]
    return vectors[:, retained]


def _modes_needed(system: Dimensionless, count, radius) -> int:
    if radius is None:
        return count + 8
    number = 16
    while bare_modes(system.ends, number).wave_numbers[-1] ** 2 < 1.5 * radius + 100:
        number *= 2
    return (
        int(np.sum(bare_modes(system.ends, number).wave_numbers ** 2 < 1.5 * radius)) + 10
    )


def _certify(system, roots, passive, zeros, count, radius):
    """Return the spectrum of polished roots, the number of missing ones, all known."""
    roots = np.concatenate([np.zeros(zeros), roots])
    null, backward, condition, singular = vectors(system, roots)
    with np.errstate(invalid="ignore"):
        errors = (4 * np.finfo(float).eps + backward) * condition * np.abs(roots)
    errors = np.minimum(np.maximum(errors, 1e-15 * np.abs(roots)), 1e-5 * np.abs(roots))
    errors[:zeros] = 0.0
    groups = clusters(roots, errors)
    values, multiplicities, sound = roots.copy(), np.ones(len(roots), int), True
    for group in groups:
        multiplicities[group] = len(group)
        if len(group) > 1 and roots[group[0]] != 0:
            values[group], agrees = _centre(system, roots, group)
            sound &= agrees
    real = np.abs(values.imag) <= 30 * errors
    values[real] = values[real].real
    if np.any(multiplicities > 1):
        null, backward, condition, singular = vectors(system, values)
    sound &= _closed_under_conjugation(values)
    upper = values.imag >= 0
    order = np.flatnonzero(upper)[np.argsort(np.abs(values[upper]), kind="stable")]
    moduli = np.abs(values[order])
    circle, within = _circle(moduli, count, radius)
    known = np.concatenate([values, passive])
    missing = missing_roots(system, circle, known) if circle else None
    selected = order[: within if count is None else count]
    inside = order[:within]
    # if M changes steeply, the rounding of a root alone keeps M from being singular
    unsure = backward * np.minimum(condition, 1.0)
    # a simple root has no correct digit if rounding moves it by its own size
    lost = (condition * np.finfo(float).eps > _LOST) & (multiplicities == 1) & (values != 0)
    sound &= not np.any(lost[inside]) and np.all(unsure[inside] < 1e-11)
    certified = bool(sound and missing == 0 and len(selected) > 0)
    if count is None and missing == 0 and sound and not len(selected):
        certified = True
    shapes = null[selected, _rank_within(values, selected, singular)]
    spectrum = Spectrum(
        values[selected],
        shapes,
        backward[selected],
        condition[selected],
        multiplicities[selected],
        certified,
        circle,
        within,
    )
    return spectrum, missing, known


def _centre(system, roots, group):
    """Return a cluster's mean, which is far more accurate than its members."""
    mean = np.mean(roots[group])
    others = np.delete(roots, group)
    spread = np.max(np.abs(roots[group] - mean))
    gap = np.min(np.abs(others - mean)) if len(others) else np.abs(mean)
    radius = min(0.3 * gap, 0.1 * np.abs(mean))
    if radius < 3 * spread:
        return mean, False
    number, centre = roots_near(system, mean, radius)
    if number != len(group):
        return mean, False
    return centre if spread > 1e-12 * np.abs(mean) else mean, True


def _closed_under_conjugation(values) -> bool:
    above, below = values[values.imag > 0], values[values.imag < 0]
    if len(above) != len(below):
        return False
    if not len(above):
        return True
    above = above[np.lexsort((above.imag, np.abs(above)))]
    nearest = np.min(np.abs(above[:, None] - below.conj()), axis=1)
    return bool(np.all(nearest <= 1e-6 * np.abs(above)))


def _circle(moduli, count, radius):
    """Return the radius of the certifying circle and the number of values inside."""
    if count is None:
        within = int(np.sum(moduli < radius))
        return radius, within
    best, place = 0.0, 0
    for position in range(count, len(moduli)):
        gap = moduli[position] / max(moduli[position - 1], 1e-3 * moduli[position]) - 1
        if gap > 0.1 or gap > best:
            best, place = gap, position
        if gap > 0.1:
            break
    if best < _GAP:
        return None, 0
    return np.sqrt(moduli[place] * max(moduli[place - 1], 1e-3 * moduli[place])), place


def _rank_within(values, selected, singular):
    """Return the index of each value's null vector; equal values get different ones."""
    ranks = []
    for position, index in enumerate(selected):
        rank = sum(values[other] == values[index] for other in selected[:position])
        # a defective value has a single shape: the next singular value is not small
        while rank and singular[index, rank] > 1e-7 * singular[index, -1]:
            rank -= 1
        ranks.append(rank)
    return np.array(ranks, int)
