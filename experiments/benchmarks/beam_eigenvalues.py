"""First 10 eigenvalues of many cantilevers with three oscillators: jaxvib and peers.

    python experiments/benchmarks/beam_eigenvalues.py [DESIGNS] [RESULT.json]

jaxvib computes all designs; the peers, which take up to a second each, run on a sample
of the same designs, alternating with jaxvib, and their time per design is that of the
sample. On a CPU everything runs in one thread on one core, so that no library is slowed
by the threads of another, and CPU time is reported, which other programs do not affect;
jaxvib is then also timed on all cores in wall time. On a GPU jaxvib runs there and the
peers on the CPU as before. Errors are relative, the largest of the 10 values of a
design, compared with the roots of the determinant of the links in 40 digits.
Compilation is timed separately.

Peers: dense quadratic eigenproblems of 160 cubic Hermite elements and of elements of
higher degree (the cheapest mesh that reaches 1e-8 in the median; the other meshes are
listed too); the secant method on the determinant of the links, with initial values
accurate to three digits and no certificate: `scipy.optimize.newton`, and the same in
mpmath with 16 digits.
"""

# ruff: noqa: E402  (threads and cores are set before anything reads them)
import cmath
import functools
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

ALONE = "--on-all-cores" not in sys.argv
LOAD = os.getloadavg()[0]
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {os.cpu_count() - 1} if ALONE else range(os.cpu_count()))

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import scipy
import scipy.optimize

import jaxvib as jv

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "modes" / "beams"))
from finite_elements import eigenvalues

BEAM = jv.Beam(1.0, 1.0, 1.0, ("clamped", "free"))
MESHES = {
    "160 cubic Hermite elements": (160, 3),
    "6 elements of degree 7": (6, 7),
    "8 elements of degree 7": (8, 7),
    "4 elements of degree 9": (4, 9),
    "3 elements of degree 10": (3, 10),
    "5 elements of degree 9": (5, 9),
}
TURNS = 3
AIMS = {"160 cubic Hermite elements": 500, "best mesh of higher degree": 10,
        "scipy Newton": 40, "mpmath Newton": 2000}  # fmt: skip


def cantilever(sample):
    return jv.BeamWithBodies(
        BEAM,
        sample["positions"],
        sample["stiffness"],
        sample["damping"],
        np.eye(3),
        jnp.diag(sample["masses"]),
    )


def draw(number):
    random = np.random.default_rng(7)
    return {
        "positions": np.sort(random.uniform(0.05, 1.0, (number, 3)), axis=1),
        "stiffness": 10 ** random.uniform(-1, 3, (number, 3)),
        "damping": 10 ** random.uniform(-2, 0, (number, 3)),
        "masses": 10 ** random.uniform(-2, 0, (number, 3)),
    }


def by_elements(sample, elements, degree):
    arguments = (sample["positions"], sample["stiffness"], sample["damping"])
    masses = np.diag(sample["masses"])
    return eigenvalues(
        ("clamped", "free"), *arguments, np.eye(3), masses, elements=elements, degree=degree
    )[:10]


