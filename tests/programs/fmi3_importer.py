"""A small importer of FMI 3.0: an FMU called by ctypes and integrated by scipy."""

import ctypes
import zipfile
from xml.etree import ElementTree

import numpy as np
import scipy

LOG = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p
)


class FmiError(Exception):
    """A call that did not return fmi3OK; with the logged message."""


class Importer:
    """An instance of an FMU, for co-simulation or model exchange."""

    def __init__(self, file, folder, exchange, token=None):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        self.description = ElementTree.parse(folder / "modelDescription.xml").getroot()
        kind = self.description.find("ModelExchange" if exchange else "CoSimulation")
        (binary,) = (folder / "binaries").glob(f"*/{kind.get('modelIdentifier')}.so")
        self.library = ctypes.CDLL(str(binary))
        variables = self.description.find("ModelVariables")
        self.references = {
            each.get("name"): int(each.get("valueReference")) for each in variables
        }
        self.messages = []
        self._log = LOG(lambda *words: self.messages.append(words[3].decode()))
        given = (token or self.description.get("instantiationToken")).encode()
        start = b"one", given, b"", False, False
        callbacks = None, self._log
        verb = "ModelExchange" if exchange else "CoSimulation"
        if not exchange:
            start += (False, False, None, ctypes.c_size_t(0))
            callbacks += (None,)
        make = getattr(self.library, f"fmi3Instantiate{verb}")
        make.restype = ctypes.c_void_p
        self.instance = make(*start, *callbacks)
        if not self.instance:
            raise FmiError(self.messages[-1])

    def call(self, name, *arguments):
        """Call a function; raise `FmiError` unless it returns fmi3OK."""
        status = getattr(self.library, f"fmi3{name}")(
            ctypes.c_void_p(self.instance), *arguments
        )
        if status:
            raise FmiError(f"{name}: {self.messages[-1]}")

    def initialise(self, start=0.0, **values):
        double = ctypes.c_double
        self.call(
            "EnterInitializationMode", False, double(0.0), double(start), False, double(0.0)
        )
        for name, value in values.items():
            self.set(name, value)
        self.call("ExitInitializationMode")

    def get(self, name):
        reference, value = ctypes.c_uint32(self.references[name]), ctypes.c_double()
        one = ctypes.c_size_t(1)
        self.call("GetFloat64", ctypes.byref(reference), one, ctypes.byref(value), one)
        return value.value

    def set(self, name, value):
        self.set_all({name: value})

    def set_all(self, values):
        size = len(values)
        references = (ctypes.c_uint32 * size)(*(self.references[n] for n in values))
        numbers, size = (ctypes.c_double * size)(*values.values()), ctypes.c_size_t(size)
        self.call("SetFloat64", references, size, numbers, size)

    def derivatives(self, unknowns, known):
        """Return the derivatives of variables by one."""
        of = (ctypes.c_uint32 * len(unknowns))(*(self.references[n] for n in unknowns))
        by, seed = ctypes.c_uint32(self.references[known]), ctypes.c_double(1.0)
        values, size = (ctypes.c_double * len(unknowns))(), ctypes.c_size_t(len(unknowns))
        one = ctypes.c_size_t(1)
        self.call(
            "GetDirectionalDerivative", of, size, ctypes.byref(by), one,
            ctypes.byref(seed), one, values, size,
        )  # fmt: skip
        return np.array(values)

    def adjoint(self, unknowns, knowns, seed):
        """Return the derivatives of the sum of seed times unknowns by variables."""
        references = [
            (ctypes.c_uint32 * len(names))(*(self.references[n] for n in names))
            for names in (unknowns, knowns)
        ]
        sizes = ctypes.c_size_t(len(unknowns)), ctypes.c_size_t(len(knowns))
        values, seeds = (ctypes.c_double * len(knowns))(), (ctypes.c_double * len(seed))()
        seeds[:] = seed
        self.call(
            "GetAdjointDerivative", references[0], sizes[0], references[1], sizes[1],
            seeds, ctypes.c_size_t(len(seed)), values, sizes[1],
        )  # fmt: skip
        return np.array(values)

    def copied(self):
        """Return a copy of the state."""
        copy = ctypes.c_void_p()
        self.call("GetFMUState", ctypes.byref(copy))
        return copy

    def serialised(self, copy):
        """Return the bytes of a copy of the state."""
        size = ctypes.c_size_t()
        self.call("SerializedFMUStateSize", copy, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        self.call("SerializeFMUState", copy, content, size)
        return content.raw

    def restore(self, content):
        """Continue from the bytes of a copy."""
        copy = ctypes.c_void_p()
        size = ctypes.c_size_t(len(content))
        self.call("DeserializeFMUState", content, size, ctypes.byref(copy))
        self.call("SetFMUState", copy)
        self.call("FreeFMUState", ctypes.byref(copy))

    def step(self, time, step):
        flags = [ctypes.c_bool() for _ in range(3)]
        last, double = ctypes.c_double(), ctypes.c_double
        self.call(
            "DoStep", double(time), double(step), True, *map(ctypes.byref, flags),
            ctypes.byref(last),
        )  # fmt: skip
        return last.value

    def numbers(self, name, size):
        values = np.zeros(size)
        self.call(name, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(size))
        return values

    def update(self):
        """Return whether values changed, and the time of the next event or infinity."""
        flags = [ctypes.c_bool() for _ in range(5)]
        after = ctypes.c_double()
        self.call("UpdateDiscreteStates", *map(ctypes.byref, flags), ctypes.byref(after))
        return flags[3].value, after.value if flags[4].value else np.inf

    def integrate(self, end, size, indicators):
        """Integrate from 0 s by model exchange; return the times of impacts, and states."""

        def rates(t, y):
            self._put(t, y)
            return self.numbers("GetContinuousStateDerivatives", size)

        def event(place):
            def indicator(t, y):
                self._put(t, y)
                return self.numbers("GetEventIndicators", indicators)[place]

            indicator.terminal = True
            return indicator

        events = [event(place) for place in range(indicators)]
        time, times = 0.0, []
        _, limit = self.update()
        while time < end:
            state = self.numbers("GetContinuousStates", size)
            found = scipy.integrate.solve_ivp(
                rates, (time, min(end, limit)), state, "DOP853", events=events,
                rtol=1e-11, atol=1e-13, max_step=0.05,
            )  # fmt: skip
            time, state = found.t[-1], found.y[:, -1]
            if found.status == 1:  # go past the root, as rates of importers do
                time += 1e-13
                state = state + 1e-13 * rates(time, state)
            self._put(time, state)
            changed, limit = self.update()
            times += [time] if changed else []
        return np.array(times), self.numbers("GetContinuousStates", size)

    def _put(self, time, state):
        self.call("SetTime", ctypes.c_double(time))
        state = np.ascontiguousarray(state, float)
        self.call(
            "SetContinuousStates", state.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(state.size),
        )  # fmt: skip
