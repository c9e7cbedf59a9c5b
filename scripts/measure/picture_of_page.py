#!/usr/bin/env python3
"""A picture of a run's page in a browser (the one in README.md).

    scripts/measure/picture_of_page.py runs/default-1 --prompt ROMEO: --out data/pictures/page.png
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from browser import Browser  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    page = json.loads(subprocess.run([ROOT / "build/chargpt", "page", arguments.run, "--prompt", arguments.prompt, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)["page"]
    browser = Browser(width=900, height=960)
    try:
        browser.open(page)
        browser.run("chargpt.writing.write()")
        browser.wait_for("return chargpt.writing.characters.length > 0 && !chargpt.writing.running")
        browser.run("chargpt.writing.look(40)")  # the character whose expectations are shown
        browser.screenshot(arguments.out)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
