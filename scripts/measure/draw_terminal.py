#!/usr/bin/env python3
"""Draws what a terminal shows after a command as an SVG picture (the one in README.md).

    scripts/measure/draw_terminal.py --out data/pictures/first-run.svg -- build/chargpt train default

The command runs in tmux, in a window of the given size; rich (python3-rich) draws its last screen in colour.
"""

import argparse
import io
import shlex
import subprocess
import time
import uuid


def screen_after(command, rows=50, columns=100):
    """The text of the window, escapes included, once the command has ended."""
    session = f"draw-{uuid.uuid4().hex[:8]}"
    shown = f"printf '$ %s\\n' {shlex.quote(shlex.join(command))}; {shlex.join(command)}; tmux wait-for -S {session}; sleep 60"
    subprocess.run(["tmux", "new-session", "-d", "-s", session, "-x", str(columns), "-y", str(rows), shown], check=True)
    subprocess.run(["tmux", "wait-for", session], check=True)
    time.sleep(0.3)
    text = subprocess.run(["tmux", "capture-pane", "-e", "-p", "-t", session], check=True, capture_output=True, text=True).stdout
    subprocess.run(["tmux", "kill-session", "-t", session], check=True)
    return text.rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    from rich.console import Console  # after --help, which needs no package
    from rich.text import Text
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(Text.from_ansi(screen_after(arguments.command)))
    console.save_svg(arguments.out, title="chargpt")


if __name__ == "__main__":
    main()
