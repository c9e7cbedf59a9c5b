#!/usr/bin/env python3
"""Compares the includes of src/ with the ordered list src/modules.txt: a file includes its own module and modules above it in the list.

    scripts/check/modules.py [FOLDER]           FOLDER: the checkout (default: this one); one line per offence, exit status 1 if any
    scripts/check/modules.py --draw [FOLDER]    writes the table and the graph of src/README.md

Also refused: LibTorch, spdlog and CLI11 outside their places, a command that includes another, printing or exiting outside cli/, a header
that does not open with what it is for, a folder that is not listed.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)
PLACES = {r"(torch|ATen|c10)/": r"(model|libtorch)/", r"spdlog/fmt/": r"(?!model|libtorch).+\.cpp$", r"spdlog/(?!fmt/)": r"report/\w+\.cpp$", r"CLI/": r"cli/options\.cpp$",
          r"cli/commands/": r"cli/commands/(\w+?)(_\w+)?\.(cpp|h)$"}
PRINTS_OR_EXITS = re.compile(r"std::(cout|cerr|clog)\b|(?<![\w.>])(std::)?(v?f?printf|f?puts|putchar|perror|_?exit|quick_exit|abort)\s*\(")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def offences_of(name, text, module, order, used):
    for header in INCLUDE.findall(text):
        other = header.split("/")[0]
        if other in order:
            used.setdefault(module, set()).add(other)
            if order.index(other) > order.index(module):
                yield f"includes {header}, of a module below {module} in src/modules.txt"
        for start, place in PLACES.items():
            if re.match(start, header) and not re.match(place, name):
                yield f"includes {header}, which is not for this place"
    if module not in ("cli", "main") and (found := PRINTS_OR_EXITS.search(NO_CODE.sub("", text))):
        yield f"{found[0]} outside cli/"
    if not name.endswith(".cpp") and not text.startswith(("//", "/*")):
        yield "a header opens with a comment that says what it is for"


def drawn(rows, used):
    """The table of modules, and their graph without the arrows that others imply."""
    below = {}
    for module, its in used.items():
        below[module] = its.union(*(below.get(other, ()) for other in its))
    arrows = {module: [other for other in used if other in its and not any(other in below.get(third, ()) for third in its)] for module, its in used.items()}
    return "\n".join(["| module | contains |", "|---|---|", *(f"| `{name}/` | {contents} |" for name, _, contents in rows), "", "```mermaid", "graph TD",
                      *(f"  {module} --> {' & '.join(its)}" for module, its in reversed(arrows.items()) if its), "```"])


def main():
    root = pathlib.Path(next((word for word in sys.argv[1:] if word != "--draw"), pathlib.Path(__file__).resolve().parents[2]))
    rows = [line.split(None, 2) for line in (root / "src/modules.txt").read_text().splitlines() if line and line[0] != "#"]
    order, offences, used = [*(row[0] for row in rows), "main"], [], {}
    for path in sorted(path for path in (root / "src").rglob("*") if path.suffix in (".h", ".hpp", ".cpp")):
        name = path.relative_to(root / "src").as_posix()
        module = name.split("/")[0] if "/" in name else "main"
        found = offences_of(name, path.read_text(), module, order, used) if module in order else ["add its folder to src/modules.txt"]
        offences += [f"src/{name}: {offence}" for offence in found]
    used = {module: used[module] - {module} for module in order if module in used}
    readme = root / "src/README.md"
    text = re.sub(r"(<!-- modules -->\n).*?(\n<!-- end -->)", lambda match: match[1] + drawn(rows, used) + match[2], readme.read_text(), flags=re.DOTALL)
    if "--draw" in sys.argv:
        readme.write_text(text)
    elif text != readme.read_text():
        offences.append("src/README.md: the table or the graph is out of date; run scripts/check/modules.py --draw")
    print(*offences, f"check_modules: {len(offences)} offences", sep="\n")
    return bool(offences)


if __name__ == "__main__":
    sys.exit(print(__doc__) if {"-h", "--help"} & {*sys.argv} else main())
