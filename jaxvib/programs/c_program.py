"""`export_c`: a system as a program in C, its header and its example."""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from ..ensemble import reason
from ..foundation.new_files import refuse_taken, write_new
from ..foundation.range import Range
from ..foundation.text import printable
from ..kernels.export.object_code import ObjectCode, Target, object_code, target_of
from ..systems.base.system import System
from ..systems.parameters import part_names
from .motion_functions import RETURN_CODES, RTOL, MotionFunctions, unique_names

_ABOUT = {
    "rest": "the state at rest, in which the example starts.",
    "motion": "the state `after` and the contact `forces` (N) at t1 of the motion in "
    "`state` at t0 (s).",
    "sensitivity": "`motion`, and the change `d_after` of its end with small changes of "
    "its arguments. One call per unit vector as `d_state` gives the columns of the "
    "monodromy matrix, as `d_parameters` the derivatives by the parameters.",
    "derivatives": "the rates of a state, the contact `forces` (N) and the `gaps` (m, "
    "negative in contact) at a time (s). They omit the force that holds a body at a "
    "hard stop, and friction sticks only if the sliding velocity is exactly 0, which "
    "rounding may hide; `motion` has all of these forces.",
    "period": "the common period of the loads, s.",
    "response": "the motion over one period from t0: the state `after`, its derivatives "
    "by `state` (the monodromy matrix, row by row) and the largest force of each "
    "contact (N).",
    "impact": "the state after an impact at a hard stop, by its number; unchanged for "
    "other contacts and for bodies that separate.",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_OPTIONAL = ("sensitivity", "response")


def export_c(
    system: System,
    directory: Path | str,
    *,
    name: str = "system",
    target: str = "host",
    processor: str = "",
    features: str = "",
) -> Path:
    r"""Write the motions of a system as an object file, and return its folder.

    The folder gets `NAME.o` and `NAME.h`, an example in C and a `README.txt` that says how
    to compile it. The functions are those of `flow`, for all values of the parameters:

    - `NAME_motion`: state and contact forces after a motion from $t_0$ to $t_1$
    - `NAME_sensitivity`: its derivative along a change of state, times and parameters
    - `NAME_response`, `NAME_period`: a period of the load, with the monodromy matrix
      and the largest contact forces
    - `NAME_derivatives`: $\dot y$, contact forces and gaps in a state
    - `NAME_rest`; for hard stops `NAME_impact`

    They need no library and allocate nothing. `motion`, `sensitivity` and `response`
    return a code of `Reason`; the others check nothing. `derivatives` leaves out the force
    that holds a body at a hard stop, and holding friction unless the sliding velocity is
    exactly 0.

    With fused multiply-adds, results are bit-identical to those in Python: tested on x86-64
    and, emulated, on AArch64, RISC-V, Cortex-M7 and Cortex-M55.

    `name`: a prefix of all names; `target`: "host", "x86-64" (processors since 2013),
    "aarch64", "cortex-a53", "cortex-m7", "cortex-m55", "riscv64" or a target triple of
    LLVM with ELF object files; `processor` and `features` in LLVM's notation.

    Motions are computed in float64. A processor without it, such as a Cortex-M4, is
    refused: event times and contact forces of stiff contacts need more than the seven
    digits of float32.

    **Raises:** `ValueError` for a name that is no identifier of C, an unknown target,
    processor or feature, a processor that cannot compute doubles, a system whose motions
    cannot be compiled, or files that exist; nothing is written then. A `sensitivity` or
    `response` that would be too long, or needs what the processor lacks, is left out,
    which `README.txt` states.

    >>> import pathlib, tempfile
    >>> folder = jv.programs.export_c(system, pathlib.Path(tempfile.mkdtemp()) / "damper")
    >>> sorted(file.name for file in folder.iterdir())
    ['README.txt', 'example.c', 'system.h', 'system.o']
    """
    check_name(name)
    directory = Path(directory)
    names = f"{name}.o", f"{name}.h", "example.c", "README.txt"
    refuse_taken(directory / each for each in names)
    machine = target_of(target, processor, features)
    functions = MotionFunctions(system)
    named = {f"{name}_{verb}": each for verb, each in functions.all().items()}
    compiled = object_code(named, machine, [f"{name}_{verb}" for verb in _OPTIONAL])
    program = CProgram(name, system, functions, compiled, machine)
    texts = program.header(), program.example(), program.instructions()
    contents = [compiled.code, *(text.encode() for text in texts)]
    write_new({directory / k: each for k, each in zip(names, contents, strict=True)})
    return directory


def check_name(name: str) -> None:
    """Raise `ValueError` for a name that is not an identifier of C."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"name = {name!r}; allowed: a letter, then letters, digits and underscores"
        )


class CProgram(NamedTuple):
    """Texts of a program; `name` is the prefix of all names in them."""

    name: str
    system: System
    functions: MotionFunctions
    compiled: ObjectCode
    target: Target

    def header(self) -> str:
        """Return the header: sizes, parameters with defaults, codes and functions."""
        upper, numbers = self.name.upper(), self.functions.parameters.numbers
        entries = unique_names([number.path.upper() for number in numbers])
        indices = "\n".join(
            f"#define {upper}_P_{entry} {place}"
            f" /* {_described(number.description, number.unit, number.allowed)} */"
            for place, (entry, number) in enumerate(zip(entries, numbers, strict=True))
        )
        labels = self.system.labels
        states = "\n".join(
            f" *   {place}: {_plain(labels.name(place))}, {labels.unit(place) or '-'}"
            for place in range(len(self.system.state_names))
        )
        # C has no arrays without entries.
        values = (
            ",\n    ".join(
                f"{number.value!r} /* {_plain(number.path)} */" for number in numbers
            )
            or "0.0"
        )
        functions = "\n\n".join(
            f"{_comment(_ABOUT[name.removeprefix(f'{self.name}_')])}\n{_wrapped(declaration)}"
            for name, declaration in self.compiled.declarations.items()
        )
        contacts = part_names(self.system.contacts)
        named = "".join(
            f"\n *   {k}: {'without a name' if name == str(k) else _plain(name)}"
            for k, name in enumerate(contacts)
        )
        return f"""/* Motions of a system by jaxvib's kernels, in SI units and rad.
 *
 * Entries of a state:
{states}
 * Contacts:{named or " none"}
 * Arrays must not overlap. Functions allocate nothing, and may run in several threads
 * {self._threads()}. Results of a failed motion are NaN. */
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {upper}_STATES {len(self.system.state_names)}
#define {upper}_CONTACTS {len(contacts)} /* arrays of forces have one entry without any */
#define {upper}_PARAMETERS {len(numbers)}
#define {upper}_WORKSPACE {self.compiled.workspace} /* bytes, aligned to 64 */
#define {upper}_RTOL {RTOL!r} /* relative tolerance: larger is faster */

/* Places of the parameters, with unit and allowed range. */
{indices}

static const double {self.name}_defaults[] = {{
    {values}
}};

/* Return codes of motion, sensitivity and response; others have none. */
{_codes(upper)}

{functions}

#ifdef __cplusplus
}}
#endif
#endif
"""

    def example(self) -> str:
        """Return a program that prints a motion from rest, at ten times."""
        upper, name = self.name.upper(), self.name
        workspace = self.compiled.workspace
        memory = f"static _Alignas(64) char workspace[{upper}_WORKSPACE];\n\n"
        passed = ", workspace" if workspace else ""
        periodic = f"{name}_period" in self.compiled.declarations
        span = f"{name}_period({name}_defaults)" if periodic else "1.0"
        over = "one period" if periodic else "1 s"
        return f"""/* A motion from rest over {over}, in ten parts. */
