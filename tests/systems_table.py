"""Systems of every kind, one line each, over which the laws of `test_laws.py` run."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import jaxvib as jv

RIGID, SOFT = 1.53696e11, 35041219.07  # N/m^1.5: bodies of steel, one of rubber


class Case(NamedTuple):
    """A system as a function of one parameter, and motions of it to look at.

    `path` is that parameter's, `allowed` its least and greatest value. Motions begin at
    random about rest, displacements up to `reach` and velocities up to `speed`, at the
    time `begin`, s, and last for `span`, s. `smooth`: whether another integrator can follow
    its vector field, and `turns` back, as a motion with friction does not.
    """

    build: Callable
    path: str
    allowed: tuple[float, float]
    reach: float = 0.0
    speed: float = 0.0
    span: float = 0.0
    begin: float = 0.0
    smooth: bool = True
    turns: bool = True

    @property
    def usual(self) -> float:
        return sum(self.allowed) / 2

    @property
    def end(self) -> float:
        return self.begin + self.span

    def system(self):
        return self.build(self.usual)

    def states(self, seed: int, number: int):
        rest = np.asarray(self.system().rest())
        sizes = np.repeat([self.reach, self.speed], rest.size // 2)
        random = np.random.default_rng(seed).uniform(-1.0, 1.0, (number, rest.size))
        return jnp.asarray(rest + sizes * random)


def two_bodies(stiffness):
    return lambda frequency: jv.two_body_impact(
        contact=jv.HertzContact(stiffness), load=jv.HarmonicLoad(500.0, frequency)
    )


def hard_stop(restitution):
    one = jnp.ones(1)
    return jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.1]], [[1.0]]),
        (jv.Contact(one, 0.2, jv.RestitutionContact(restitution)),),
        (jv.AppliedLoad(one, jv.HarmonicLoad(1.0, 2.8)),),
    )


def damped_bodies(damping):
    return jv.two_body_impact(
        contact=jv.HuntCrossleyContact(SOFT, damping), load=jv.HarmonicLoad(500.0, 6.5)
    )


def damped_stop(damping):
    one = jnp.ones(1)
    return jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.1]], [[1.0]]),
        (jv.Contact(one, 0.2, jv.KelvinVoigtContact(30.0, damping)),),
        (jv.AppliedLoad(one, jv.HarmonicLoad(1.0, 2.8)),),
    )


def brake(force):
    """Return a body on a belt, to which it sticks now and then."""
    one = jnp.ones(1)
    return jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.1]], [[1.0]]),
        loads=(jv.AppliedLoad(one, jv.HarmonicLoad(0.3, 1.7)),),
        frictions=(jv.CoulombFriction(one, force, 0.5, 0.4),),
    )


def rubbed(coefficient):
    """Return a body that its weight presses on an elastic belt, shaken both ways."""
    along, down = jnp.eye(2)
    laws = jv.ConstantLoad(10.0), jv.HarmonicLoad(3.0, 2.3)
    pulls = [jv.AppliedLoad(down, law) for law in laws]
    shake = jv.AppliedLoad(along, jv.HarmonicLoad(1.0, 2.3))
    return jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(2), 0.1 * jnp.eye(2), jnp.diag(jnp.array([4.0, 0.0]))),
        (jv.Contact(down, 0.0, jv.LinearContact(40.0)),),
        (*pulls, shake),
        (jv.ContactFriction(along, 0, coefficient, 0.4, 0.3),),
    )


def loaded(scale):
    """Return two bodies under a weight, a Fourier series and a record."""
    linear = line("ab", mass=1.0, stiffness=20.0, damping=0.3)
    record = jv.RecordLoad([0.2, 0.5, 1.1, 1.4], [0.0, 2.0, -1.0, 0.0], scale=scale)
    laws = jv.ConstantLoad(3.0), jv.FourierLoad(4.0, [1.0, 0.5], [0.0, -0.3]), record
    loads = zip("aba", laws, strict=True)
    places = tuple(jv.AppliedLoad(linear.direction(body), law) for body, law in loads)
    return jv.ImpactSystem(linear, (), places)


def line(names, *, mass, stiffness, damping):
    return jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=mass, stiffness=stiffness, damping=damping)
            for a, b in itertools.pairwise(["ground", *names])
        ]
    )


def three_bodies(gap):
    """Return three bodies in a line, each of which can hit the next."""
    linear = line("abc", mass=1.0, stiffness=40.0, damping=0.2)
    law = jv.HertzContact(2e4)
    contacts = [
        jv.Contact(linear.direction({"a": 1.0, "b": -1.0}), 0.02, law),
        jv.Contact(linear.direction({"b": 1.0, "c": -1.0}), gap, law),
    ]
    push = jv.AppliedLoad(linear.direction("a"), jv.HarmonicLoad(3.0, 4.0))
    return jv.ImpactSystem(linear, tuple(contacts), (push,))


def mesh(depth):
    """Return the relative motion of two gears with backlash and varying stiffness."""
    law, torque = jv.LinearContact(3.0), jv.ConstantLoad(0.1)
    waves = jv.HarmonicLoad(depth, 1.7), jv.HarmonicLoad(0.2, 1.7)
    flanks = [
        jv.Contact([sign], 0.1, law, name, wave)
        for sign, name, wave in zip((1.0, -1.0), ("ahead", "behind"), waves, strict=True)
    ]
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[0.2]])
    return jv.ImpactSystem(linear, flanks, (jv.AppliedLoad([1.0], torque),))


def gears(inertia):
    """Return three wheels on elastic shafts, whose teeth touch on either flank."""
    radii = {"a": 0.10, "b": 0.15, "c": 0.06}
    inertias = {"a": inertia, "b": 0.05, "c": 0.01}
    shafts = [jv.AngularSpring("ground", n, stiffness=9.0, damping=0.06) for n in radii]
    train = jv.assemble([*(jv.PointInertia(n, j) for n, j in inertias.items()), *shafts])
    contacts = [
        jv.Contact(train.direction({a: s * radii[a], b: s * radii[b]}), 1e-3, law)
        for law in (jv.HertzContact(3e5),)
        for a, b in itertools.pairwise(radii)
        for s in (1.0, -1.0)
    ]
    push = jv.AppliedLoad(train.direction("a"), jv.HarmonicLoad(2.0, 13.0))
    return jv.ImpactSystem(train, tuple(contacts), (push,))


def tower(stiffness):
    """Return four floors, whose roof meets a soft linear stop."""
    linear = line(["1", "2", "3", "roof"], mass=2.0, stiffness=300.0, damping=0.8)
    stop = jv.Contact(linear.direction("roof"), 0.02, jv.LinearContact(stiffness))
    push = jv.AppliedLoad(linear.direction("1"), jv.HarmonicLoad(12.0, 5.0))
    return jv.ImpactSystem(linear, (stop,), (push,))


def chain_with_stop(amplitude):
    """Return a clamped chain of three bodies and beams, with dampers and a stop."""
    chain = jv.BeamChain(bodies=3, gamma=1.0, ends="clamped")
    dampers = [jv.Spring("ground", f"{i}.y", damping=0.15) for i in range(3)]
    whole = chain.assembled().added(*dampers)
    push = jv.AppliedLoad(whole.direction("0.y"), jv.HarmonicLoad(amplitude, 0.8))
    stop = jv.Contact(whole.direction("2.y"), 0.04, jv.HertzContact(30.0))
    return jv.ImpactSystem(whole, (stop,), (push,))


def cart_and_rod(length):
    """Return a driven cart that carries a hanging rod: an assembly without contacts."""
    linear = jv.assemble(
        [
            jv.TranslationTranslation(
                "ground", "cart", mass=2.0, stiffness=100.0, damping=0.5
            ),
            jv.TranslationRotation("cart", "rod", mass=1.0, length=length, stiffness=3.0),
        ]
    )
    push = jv.AppliedLoad(linear.direction("cart"), jv.HarmonicLoad(1.0, 4.0))
    return jv.ImpactSystem(linear, (), (push,))


def forced(field, parameter, dimension=2, **others):
    """Return the system of a vector field as a function of one parameter."""
    return lambda value: jv.forced_system(
        field, parameters={parameter: value, **others}, period=turn, dimension=dimension
    )


def turn(p):
    return 2 * jnp.pi / p["w"]


def duffing(t, x, p):
    spring = x[0] + p["cubic"] * x[0] ** 3
    return jnp.stack([x[1], 0.5 * jnp.cos(p["w"] * t) - spring - 0.2 * x[1]])


def van_der_pol(t, x, p):
    """Return a rate whose divergence depends on the state."""
    grows = p["mu"] * (1.0 - x[0] ** 2) * x[1]
    return jnp.stack([x[1], grows - x[0] + 0.4 * jnp.cos(p["w"] * t)])


def swinging(x, p):
    return jnp.stack([x[1], p["mu"] * (1.0 - x[0] ** 2) * x[1] - x[0]])


def self_excited(mu):
    return jv.autonomous_system(swinging, parameters={"mu": mu}, dimension=2)


def shaken_pendulum(t, x, p):
    """Return the rate of a pendulum whose support is shaken up and down."""
    gravity = 1.0 + p["drive"] * jnp.cos(p["w"] * t)
    return jnp.stack([x[1], -gravity * jnp.sin(x[0]) - 0.1 * x[1]])


def coupled(t, x, p):
    """Return the rate of two cubic oscillators on a spring between them."""
    link = p["k"] * (x[0] - x[1])
    first = jnp.cos(p["w"] * t) - x[0] - x[0] ** 3 - 0.1 * x[2] - link
    return jnp.stack([x[2], x[3], first, link - x[1] - x[1] ** 3 - 0.1 * x[3]])


MOTIONS = {
    "two bodies, rigid": Case(
        two_bodies(RIGID), "load.frequency", (5.0, 8.0), 0.02, 0.5, 1.1
    ),
    "two bodies, soft": Case(
        two_bodies(SOFT), "load.frequency", (5.0, 8.0), 0.02, 0.5, 1.1
    ),
    "hard stop": Case(hard_stop, "contacts.0.law.restitution", (0.5, 1.0), 0.15, 0.5, 6.0),
    "damped bodies": Case(
        damped_bodies, "contact.damping", (0.1, 0.4), 0.02, 0.5, 1.1, turns=False
    ),
    "damped stop": Case(
        damped_stop,
        "contacts.0.law.damping",
        (0.5, 1.5),
        0.15,
        0.5,
        6.0,
        smooth=False,
        turns=False,
    ),
    "brake": Case(
        brake, "frictions.0.force", (0.2, 0.4), 0.15, 0.3, 6.0, smooth=False, turns=False
    ),
    "rub": Case(
        rubbed,
        "frictions.0.coefficient",
        (0.2, 0.3),
        0.15,
        0.3,
        6.0,
        smooth=False,
        turns=False,
    ),
    "loads": Case(loaded, "loads.2.law.scale", (0.5, 1.5), 0.05, 0.3, 2.0),
    "self-excited": Case(self_excited, "mu", (0.3, 0.8), 1.0, 1.0, 5.0),
    "three bodies": Case(three_bodies, "contacts.1.gap", (0.01, 0.03), 5e-3, 0.3, 1.5),
    "gears": Case(gears, "linear.modules.a.inertia", (0.01, 0.03), 3e-3, 0.3, 0.4),
    "mesh": Case(mesh, "contacts.ahead.variation.amplitude", (0.1, 0.3), 0.3, 0.3, 6.0),
    "tower with stop": Case(tower, "contacts.0.law.stiffness", (2e3, 4e3), 5e-3, 0.1, 1.2),
    "chain with stop": Case(
        chain_with_stop, "loads.0.law.amplitude", (0.2, 0.3), 0.02, 0.1, 6.0
    ),
    "cart and rod": Case(
        cart_and_rod, "linear.modules.cart-rod.length", (0.6, 1.0), 0.2, 0.2, 2.0
    ),
    "Duffing": Case(forced(duffing, "cubic", w=1.2), "cubic", (0.5, 1.5), 1.0, 1.0, 5.0),
    "van der Pol": Case(
        forced(van_der_pol, "mu", w=1.1), "mu", (0.3, 0.8), 1.0, 1.0, 5.0, 0.3
    ),
    "shaken pendulum": Case(
        forced(shaken_pendulum, "drive", w=1.9), "drive", (0.2, 0.6), 1.0, 1.0, 5.0, 1.0
    ),
    "coupled oscillators": Case(
        forced(coupled, "k", 4, w=1.3), "k", (0.1, 0.5), 1.0, 1.0, 4.0
    ),
}


def springs(stiffness):
    modules = [
        jv.TranslationTranslation("ground", "a", mass=1.0, stiffness=stiffness),
        jv.TranslationTranslation("a", "b", mass=2.0, stiffness=30.0),
    ]
    return jv.assemble(modules)


def carrying_beam(stiffness):
    beam = jv.Beam(2.0, 1.5, 30.0, ends=("clamped", "free"))
    return jv.oscillators_on_beam(
        beam, [0.7, 1.6], [0.4, 0.3], [stiffness, 50.0], [0.1, 0.0]
    )


def massive_beam(mass):
    return jv.lumped_masses_on_beam(
        jv.Beam(1.0, 0.8, 12.0, ends=("hinged", "hinged")), [0.3], [mass]
    )


def chain(gamma):
    return jv.BeamChain(bodies=6, gamma=gamma, ends="clamped")


STILLS = {
    "chain": Case(chain, "gamma", (0.5, 2.0)),
    "springs": Case(springs, "modules.ground-a.stiffness", (10.0, 20.0)),
    "beam with oscillators": Case(carrying_beam, "link_stiffness.0", (50.0, 100.0)),
    "beam with a mass": Case(massive_beam, "link_inertance.0", (0.2, 0.5)),
}
