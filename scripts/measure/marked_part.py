"""The part of a file between two marker lines, written anew by the scripts that measure. Knows nothing of what stands in it."""

import pathlib


def replace_file(path, text):
    """Whole or not at all."""
    path = pathlib.Path(path)
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def write_part(path, begin, end, text):
    """`text` between the lines `begin` and `end`, of which there must be one each; the rest of the file stays."""
    old = pathlib.Path(path).read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1:
        raise SystemExit(f"{path} needs one line {begin!r} and one {end!r}")
    before, rest = old.split(begin)
    replace_file(path, f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")
