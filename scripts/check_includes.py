#!/usr/bin/env python3
"""Checks how the rooms of src/ use one another: an include may only go down the order that src/README.md states.

Refused besides: torch in a room below model, spdlog outside report/*.cpp, CLI11 outside cli/options.cpp, a command that includes another,
printing or exiting outside cli/, training/ and main*.cpp, random numbers that are not passed in, and a header that does not open with what it is for.
One line per offence; exit status 1 if any.

    scripts/check_includes.py [FOLDER]      FOLDER: the checkout (default: this one)
"""

import pathlib
import re
import sys

ORDER_LINE = re.compile(r"`(main → .*)`")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
PRINTS_OR_EXITS = re.compile(
    r"std::(?:cout|cerr|clog)\b|(?<![\w.>])(?:std::)?(?:printf|fprintf|vprintf|vfprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort)\s*\(")
UNPASSED_RANDOMNESS = re.compile(r"\bstd::(?:random_device|mt19937(?:_64)?|\w+_distribution)\b|(?<![\w.>:])(?:std::)?s?rand\s*\(")
# Comments, string and character literals; what they say is no use of anything.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def room_levels(readme):
    """Room -> its level, 0 for main; rooms in braces share a level and do not know each other."""
    line = ORDER_LINE.search(readme)
    if not line:
        sys.exit("src/README.md: no line with the order of includes, `main → …`")
    groups = [re.findall(r"\w+", group) for group in line[1].split("→")]
    return {room: level for level, group in enumerate(groups) for room in group}


def command_of(name):
    """"bench" of cli/commands/bench_learn.cpp; "" outside cli/commands/."""
    return name.removeprefix("cli/commands/").split(".")[0].split("_")[0] if name.startswith("cli/commands/") else ""


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def offences(path, name, levels):
    """Lines "name:line: what is wrong" of one source file."""
    text = path.read_text(encoding="utf-8")
    room = name.split("/")[0] if "/" in name else "main"
    if room not in levels:
        yield f"{name}:1: room {room} has no place in the order of src/README.md"
        return

    def at(position):
        return f"{name}:{text.count(chr(10), 0, position) + 1}"

    for include in INCLUDE.finditer(text):
        target = include[2]
        if TORCH.match(target) and levels[room] > levels["model"]:
            yield f"{at(include.start(2))}: torch-free room {room} includes <{target}>"
        if target.startswith("spdlog/") and not (room == "report" and name.endswith(".cpp")):
            yield f"{at(include.start(2))}: <{target}> outside report/*.cpp"
        if target.startswith("CLI/") and name != "cli/options.cpp":
            yield f"{at(include.start(2))}: <{target}> outside cli/options.cpp, whose header compiles many times faster"
        if target.startswith("cli/") and room not in ("cli", "training", "main"):
            yield f'{at(include.start(2))}: "{target}" is the command line\'s, which {room} must not know'
        if target.startswith("cli/commands/") and command_of(target) != command_of(name):
            yield f'{at(include.start(2))}: "{target}" is another command\'s: what they share belongs into cli/'
        other = target.split("/")[0]
        if include[1] == '"' and other != room and levels.get(other, -1) <= levels[room]:
            yield f'{at(include.start(2))}: {room} may not include "{target}"'

    code = NO_CODE.sub(blank, text)
    if room not in ("cli", "training", "main"):
        for use in PRINTS_OR_EXITS.finditer(code):
            yield f"{at(use.start())}: {use[0].rstrip(' (')} outside cli/: throw an Error, or emit an event"
    for use in UNPASSED_RANDOMNESS.finditer(code):
        yield f"{at(use.start())}: {use[0].rstrip(' (')}: randomness is passed in, from base/random.h"
    if name.endswith(".h") and not text.startswith("//"):
        yield f"{name}:1: a header opens with a comment: what it is for and what it must never know"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    source = root / "src"
    levels = room_levels((source / "README.md").read_text(encoding="utf-8"))
    files = sorted([*source.rglob("*.h"), *source.rglob("*.cpp")])
    found = [line for path in files for line in offences(path, path.relative_to(source).as_posix(), levels)]
    for line in found:
        print(f"src/{line}")
    print(f"check_includes: {len(files)} files, {len(found)} offences")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
