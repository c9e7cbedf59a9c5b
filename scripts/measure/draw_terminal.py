#!/usr/bin/env python3
"""Draws what a terminal shows after a command as an SVG picture (the one in README.md).

    scripts/measure/draw_terminal.py --out data/pictures/first-run.svg --rows 50 -- build/chargpt train default

The command runs in tmux, in a window of the given size; what stands there when it ends is drawn, colours included.
"""

import argparse
import html
import re
import shlex
import subprocess
import time
import uuid

COLORS = {30: "#3b4252", 31: "#d2686f", 32: "#98c379", 33: "#e0b55c", 34: "#6aa5e0", 35: "#b98bd0", 36: "#63b8b5", 37: "#d8dee9",
          90: "#7b8496", 91: "#e58a90", 92: "#b3d69a", 93: "#efcf8a", 94: "#92c0f0", 95: "#d0aee2", 96: "#8fd3d0", 97: "#ffffff"}
FOREGROUND, BACKGROUND = "#d8dee9", "#1d2128"
CHARACTER_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN = 8.2, 18, 13.5, 16
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def screen_after(command, columns, rows):
    """The lines of the window, escapes included, once the command has ended."""
    session = f"draw-{uuid.uuid4().hex[:8]}"
    shown = f"printf '$ %s\\n' {shlex.quote(shlex.join(command))}; {shlex.join(command)}; tmux wait-for -S {session}; sleep 60"
    subprocess.run(["tmux", "new-session", "-d", "-s", session, "-x", str(columns), "-y", str(rows), shown], check=True)
    subprocess.run(["tmux", "wait-for", session], check=True)
    time.sleep(0.3)
    lines = subprocess.run(["tmux", "capture-pane", "-e", "-p", "-t", session], check=True, capture_output=True, text=True).stdout
    subprocess.run(["tmux", "kill-session", "-t", session], check=True)
    return lines.rstrip("\n").split("\n")


def spans(line):
    """(text, colour, bold) of each run of a line."""
    color, bold, position = FOREGROUND, False, 0
    for escape in [*ESCAPE.finditer(line), None]:
        end = escape.start() if escape else len(line)
        if end > position:
            yield line[position:end], color, bold
        if escape is None:
            return
        position = escape.end()
        for code in (int(part or 0) for part in escape[1].split(";")):
            if code == 0:
                color, bold = FOREGROUND, False
            elif code == 1:
                bold = True
            elif code == 39:
                color = FOREGROUND
            else:
                color = COLORS.get(code, color)


def svg(lines, columns):
    width = columns * CHARACTER_WIDTH + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img" '
             f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{FONT_SIZE}">',
             f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>']
    for row, line in enumerate(lines):
        y = MARGIN + (row + 0.75) * LINE_HEIGHT
        column = 0
        for text, color, bold in spans(line):
            weight = ' font-weight="bold"' if bold else ""
            x = MARGIN + column * CHARACTER_WIDTH
            length = len(text) * CHARACTER_WIDTH
            parts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}"{weight} xml:space="preserve" textLength="{length:.1f}">'
                         f"{html.escape(text)}</text>")
            column += len(text)
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    lines = screen_after(arguments.command, arguments.columns, arguments.rows)
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write(svg(lines, arguments.columns))


if __name__ == "__main__":
    main()
