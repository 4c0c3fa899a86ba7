"""Run the built-in studies for the gallery, or write its page from stored runs.

    python -m experiments.gallery run [NAME ...]    # some seconds to minutes each
    python -m experiments.gallery                   # the pages, from stored runs

A run stores the terminal output and the cost in `experiments/gallery.json`, and one of
the study's pictures in `docs/gallery/`. `docs/gallery.md` shows each study as a tile that
leads to its page in `docs/gallery/`, with the config; the texts come from the configs.
"""

import html
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
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
    "valve_train": "max_contact_force",
    "stability_chart": "stability_chart",
    "vibro_impact_2011": "amplitude",
    "wave_packet": "energy_density",
}
WIDTH, SMALL = 900, 320  # pixels of a picture, and of one on a tile
FAMILIES = {
    "two_body_impact": "Two bodies that collide",
    "beam_with_bodies": "Beams with bodies",
    "beam_chain": "Chains of bodies joined by beams",
    "assembly": "Assemblies",
    "impact_assembly": "Assemblies with contacts",
    "elastic_impact": "Elastic structures that hit",
}
_SKIPPED = ("results", "report", "next")  # lines of the terminal that name folders
_OF_THE_RUN = ("done", "failed", "evidence", "live", "and ")  # not about the machine


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


def about(name: str) -> tuple[str, str]:
    """Return the title of a study, and the sentence above its config."""
    text = (CONFIGS / f"{name}.toml").read_text(encoding="utf-8")
    words = re.findall(r"^# (.+)$", text.partition("title =")[0], re.MULTILINE)
    return tomllib.loads(text)["title"], " ".join(words)


def alternative(name: str, stored: dict) -> str:
    """Return a picture's alternative text: what it shows, and the study's numbers."""
    said = stored.get(name, {"said": []})["said"][2:]
    lines = [" ".join(line.split()) for line in said if not line.startswith(_OF_THE_RUN)]
    words = " ".join([about(name)[1], "; ".join(lines[:3])]).strip()
    return html.escape(words.translate(str.maketrans("[]", "()")))  # they end Markdown's


def study_page(name: str, stored: dict) -> str:
    """Return the Markdown of one study's page."""
    title, words = about(name)
    lines = [f"# {title}", "", words, ""]
    if shown(name).exists():
        lines += [f"![{alternative(name, stored)}]({name}.png)", ""]
    lines += ["```bash", f"jaxvib run {name}", "```", ""]
    if name in stored:
        cost = f"{stored[name]['processor']:.0f} s of processor time"
        lines += [f"In the terminal ({cost}):", "", "```text"]
        lines += [*stored[name]["said"][2:], "```", ""]
    config = (CONFIGS / f"{name}.toml").read_text(encoding="utf-8").rstrip("\n")
    lines += [f"`jaxvib new {name} FILE` writes the config:", "", "```toml", config, "```"]
    return "\n".join([*lines, "", "[All studies](../gallery.md)", ""])


def tile(name: str, stored: dict) -> str:
    """Return the HTML of one study's tile: a small picture, a line, the command."""
    title, _ = about(name)
    alt = alternative(name, stored)
    picture = f'<img src="gallery/small/{name}.png" alt="{alt}" loading="lazy">'
    picture = picture if shown(name).exists() else ""
    words = f"<strong>{html.escape(title)}</strong><code>jaxvib run {name}</code>"
    return f'<a href="gallery/{name}.html">{picture}{words}</a>'


def page() -> str:
    """Return the text of the page of tiles."""
    stored = json.loads(STORED.read_text("utf-8"))
    kinds = {
        path.stem: tomllib.loads(path.read_text("utf-8"))["system"]["kind"]
        for path in sorted(CONFIGS.glob("*.toml"))
    }
    lines = [(ROOT / "experiments" / "gallery.md").read_text(encoding="utf-8")]
    for kind, title in FAMILIES.items():
        tiles = [tile(name, stored) for name, one in kinds.items() if one == kind]
        lines += [f"## {title}", "", '<div class="tiles">', *tiles, "</div>", ""]
    return "\n".join(lines)


def write() -> None:
    """Write all pages, and the pictures of the tiles."""
    stored = json.loads(STORED.read_text("utf-8"))
    (PICTURES / "small").mkdir(exist_ok=True)
    for config in CONFIGS.glob("*.toml"):
        name = config.stem
        (PICTURES / f"{name}.md").write_text(study_page(name, stored), encoding="utf-8")
        if shown(name).exists():
            with Image.open(shown(name)) as picture:
                size = (SMALL, round(picture.height * SMALL / picture.width))
                small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
            few = small.quantize(64, method=Image.Quantize.MAXCOVERAGE)
            few.save(PICTURES / "small" / f"{name}.png", optimize=True)
    PAGE.write_text(page(), encoding="utf-8")


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
    write()
