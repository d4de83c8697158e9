"""Pictures of the documentation's site and of a notebook, taken by Chromium without a window.

usage: screenshots.py [--site FOLDER] [--notebook FILE.ipynb] [--only PART] OUTPUT

The site is what `make docs` built, opened from its files: pages as SHOTS lists them, light and
dark, on a desk and on a telephone. The notebook is run first, in this Python (nbconvert and ipykernel are
in pyproject's group `screenshots`), and shown as a page. A telephone is an iframe of its width, as
a window of Chromium has at least 500 columns.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

# name: page (and anchor), width, height, dark
SHOTS = {
    "front": ("index.html", 1280, 1500, False),
    "front-dark": ("index.html", 1280, 1500, True),
    "front-phone": ("index.html", 390, 1600, False),
    "start": ("start/index.html", 1280, 1200, False),
    "api-index": ("reference/index.html", 1280, 1100, False),
    "api-topic": ("reference/math.html", 1280, 1100, False),
    "api-name": ("reference/asnumpy.linspace.html", 1280, 1100, False),
    "api-class": ("reference/asnumpy.ndarray.html", 1280, 1500, False),
    "api-phone": ("reference/asnumpy.concatenate.html", 390, 1200, False),
    "api-dark": ("reference/asnumpy.add.html", 1280, 1300, True),
    "gallery": ("programs/index.html", 1280, 1300, False),
    "gallery-phone": ("programs/index.html", 390, 1300, False),
    "program": ("programs/ripples.html", 1280, 1600, False),
    "program-dark": ("programs/kmeans.html", 1280, 1600, True),
    "guide": ("guide/ecosystem.html", 1280, 1600, False),
    "guide-phone": ("guide/ecosystem.html", 390, 1600, False),
    "guide-dark": ("guide/performance.html", 1280, 1300, True),
    "walks": ("guide/walks.html", 1280, 1300, False),
    "search": ("search.html?q=linspace", 1280, 900, False),
}  # fmt: skip


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    sys.exit("screenshots: there is no chromium; on Debian: apt-get install chromium")


def picture(address, output, width, height, dark, folder):
    """One picture of a page."""
    if width < 500:
        frame = folder / "frame.html"
        frame.write_text(
            f'<body style="margin:0"><iframe src="{address}" width="{width}" height="{height}"'
            ' style="border:0"></iframe>'
        )
        address = frame.as_uri()
    command = [
        *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *("--allow-file-access-from-files", f"--user-data-dir={folder}/{output.stem}"),
        *(f"--window-size={max(width, 500)},{height}", "--virtual-time-budget=9000"),
        *(f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"--screenshot={output}"),
    ]
    subprocess.run([*command, address], check=True, capture_output=True, timeout=120)
    if not output.exists():
        sys.exit(f"screenshots: chromium made no {output}")


def executed(notebook, folder):
    """A notebook run to its end, as a page."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute"]
    command += ["--output-dir", str(folder), "--output", "notebook", str(notebook)]
    subprocess.run(command, check=True, timeout=300)
    return folder / "notebook.html"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", type=pathlib.Path, help="the folder for the PNG files")
    parser.add_argument("--site", type=pathlib.Path, default=pathlib.Path("build/docs"))
    parser.add_argument("--notebook", type=pathlib.Path, help="a notebook to run and show")
    parser.add_argument("--only", default="", help="pictures whose name has this in it")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for name, (page, width, height, dark) in SHOTS.items():
            if options.only not in name:
                continue
            file = options.site / page.partition("?")[0]
            if not file.exists():
                sys.exit(f"screenshots: there is no {file}; make docs builds it")
            address = (options.site.resolve() / page.partition("?")[0]).as_uri()
            address += page[len(page.partition("?")[0]) :]
            picture(address, options.output / f"{name}.png", width, height, dark, folder)
            print(options.output / f"{name}.png")
        if options.notebook:
            page = executed(options.notebook, folder).as_uri()
            picture(page, options.output / "notebook.png", 1100, 1700, False, folder)
            print(options.output / "notebook.png")


if __name__ == "__main__":
    main()
