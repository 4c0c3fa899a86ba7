"""State of the integration of a motion in modal form, and the data of all its steps."""

from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int

from .gaps import Gaps
from .modal_form import ModalForm


class Lane(NamedTuple):
    """State of the integration of p modes with c contacts along d axes.

    `sensitivities` are those at the time `behind` ago: in flights they are advanced
    exactly on demand. `closed`: the contacts that act. `level`: of the next step in
    contact, and `begin`: that of the first one after the last onset. `trial`: the length
    of the next step to an event, 0 if none is near. `graded`: whether steps approach a
    release by shortening. `forces` at the k nodes, `length`: of the last step in contact,
    0 if none. `reversals`: the number of steps in which a friction has reversed.
    `rubbed`: the energy lost to the friction of annular contacts in the last step, J,
    None without them. `ends`: (state, rate), if displacements are observed.
    """

    time: Float[Array, ""]
    y: Float[Array, " 2p"]
    sensitivities: Any  # `Sensitivities`, None if they are not wanted
    behind: Float[Array, ""]
    closed: Bool[Array, " c"]
    level: Int[Array, ""]
    begin: Int[Array, ""]
    trial: Float[Array, ""]
    graded: Bool[Array, ""]
    forces: Float[Array, "k d"]
    length: Float[Array, ""]
    reversals: Int[Array, ""]
    rubbed: Any
    steps: Int[Array, ""]
    observables: Any
    ends: Any


class Context(NamedTuple):
    """Data common to all steps.

    `size`: of the motion in the loads' steady state; `displaced`: data of the
    displacements, if they are observed.
    """

    system: ModalForm
    gaps: Gaps
    end: Any
    rtol: Any
    grazing: Any
    size: Any
    displaced: Any
