"""Photograph the README's live page, once its motion has settled. Needs Chromium.

    python -m experiments.newcomer.live_picture

writes `docs/live_page.png`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.reports.browser import Browser

PICTURE = Path(__file__).parents[2] / "docs" / "live_page.png"
SIZE = (1180, 860)  # pixels of the window, the bar above the page included
_SETTLED = "document.body.innerText.includes('settled within')"


def main() -> None:
    """Write the page and the picture."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "live.html"
        words = [sys.executable, "-m", "jaxvib", "live", "quick", "--out", str(page)]
        subprocess.run(words, check=True)
        window = Browser(Path(folder) / "profile", *SIZE)
        window.open(page)
        window.wait(_SETTLED)
        window.picture(PICTURE)
        window.close()
    with Image.open(PICTURE) as picture:
        few = picture.convert("RGB").quantize(64, method=Image.Quantize.MAXCOVERAGE)
    few.save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