def determinant(value, sample, math):
    """Return the determinant of a cantilever's links, times that of the bare beam.

    det(I + G W) with Green functions by Krylov's functions and W the impedances of links
    and bodies, all in plain numbers of `math`: cmath or mpmath.
    """
    wave = math.sqrt(math.sqrt(-(value**2)))
    places = sample["positions"]

    def krylov(x, order):
        z, odd = wave * x, order % 2
        growing = (math.sinh, math.cosh)[odd](z)
        turning = (math.sin, math.cos)[odd](z) * (-1) ** (order // 2)
        return (growing - turning) * wave ** (order - 3) / 2

    a, b, c = krylov(1, 3), krylov(1, 2), krylov(1, 4)
    bare = a * a - b * c
    # what a force at s leaves to be undone at the free end, and by which two waves
    forces = []
    for s in places:
        moment, shear = krylov(1 - s, 2), krylov(1 - s, 3)
        forces.append(((b * shear - a * moment) / bare, (c * moment - a * shear) / bare))
    shapes = [(krylov(x, 1), krylov(x, 0)) for x in places]
    rows = []
    for i, (first, second) in enumerate(shapes):
        row = []
        for j, (p, q) in enumerate(forces):
            direct = krylov(places[i] - places[j], 0) if i > j else 0
            link = sample["stiffness"][j] + value * sample["damping"][j]
            inertia = value * value * sample["masses"][j]
            impedance = link * inertia / (link + inertia)
            row.append((i == j) + (p * first + q * second + direct) * impedance)
        rows.append(row)
    (a, b, c), (d, e, f), (g, h, i) = rows
    return bare * (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


def by_scipy(sample, starts):
    plain = {name: values.tolist() for name, values in sample.items()}
    return np.array(
        [
            scipy.optimize.newton(determinant, complex(s), args=(plain, cmath), tol=1e-13,
                                  maxiter=50, disp=False)
            for s in starts
        ]
    )  # fmt: skip


def by_mpmath(sample, starts, digits=16):
    plain = {name: [mpmath.mpf(v) for v in values] for name, values in sample.items()}
    found = []
    with mpmath.workdps(digits):
        for s in starts:
            near = mpmath.mpc(complex(s))
            pair = (near, near * (1 + mpmath.mpf("1e-4")))
            root = mpmath.findroot(lambda value: determinant(value, plain, mpmath), pair,
                                   solver="secant", tol=mpmath.mpf(10) ** (-2 * digits),
                                   verify=False, maxsteps=50)  # fmt: skip
            found.append(complex(root))
    return np.array(found)


def error(found, exact):
    """Return the largest relative error, each value against the nearest exact one."""
    apart = np.abs(found[:, None] - exact) / np.abs(exact)
    return float(np.max(np.min(apart, axis=0)))


def seconds(function, *arguments):
    # what others do on the same core is no part of it, where one core is all there is
    alone = ALONE and jax.default_backend() == "cpu"
    clock = time.process_time if alone else time.perf_counter
    begin = clock()
    found = function(*arguments)
    return clock() - begin, found


def main(number, path):
    samples = draw(number)
    first_call, _ = seconds(
        jv.modes.beam_spectra, cantilever, {k: v[:64] for k, v in samples.items()}
    )
    jv.modes.beam_spectra(cantilever, samples)  # compiles what the few late designs need
    if not ALONE:
        times = [seconds(jv.modes.beam_spectra, cantilever, samples)[0] for _ in range(3)]
        print(1e3 * min(times) / number)
        return
    peers = {name: (4 if mesh[0] == 160 else 20, functools.partial(_meshed, mesh))
             for name, mesh in MESHES.items()}  # fmt: skip
    peers |= {"scipy Newton": (20, by_scipy), "mpmath Newton": (4, by_mpmath)}
    ours, times = [], {name: [] for name in peers}
    errors = {name: [] for name in ("jaxvib", *peers)}
    for turn in range(TURNS):
        taken, spectra = seconds(jv.modes.beam_spectra, cantilever, samples)
        ours.append(taken / number)
        places = np.linspace(turn, number - 1, 20).astype(int)
        chosen = [{name: values[i] for name, values in samples.items()} for i in places]
        exact = [
            by_mpmath(s, spectra.values[i], 40) for s, i in zip(chosen, places, strict=True)
        ]
        errors["jaxvib"] += [
            error(spectra.values[i], e) for i, e in zip(places, exact, strict=True)
        ]
        for name, (size, peer) in peers.items():
            total = 0.0
            for sample, roots in list(zip(chosen, exact, strict=True))[:size]:
                # Newton's starts are right to three digits
                taken, found = seconds(peer, sample, roots * (1 + 1e-3))
                total += taken
                errors[name].append(error(found, roots))
            times[name].append(total / size)
    best = {name: 1e3 * min(each) for name, each in times.items()}
    mine = 1e3 * min(ours)
    good = [n for n in MESHES if MESHES[n][1] > 3 and np.median(errors[n]) <= 1e-8]
    ratio = {name: best[name] / mine for name in best}
    ratio["best mesh of higher degree"] = min(ratio[name] for name in good)
    command = [sys.executable, __file__, str(number), "--on-all-cores"]
    all_cores = float(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    result = {
        "designs": number,
        "machine": {
            "device": jax.devices()[0].device_kind,
            "processor": _processor(),
            "cores_for_all": os.cpu_count(),
            "load_before": LOAD,
            "timed": "one thread on one core, processor time; peers: mean of a sample of "
            f"the designs, least of {TURNS} turns; ours: all designs, least of {TURNS}",
        },
        "versions": {
            "python": platform.python_version(), "jax": jax.__version__,
            "numpy": np.__version__, "scipy": scipy.__version__,
            "mpmath": mpmath.__version__,
        },
        "first_call_s": first_call,
        "certified": float(np.mean(spectra.certified)),
        "done_again": float(np.mean(spectra.repeated)),
        "ms_per_design": {"jaxvib": mine, "jaxvib on all cores": all_cores} | best,
        "designs_of_sample": {"jaxvib": number} | {n: TURNS * peers[n][0] for n in peers},
        "error": {
            name: {"median": float(np.median(e)), "99 %": float(np.quantile(e, 0.99)),
                   "largest": float(np.max(e))}
            for name, e in errors.items()
        },
        "ratio": ratio,
        "aims": AIMS,
    }  # fmt: skip
    text = json.dumps(result, indent=1)
    print(text)
    if path:
        pathlib.Path(path).write_text(text + "\n")


def _meshed(mesh, sample, starts):
    return by_elements(sample, *mesh)


def _processor():
    file = pathlib.Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    main(int(given[0]) if given else 10_000, given[1] if len(given) > 1 else None)
