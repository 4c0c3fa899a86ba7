"""Twenty mistakes in a config, and what the one line that answers them has to say."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Typo:
    """What is written in place of what, and words that the message must hold."""

    correct: str
    wrong: str
    expected: tuple[str, ...]

    def put_into(self, config: str) -> tuple[str, int]:
        """Return the config with the mistake in it and the mistake's line."""
        if config.count(self.correct) != 1:
            raise ValueError(f"{self.correct!r} stands not once in the config")
        place = config.index(self.correct)
        line = config.count("\n", 0, place) + 1
        return config.replace(self.correct, self.wrong), line


TYPOS = (
    Typo("load.amplitude = {", "load.amplitud = {", ("load.amplitude",)),
    Typo("main.mass = 1000.0", "main.mas = 1000.0", ("main.mass",)),
    Typo("main.mass = 1000.0", "main.mass = -1.0", ("-1", "(0, inf)", "kg")),
    Typo("main.mass = 1000.0", "main.mass = true", ("true", "(0, inf)", "kg")),
    Typo("gap = 0.05", "gap = nan", ("nan", "[0, inf)", "m")),
    Typo("gap = 0.05", 'gap = "0.05"', ("0.05", "[0, inf)", "m")),
    Typo("attached.frequency = 5.646", "atached.frequency = 5.646", ("attached",)),
    Typo("load.phase = 0.0", "load.phase = inf", ("inf", "rad")),
    Typo("poissons_ratios = [0.3, 0.3]", "poissons_ratios = [0.3, 0.6]", ("0.6", "0.5")),
    Typo("youngs_moduli = [2.1e11, 2.1e11]", "youngs_moduli = [2.1e11]", ("2",)),
    Typo('kind = "periodic_orbit"', 'kind = "periodic_orbt"', ("periodic_orbit",)),
    Typo("max_periods = 8", "max_periods = 9", ("9", "8")),
    Typo("[analysis]", "[analisys]", ("analysis",)),
    Typo('method = "grid"', 'method = "gird"', ("grid",)),
    Typo("linspace = [5.0, 8.0, 64]", "linspace = [-5.0, 8.0, 64]", ("-5", "(0, inf)")),
    Typo("linspace = [5.0, 8.0, 64]", "linspce = [5.0, 8.0, 64]", ("linspace",)),
    Typo("rtol = 1e-8", "rtol = 0.0", ("rtol", "0")),
    Typo("chunk = 1024", "chunk = 0.5", ("chunk", "0.5")),
    Typo('evidence = "checked"', 'evidence = "check"', ("checked",)),
    Typo('device = "auto"', 'device = "auto', ()),
)
