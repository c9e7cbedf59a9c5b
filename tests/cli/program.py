"""Drives the built program as a user would: command line in, stdout, stderr and exit code out."""

import atexit
import fcntl
import functools
import hashlib
import json
import math
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

from checkpoints import checkpoint, checkpoints, part, tensors, weights

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("CHARGPT", SOURCE / "build" / "chargpt"))
ENGINE = os.environ.get("CHARGPT_ENGINE")  # where it is given, training commands are run with --engine
SAMPLE_TEXT = str(SOURCE / "data" / "sample.txt")
TEXT = pathlib.Path(SAMPLE_TEXT).read_text(encoding="utf-8")
SMALL = ["--n_layer", "1", "--n_head", "2", "--n_embd", "16", "--block_size", "16"]
QUICK = ["--text", SAMPLE_TEXT, "--batch_size", "8", "--eval_interval", "10", "--sample_tokens", "20", "--tokens", "40", "--threads", "1"]


def last_wins(arguments):
    """The arguments without what a later one of the same name replaces: the program takes each option once."""
    groups = []  # an option with its value, or one word
    for word in map(str, arguments):
        if groups and groups[-1][0].startswith("--") and len(groups[-1]) == 1 and not word.startswith("--"):
            groups[-1].append(word)
        else:
            groups.append([word])
    last = {group[0].replace("-", "_"): group for group in groups if len(group) == 2}
    return [word for group in groups if len(group) == 1 or last[group[0].replace("-", "_")] is group for word in group]


def mounts_are_allowed():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def command(*arguments):
    """The program's command line."""
    engine = ["--engine", ENGINE] if ENGINE and arguments and arguments[0] in ("train", "resume") and "--engine" not in arguments else []
    return [PROGRAM, *map(str, arguments), *engine]


@functools.lru_cache(maxsize=1)
def shelf():
    """Where the runs of this program are kept for all tests; those of another program go. An installed program has them for one process alone."""
    build = pathlib.Path(PROGRAM).parent
    if not (build / "CMakeCache.txt").exists():
        folder = pathlib.Path(tempfile.mkdtemp(prefix="chargpt-test-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    digest = hashlib.sha256()
    for path in (build / pathlib.Path(PROGRAM).name, build / "chargpt-torch.so"):
        digest.update(path.read_bytes() if path.exists() else b"")
    kept = build / "trained_runs" / digest.hexdigest()[:16]
    kept.mkdir(parents=True, exist_ok=True)
    for other in kept.parent.iterdir():
        if other != kept:
            shutil.rmtree(other, ignore_errors=True)
    return kept


def make_run(target, words, text=None):
    """Puts the run of a training command at `target`. It is trained once for all tests. `text`: the file that the command names by its name alone."""
    key = repr([command(*words), target.name, os.environ.get("ATEN_CPU_CAPABILITY"), text and (text.name, text.read_bytes())])
    kept = shelf() / hashlib.sha256(key.encode()).hexdigest()[:16]
    if not kept.exists():
        with tempfile.TemporaryDirectory(prefix="made-", dir=shelf()) as folder:
            if text:
                shutil.copy(text, folder)
            done = subprocess.run(command(*words, "--run", target.name), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            assert done.returncode == 0, done.stderr
            try:
                os.rename(pathlib.Path(folder) / target.name, kept)
            except OSError:
                assert kept.exists()  # another test was faster
    shutil.copytree(kept, target)
    mark = target / "run.json"  # it alone names absolute paths
    mark.write_text(re.sub(rf"{re.escape(str(shelf()))}/made-[^/\"]*", str(target.parent), mark.read_text()))


# Whoever starts the tests in the background has SIGINT ignored, which the programs under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


FIGURES = ("step", "loss", "lr", "grad_norm", "train_loss", "val_loss", "best", "best_val_loss")


def metrics(run, kind=""):
    """The rows of a run's metrics.jsonl, or those of one kind."""
    return [row for row in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()) if row["kind"].startswith(kind)]


def rows(run):
    """What metrics.jsonl says of the training, without what time and machine decide."""
    return [(row["kind"], *(row.get(key) for key in FIGURES)) for row in metrics(run) if row["kind"] in ("train", "eval")]


def files(folder):
    """What the files in a folder and below hold, by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def data_of(page):
    """The figures that a page holds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)[1])


