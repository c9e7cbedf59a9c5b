#!/usr/bin/env python3
"""A picture of a run's page in a browser (the one in README.md).

    scripts/measure/picture_of_page.py runs/default-1 --prompt ROMEO: --look 40 --out data/pictures/page.png
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
    parser.add_argument("--program", default=ROOT / "build/chargpt")
    parser.add_argument("--prompt")
    parser.add_argument("--look", type=int, default=40, help="the character whose expectations are shown")
    parser.add_argument("--width", type=int, default=900)
    parser.add_argument("--height", type=int, default=960)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    prompt = ["--prompt", arguments.prompt] if arguments.prompt else []
    page = json.loads(subprocess.run([arguments.program, "page", arguments.run, *prompt, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)["page"]
    browser = Browser(width=arguments.width, height=arguments.height, dark=arguments.dark)
    try:
        browser.open(page)
        browser.run("chargpt.writing.write()")
        browser.wait_for("return chargpt.writing.characters.length > 0 && !chargpt.writing.running")
        browser.run(f"chargpt.writing.look({arguments.look})")
        browser.screenshot(arguments.out)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
