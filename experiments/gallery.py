"""Run the built-in studies for the gallery, or write its page from stored runs.

    python -m experiments.gallery run [NAME ...]    # some seconds to minutes each
    python -m experiments.gallery                   # docs/gallery.md from stored runs

A run stores the terminal output and the cost in `experiments/gallery.json`, and one of
the study's pictures in `docs/gallery/`. The text of the page comes from the configs.
"""

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
CONFIGS, PICTURES = ROOT / "configs", ROOT / "docs" / "gallery"
STORED, PAGE = ROOT / "experiments" / "gallery.json", ROOT / "docs" / "gallery.md"
# Of a study with several pictures the one that tells most; else the first.
SHOWN = {
    "beam_chain": "energy_split",
    "beam_placement": "design_history",
    "beam_with_bodies": "root_locus",
    "brake": "amplitude",
    "brake_pad": "amplitude",
    "cantilever_stop": "regimes",
    "capsule": "progress",
    "chain_with_stop": "energy_density",
    "damper_front": "pareto_front",
    "duffing": "regimes",
    "exchanger_tube": "work_rate",
    "pendulum": "amplitude_curves",
    "quick": "regimes",
    "regime_map": "regimes",
    "rotor_rub": "amplitude",
    "rubbing_rotor": "max_contact_force",
    "tower_motion": "freedoms",
    "stability_chart": "stability_chart",
    "vibro_impact_2011": "amplitude",
    "wave_packet": "energy_density",
}
WIDTH = 900  # pixels of a picture
FAMILIES = {
    "two_body_impact": "Two bodies that collide",
    "beam_with_bodies": "Beams with bodies",
    "beam_chain": "Chains of bodies joined by beams",
    "assembly": "Assemblies",
    "impact_assembly": "Assemblies with contacts",
    "elastic_impact": "Elastic structures that hit",
}
_SKIPPED = ("results", "report", "next")  # lines of the terminal that name folders


def run(name: str) -> dict:
    """Run a built-in study in a temporary folder and return its output."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "jaxvib", "run", name, "--out", folder],
            capture_output=True,
            text=True,
            check=False,
        )
        wall = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{name}: {done.stderr}")
        drawing = [sys.executable, "-m", "jaxvib", "report", folder, "--pictures"]
        subprocess.run(drawing, stdout=subprocess.DEVNULL, check=True)
        kept = ROOT / "results" / "gallery" / name
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(Path(folder) / "pictures", kept)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(_SKIPPED)]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "said": [line.replace(folder, "...") for line in lines],
        "wall": round(wall, 1),
        "processor": round(seconds, 1),
        "pictures": sorted(path.name for path in kept.iterdir()),
    }


def shown(name: str) -> Path:
    """Return where a study's picture is kept."""
    return PICTURES / f"{name}.png"


def keep(name: str, pictures: list[str]) -> None:
    """Keep the picture of a study that was run, small enough for a page of thirty."""
    drawn = [picture for picture in pictures if picture.endswith(".png")]
    wanted = f"{SHOWN.get(name)}.png"
    source = ROOT / "results" / "gallery" / name / (wanted if wanted in drawn else drawn[0])
    PICTURES.mkdir(exist_ok=True)
    with Image.open(source) as picture:
        height = round(picture.height * WIDTH / picture.width)
        small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
    # By coverage, a class of a few cells keeps its colour.
    few = small.quantize(96, method=Image.Quantize.MAXCOVERAGE)
    few.save(shown(name), optimize=True)


def section(name: str, stored: dict) -> str:
    """Return the Markdown of one study."""
    path = CONFIGS / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    about = " ".join(re.findall(r"^# (.+)$", text.partition("title =")[0], re.MULTILINE))
    lines = [f"### {tomllib.loads(text)['title']}", "", about, ""]
    if shown(name).exists():
        lines += [f"![{about}](gallery/{name}.png){{ loading=lazy }}", ""]
    lines += ["```bash", f"jaxvib run {name}", "```", ""]
    if name in stored:
        said = "\n".join(f"    {line}" for line in stored[name]["said"][2:])
        cost = f"{stored[name]['processor']:.0f} s of processor time"
        lines += [f'??? note "Terminal output ({cost})"', "", "    ```text"]
        lines += [said, "    ```", ""]
    config = textwrap.indent(text.rstrip("\n"), "    ")
    lines += ['??? note "The config"', "", "    ```toml", config, "    ```", ""]
    return "\n".join(lines)


def page() -> str:
    """Return the page's text."""
    stored = json.loads(STORED.read_text("utf-8"))
    kinds = {
        path.stem: tomllib.loads(path.read_text("utf-8"))["system"]["kind"]
        for path in sorted(CONFIGS.glob("*.toml"))
    }
    lines = [(ROOT / "experiments" / "gallery.md").read_text(encoding="utf-8")]
    for kind, title in FAMILIES.items():
        names = [name for name, one in kinds.items() if one == kind]
        lines += [f"## {title}", "", *(section(name, stored) for name in names)]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Run the studies named, or all."""
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    for name in arguments or sorted(path.stem for path in CONFIGS.glob("*.toml")):
        stored[name] = run(name)
        keep(name, stored[name]["pictures"])
        print(name, stored[name]["processor"], "s", flush=True)
        STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        main(sys.argv[2:])
    PAGE.write_text(page(), encoding="utf-8")