class Outcome:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode("utf-8", "surrogateescape")
        self.err = process.stderr.decode("utf-8", "surrogateescape")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        """The one line of a failure, without its prefix; with --json its message."""
        last = self.err.splitlines()[-1] if self.err else ""
        if last.startswith('{"error":'):
            return json.loads(last)["error"]["message"]
        lines = [line for line in self.err.splitlines() if line.startswith("chargpt: error: ")]
        assert len(lines) == 1, f"expected one error line, got: {self.err!r}"
        return lines[0][len("chargpt: error: "):]


class Terminal:
    """A terminal for another process. It stays open after that has ended: the last words of one that is closed can be lost."""

    END = b"<end of what was shown>"

    def __init__(self, columns, rows):
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted):
        shown = b""
        while wanted not in shown:
            shown += os.read(self.ours, 65536)
        return shown

    def read_to_the_end_of(self, process):
        """The rest; it closes the terminal."""
        marking = threading.Thread(target=lambda: (process.wait(), os.write(self.theirs, self.END)))
        marking.start()
        shown = self.read_until(self.END).removesuffix(self.END)
        marking.join()
        os.close(self.theirs)
        os.close(self.ours)
        return shown


class ProgramTest(unittest.TestCase):
    """A test in its own empty working folder."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="chargpt-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *arguments, stdin=b"", env=None):
        environment = dict(os.environ, **(env or {}))
        environment.pop("NO_COLOR", None)
        process = subprocess.run(command(*arguments), input=stdin, cwd=self.folder, env=environment, timeout=300,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return Outcome(process)

    def started(self, *arguments, **keywords):
        """The program, which goes on while the test does and no longer; its stderr is a pipe."""
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "encoding": "utf-8", "errors": "surrogateescape"}
        process = subprocess.Popen(command(*arguments), cwd=self.folder, **{**pipes, **keywords})
        self.addCleanup(process.__exit__, None, None, None)  # closes the pipes
        self.addCleanup(process.kill)
        return process

    def peak_memory(self, *arguments, stdout=subprocess.DEVNULL):
        """Of a command that succeeds, in bytes."""
        process = self.started(*arguments, stdout=stdout, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return used.ru_maxrss * 1024

    def ended(self, process, code, timeout=120):
        """What is in the stderr of a program that ends with this exit code."""
        err = process.communicate(timeout=timeout)[1]
        self.assertEqual(process.returncode, code, err)
        return err

    def ended_by(self, process, number=signal.SIGTERM, timeout=60):
        """The same, sent a signal that ends it with the exit code of a shell."""
        process.send_signal(number)
        return self.ended(process, 128 + number, timeout)

    def lines_at(self, columns, *arguments):
        """What a command that succeeds prints on a terminal of that width."""
        return self.on_a_terminal(*arguments, columns=columns, stderr=subprocess.DEVNULL).replace("\r\n", "\n").splitlines()

    def fitting_lines(self, columns, *arguments):
        """The same, none of which is wider than the terminal."""
        lines = self.lines_at(columns, *arguments)
        self.assertLessEqual(max(map(len, lines)), columns, arguments)
        return lines

    def fitting_screen(self, columns, *arguments):
        """All that a command shows which repaints its last line, without colours; no line is wider than the terminal."""
        shown = self.on_a_terminal(*arguments, columns=columns, environment={**os.environ, "TERM": "xterm"})
        shown = re.sub(r"\x1b\[[0-9;]*[mK]", "", shown)
        self.assertLessEqual(max(map(len, re.split(r"\r\n|\r|\n", shown))), columns, shown)
        return shown

    def on_a_terminal(self, *arguments, columns=0, environment=None, stderr=None):
        """What a command that succeeds writes where stdout is a terminal, and stderr too unless it goes elsewhere."""
        terminal = Terminal(columns, 24 if columns else 0)
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=terminal.theirs, stderr=terminal.theirs if stderr is None else stderr)
        shown = terminal.read_to_the_end_of(process)
        self.assertEqual(process.returncode, 0, shown)
        return shown.decode()

    def script(self, name, *arguments, code=0):
        """A Python script of scripts/, with its exit code."""
        process = subprocess.run([sys.executable, SOURCE / "scripts" / name, *map(str, arguments)], cwd=self.folder,
                                 capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(process.returncode, code, process.stdout + process.stderr)
        return process

    def succeed(self, *arguments, **keywords):
        outcome = self.run_program(*arguments, **keywords)
        self.assertEqual(outcome.code, 0, outcome.err)
        return outcome

    def json(self, *arguments, **keywords):
        """What a command that succeeds prints with --json."""
        return self.succeed(*arguments, "--json", **keywords).json

    def fail_with(self, code, *arguments, **keywords):
        """Exit code and the one error line."""
        return self.error_of(self.run_program(*arguments, **keywords), code)

    def error_of(self, outcome, code):
        self.assertEqual(outcome.code, code, outcome.err + outcome.out)
        return outcome.error

    def wait_for(self, condition, process=None):
        """Its value once it holds; `process` must not end before."""
        deadline = time.monotonic() + 120
        while not (value := condition()):
            self.assertLess(time.monotonic(), deadline, "nothing happened for two minutes")
            if process:
                self.assertIsNone(process.poll(), "it has ended")
            time.sleep(0.01)
        return value

    def check_distributions(self, scores):
        """Of `score --json --candidates N`, N all symbols: the probabilities of each place sum to 1, and the loss is that of the character there."""
        for one in scores:
            self.assertAlmostEqual(sum(math.exp(candidate["log_probability"]) for candidate in one["candidates"]), 1, places=5)
            own = next(c for c in one["candidates"] if c["character"] == one["character"])
            self.assertAlmostEqual(-own["log_probability"], one["loss"], places=4)

    def check_causal_distributions(self, runs, *options):
        """Of `score`: there is a distribution at each place of a text, which no later character changes."""
        self.write("text.txt", TEXT[5000:5100])
        self.write("other.txt", TEXT[5000:5060] + TEXT[7000:7040])
        first, other = (self.json("score", *runs, name, *options, "--candidates", "1000")["scores"] for name in ("text.txt", "other.txt"))
        self.check_distributions(first)
        self.assertEqual(first[:59], other[:59])  # the first character has no score
        self.assertNotEqual(first[59:], other[59:])

    def last_step(self, run):
        """Of the last checkpoint; 0 where there is none yet."""
        return max(checkpoints(self.folder / run), default=0)

    def wait_for_save(self, run):
        self.wait_for(lambda: checkpoints(self.folder / run))

    def step_of(self, run, which):
        """Of the checkpoint that the program takes for best or last."""
        return self.json("inspect", run, "--checkpoint", which)["step"]

    def state(self, run):
        """Of the last checkpoint."""
        return part(checkpoint(self.folder / run, self.last_step(run)), "state")

    def tensors(self, run, step):
        return tensors(self.folder / run, step)

    def weights(self, run, step):
        """name -> digest of the trained weights."""
        digests = self.tensors(run, step)
        return {name: digests[name] for name in weights(self.folder / run, step)}

    def json_of(self, name):
        return json.loads((self.folder / name).read_text())

    def figures_of(self, run):
        """The final figures of a run; None if it has none."""
        return self.json_of(f"{run}/run.json").get("figures")

    def set_figures(self, run, figures):
        self.write(f"{run}/run.json", {**self.json_of(f"{run}/run.json"), "figures": figures})

    def page_of(self, run, *more):
        """The figures of the page that is written into a run."""
        self.succeed("page", run, *more)
        return data_of(self.folder / run / "page.html")

    def small_file_system(self, size):
        """The folder `small`, which holds no more than that; it may be mounted anew with another size."""
        if not mounts_are_allowed():
            self.skipTest("mounting a small file system needs root")
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", small], check=True)
        return small

    def write(self, name, content):
        """A file of these bytes, this text, or what else can be JSON."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    def train(self, run, config="ladder/bigram", iters=20, *more, text=None):
        """A short quiet run in the working folder; of this text, which is RUN.txt, or of the sample."""
        if text is not None:
            text = self.write(f"{run}.txt", text)
            more = ["--text", f"{run}.txt", *more]
        words = last_wins(["train", config, "--max_iters", iters, *QUICK, "--quiet", *more])
        if config.endswith(".json") or {"--overwrite", "--init_from", "--teacher"} & set(words) or (text is None and "--text" in more):
            self.succeed(*words, "--run", run)  # it depends on files of the test
        else:
            make_run(self.folder / run, words, text)

    def assert_same_training(self, whole, run, step):
        """A run that was disturbed has the checkpoint and the rows of one that was not."""
        self.assertEqual(tensors(self.folder / whole, step), tensors(self.folder / run, step))
        self.assertEqual(rows(self.folder / whole), rows(self.folder / run))
