"""Runs shell commands as a user would, and compares what they print with the output that a document shows.

In an expected output … stands for any characters of a line, a line that is … alone for any lines, and a run of blanks for any blanks.
The README check and the command-line tests (tests/run_text.py) share this.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 600  # seconds for one script


def pattern_of(expected):
    """A regular expression for an output, each line with its end."""
    lines = []
    for number, line in enumerate(expected.rstrip("\n").splitlines()):
        first, *others = r"[ \t]+?".join(map(re.escape, line.split())).split("…")
        for i, part in enumerate(others[:-1]):  # its first match counts, as in fnmatch: to try all takes hours where a line has many …
            first += rf"(?=(?P<_{number}_{i}>[^\n]*?{part}))(?P=_{number}_{i})"
        rest = rf"[^\n]*?{others[-1]}" if others else ""
        lines.append(r"(?:[^\n]*\n)*?" if line.strip() == "…" else rf"[ \t]*{first}{rest}[ \t]*\n")
    return re.compile("".join(lines))


@contextlib.contextmanager
def workspace(program, *links):
    """A temporary folder with links to these files and folders of the checkout, and an environment in which `chargpt` is the program."""
    with tempfile.TemporaryDirectory(prefix="chargpt-transcript-") as folder:
        for name in links:
            link = pathlib.Path(folder) / name
            link.parent.mkdir(exist_ok=True)
            if (ROOT / name).exists():
                link.symlink_to(ROOT / name)
        yield folder, dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8")


def execute(script, folder, environment):
    """Exit code, and stdout and stderr together as on a terminal."""
    try:
        process = subprocess.run(["bash", "-uo", "pipefail", "-c", script], cwd=folder, env=environment, timeout=TIMEOUT,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not done after {TIMEOUT} s\n"
    code, printed = process.returncode, process.stdout.decode("utf-8", "replace")
    return code if code >= 0 else 128 - code, printed if printed.endswith("\n") else printed + "\n"
