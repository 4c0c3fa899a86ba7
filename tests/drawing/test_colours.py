"""Checked against: colour-vision deficiency as simulated by Machado et al. (2009), OKLab.

Their matrices for full protanopia, deuteranopia and tritanopia act on linear RGB; OKLab
(Ottosson, 2020) is where distances are taken, times 100, so that 2 is just seen.
"""

import itertools

import numpy as np
import pytest

from jaxvib.drawing import colours
from jaxvib.drawing.colours import FAILED, SCALES, regime_class

VISIONS = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OPPONENTS = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )


def seen(colour, vision):
    light = np.clip(np.array(VISIONS[vision]) @ linear(colour), 0, 1)
    return 100 * np.array(OPPONENTS) @ np.cbrt(np.array(CONES) @ light)


@pytest.mark.parametrize("vision", VISIONS)
def test_classes_are_distinguishable(vision):
    others = ("LONGER", "UNRESOLVED", "QUASI_PERIODIC", "CHAOTIC", "UNDECIDED", "FAILED")
    periodic = {regime_class(n, k)[0] for n in range(1, 9) for k in range(20)}
    every = sorted(periodic.union(getattr(colours, name) for name in others))
    places = [seen(colour, vision) for colour in every]
    gaps = [np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2)]
    assert min(gaps) > 9


@pytest.mark.parametrize("page", ["#ffffff", "#15191d"])
def test_failed_samples_stand_out_from_the_page(page):
    for vision in VISIONS:
        assert np.linalg.norm(seen(FAILED, vision) - seen(page, vision)) > 25


@pytest.mark.parametrize("scale", ["sea", "cividis"])
@pytest.mark.parametrize("vision", VISIONS)
def test_number_scales_grow_lighter_throughout(scale, vision):
    lightness = [seen(colour, vision)[0] for colour in SCALES[scale]]
    assert np.diff(lightness).min() > 0


def test_each_period_has_its_own_hue_and_more_contacts_are_darker():
    lightness = [seen(regime_class(1, contacts)[0], "normal")[0] for contacts in range(5)]
    assert np.diff(lightness).max() < 0
    assert regime_class(1, 7) == regime_class(1, 4)
    assert len({regime_class(n, n)[0] for n in range(1, 6)}) == 5