#include <stdio.h>
#include "{name}.h"

{memory if workspace else ""}int main(void) {{
    double parameters[{upper}_PARAMETERS + 1];
    double state[{upper}_STATES], after[{upper}_STATES];
    double forces[{upper}_CONTACTS + 1];
    for (int k = 0; k < {upper}_PARAMETERS; k++)
        parameters[k] = {name}_defaults[k];
    {name}_rest(parameters, state);
    double span = {span};
    for (int part = 1; part <= 10; part++) {{
        double t0 = span * (part - 1) / 10, t1 = span * part / 10;
        int32_t code = {name}_motion(
            parameters, t0, t1, {upper}_RTOL, state, after, forces{passed});
        if (code != {upper}_SUCCESS) {{
            fprintf(stderr, "motion failed at %g s with code %d\\n", t0, (int)code);
            return 1;
        }}
        printf("%.17g", t1);
        for (int k = 0; k < {upper}_STATES; k++) {{
            state[k] = after[k];
            printf(" %.17g", state[k]);
        }}
        for (int k = 0; k < {upper}_CONTACTS; k++)
            printf(" %.17g", forces[k]);
        printf("\\n");
    }}
    return 0;
}}
"""

    def instructions(self) -> str:
        """Return the text of the README."""
        name, parameters = self.name, self.functions.parameters
        paragraphs = [
            f"Motions of a system ({type(self.system).__name__}) in C, computed by "
            "jaxvib's kernels.",
            f"{name}.o holds the functions, compiled for the processor "
            f"{self.target.processor or 'generic'} of {self.target.triple} "
            f"({self.compiled.machine}); {name}.h declares them and documents every "
            "parameter. They need no other library: no Python, no libm, no allocation.",
            "Compile the example with the C compiler of the target:",
            f"    cc -o example example.c {name}.o",
            "It prints the time, the state and the contact forces.",
            _bits(self.compiled.fused),
        ]
        if parameters.constants:
            paragraphs.append(
                f"Built in with their values: {', '.join(parameters.constants)}."
            )
        if parameters.derived:
            paragraphs.append(
                "Follow from other parameters by a formula of the system: "
                f"{', '.join(parameters.derived)}."
            )
        paragraphs += [f"Left out: {why}." for why in self.compiled.left_out.values()]
        return (
            "\n\n".join(
                each if each.startswith("    ") else textwrap.fill(each, 88)
                for each in paragraphs
            )
            + "\n"
        )

    def _threads(self) -> str:
        if self.compiled.workspace:
            return "at the same time, each with a workspace of its own"
        return "at the same time"


def _bits(fused: bool) -> str:
    if fused:
        return (
            "Products in sums are fused multiply-adds and elementary functions are "
            "jaxvib's own: results are bit-identical to those in Python. Tested on "
            "x86-64, and emulated on AArch64, RISC-V, Cortex-M7 and Cortex-M55."
        )
    return (
        "The processor has no fused multiply-add: each product is rounded before it is "
        "added, and results differ from those in Python by rounding."
    )


def _codes(upper: str) -> str:
    return "\n".join(
        f"#define {upper}_{code.name} {int(code)} /* {reason(code)} */"
        for code in RETURN_CODES
    )


def _described(description: str, unit: str, allowed: Range) -> str:
    inside = "" if allowed == Range() else f", in {allowed}"
    return _plain(f"{description or 'parameter'}, {unit or '-'}{inside}")


def _plain(text: str) -> str:
    """Return a text in one line that neither ends a comment nor begins one."""
    return printable(text).replace("*/", "* /").replace("/*", "/ *")


def _wrapped(declaration: str) -> str:
    return "\n".join(textwrap.wrap(declaration, 88, subsequent_indent="    "))


def _comment(text: str) -> str:
    lines = textwrap.wrap(f"Give {text}", 84)
    return "/* " + "\n * ".join(lines) + " */"
