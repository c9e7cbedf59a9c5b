#!/usr/bin/env python3
"""Follows the links of every *.md, and what looks like a file or folder of the tree in its code spans and HTML comments: each is there.

A link is relative to its file; one to a heading needs that heading. A path (it has a slash, and ends in one or in a suffix: `src/`,
`scripts/check/*.py`, `kernels/{norm,matmul}.h`) is relative to its file, to the checkout or to src/; the name of a source file alone
(`arena.cpp`) is that of some file. Code blocks are for scripts/check/readme.py, which runs them.
One line per offence; exit status 1 if any.

    scripts/check/links.py [FOLDER]      FOLDER: the checkout (default: this one)
"""

import pathlib
import re
import sys

PLACES = (".github", "src", "tests", "scripts", "configs", "data")
ELSEWHERE = {  # in other trees (nanoGPT's), fetched, or made by a run
    "sample.py", "train.py", "model.py",
    "runs/", "data/tinyshakespeare.txt", "example_papers/multi_style_adapter/run_0/final_info.json"}
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`|<!--(.*?)-->", re.DOTALL)
PATH = re.compile(r"[\w.*-]*(?:[\w.*{},-]*/)+(?:[\w*{},-]+\.[\w.*{},-]+)?")
SOURCE = re.compile(r"[\w{},-]+\.(?:cpp|c|h|py|sh|cmake|md)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def anchors(path):
    """What `#…` may follow the name of this file: its headings, as GitHub turns them into names."""
    headings = HEADING.findall(BLOCK.sub(blank, path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def spread(word):
    """"{norm,matmul}.h" -> "norm.h", "matmul.h"."""
    braces = re.search(r"\{([^{}]*)\}", word)
    if not braces:
        return [word]
    return [whole for part in braces[1].split(",") for whole in spread(word[:braces.start()] + part + word[braces.end():])]


def is_link_whole(target, readme):
    name, _, anchor = target.partition("#")
    path = readme.parent / name if name else readme
    return path.exists() and (not anchor or (path.suffix == ".md" and anchor in anchors(path)))


def is_there(word, readme, root, names):
    if "/" not in word:
        return word in names
    pattern = word.rstrip("/")
    return any(next(base.glob(pattern), None) for base in (readme.parent, root, root / "src"))


def offences(readme, root, names):
    text = BLOCK.sub(blank, readme.read_text(encoding="utf-8"))

    def at(position):
        return f"{readme.relative_to(root).as_posix()}:{text.count(chr(10), 0, position) + 1}"

    for link in LINK.finditer(text):
        if not re.match(r"\w+:", link[1]) and not is_link_whole(link[1], readme):
            yield f"{at(link.start())}: the link {link[1]} leads nowhere"
    for code in CODE.finditer(text):
        for word in (code[1] or code[2]).split():
            word = word.strip("()")
            looks_like_one = PATH.fullmatch(word) or SOURCE.fullmatch(word)
            if not looks_like_one or word in ELSEWHERE or not re.search(r"\w", word):
                continue
            for path in spread(word):
                if not is_there(path, readme, root, names):
                    yield f"{at(code.start())}: there is no {path}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]).resolve()
    files = [*root.glob("*.*"), *(path for place in PLACES for path in sorted((root / place).rglob("*")))]
    readmes = [path for path in files if path.suffix == ".md"]
    found = [line for readme in readmes for line in offences(readme, root, {path.name for path in files})]
    print(*found, f"check_links: {len(readmes)} files, {len(found)} offences", sep="\n")
    return 1 if found or not readmes else 0


if __name__ == "__main__":
    sys.exit(print(__doc__) if {"-h", "--help"} & {*sys.argv} else main())
