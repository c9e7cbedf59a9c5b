"""What the fault tests share: a run that takes a second, what it must come to, and a program whose file operations fail."""

import atexit
import collections
import functools
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import PROGRAM, Outcome, ProgramTest, files, last_wins, metrics, mounts_are_allowed, rewrite, rows, tensors  # noqa: E402, F401

TEXT = "".join("abcdefghijkl. \n"[(3 * i + i // 11) % 15] for i in range(3000))
# lr_decay_iters is given, so that a run's length changes nothing of the steps before its end.
SMALL = ["--n_layer", "1", "--n_head", "1", "--n_embd", "16", "--block_size", "8", "--dropout", "0.1", "--batch_size", "4",
         "--warmup_iters", "2", "--lr_decay_iters", "1000", "--log_interval", "1", "--sample_tokens", "5", "--tokens", "5"]
SAVES = ["--eval_interval", "2", "--keep", "2"]
SWEEP = os.environ.get("CHARGPT_SWEEP") == "1"
LOSSES = ("step", "val_loss", "averaged_val_loss", "best_val_loss", "best_step", "trend")
SHIM_LOG = "operations.log"
SEED = os.environ.get("CHARGPT_SEED", str(random.randrange(10**9)))
WHOLE_RUNS = {}  # of this process, by what they are of: training the same again would only cost time
Operation = collections.namedtuple("Operation", "number name path other", defaults=[None])


def drawn(what):
    """Random numbers, others each time; CHARGPT_SEED, which is printed, draws the same again."""
    print(f"{what}: CHARGPT_SEED={SEED}", flush=True)
    return random.Random(f"{SEED} {what}")


def state(folder):
    """A checkpoint's state.json without the seconds spent, or its bytes where it is damaged."""
    data = (folder / "state.json").read_bytes()
    try:
        return {key: value for key, value in json.loads(data).items() if not key.endswith("seconds")}
    except ValueError:
        return data


def fingerprint(run):
    """Of all that a later process can see of a run's checkpoints and rows, but for the seconds spent."""
    metrics = (run / "metrics.jsonl").read_bytes()
    lines, ends_whole = metrics.count(b"{"), metrics.endswith(b"\n")
    digest = hashlib.sha256(f"{lines} {ends_whole}".encode())
    for path in sorted((run / "checkpoints").rglob("*")):
        digest.update(str(path.relative_to(run)).encode() + b"\0")
        if path.name == "state.json":
            digest.update(repr(state(path.parent)).encode())
        elif path.is_file() and path.name != "MANIFEST.json":
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.lru_cache(maxsize=1)
def shelf():
    """A folder for what several tests use."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="chargpt-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(maxsize=None)
def shim(name="failing_files"):
    """A C file beside this one as a library to preload; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    source, library = pathlib.Path(__file__).with_name(f"{name}.c"), shelf() / f"{name}.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl", "-lpthread"], check=True)
    return library


def limit(which, soft, hard=resource.RLIM_INFINITY):
    return lambda: resource.setrlimit(which, (soft, hard))


class FaultTest(ProgramTest):
    """Small runs in a folder of their own."""

    def setUp(self):
        super().setUp()
        self.text = self.write("text.txt", TEXT)

    def training(self, run, iters, *more):
        return last_wins(["train", "nanogpt-cpu", "--run", run, "--text", "text.txt", *SMALL, "--threads", "1", "--max_iters", iters, *more])

    def resuming(self, run, iters, *more):
        return ["resume", run, "--threads", "1", "--max_iters", iters, *more]

    def whole_run(self, name, iters, *more):
        """A run that nothing happens to."""
        key = (self.text.read_bytes(), iters, *more)
        if key not in WHOLE_RUNS:
            kept = f"run-{len(WHOLE_RUNS)}"
            self.succeed(*self.training(name, iters, *more, "--overwrite"))
            WHOLE_RUNS[key] = shutil.copytree(self.folder / name, shelf() / kept)
        return self.copy(WHOLE_RUNS[key], name)

    def copy(self, run, name):
        target = self.folder / name
        shutil.rmtree(target, ignore_errors=True)
        return shutil.copytree(run, target)

    def run_in(self, before, *arguments, **keywords):
        """The program with `before` called between fork and exec."""
        process = subprocess.run([PROGRAM, *map(str, arguments)], preexec_fn=before, check=False,
                                 **{"cwd": self.folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                    "timeout": 300, **keywords})
        process.stdout = process.stdout or b""
        return Outcome(process)

    def spoiled(self, arguments, folder, operations="all", at=0, how="once", reason=0):
        """Runs the program while operation `at` of the set on `folder` fails."""
        if shim() is None:
            self.skipTest("no C compiler to make file operations fail with")
        log = self.folder / SHIM_LOG
        log.unlink(missing_ok=True)
        return self.run_program(*arguments, env={
            "LD_PRELOAD": str(shim()), "FAULT_FOLDER": str(folder), "FAULT_SET": operations, "FAULT_AT": str(at), "FAULT_HOW": how,
            "FAULT_ERRNO": str(reason), "FAULT_LOG": str(log)})

    def operations(self):
        """Of the last spoiled(), in order."""
        log = self.folder / SHIM_LOG
        lines = log.read_text().splitlines() if log.exists() else []
        return [Operation(int(number), *rest[:3]) for number, *rest in (line.split(" ") for line in lines)]

    def chosen(self, run, which):
        """The checkpoint that the program takes for best or last, as sample, eval and resume would; and what it says about that."""
        told = self.json("inspect", run, "--checkpoint", which)
        return pathlib.Path(told["path"]).name, told["notices"]

    def assert_stands_as(self, whole, run, unsaved=()):
        """The run stands at some step, as one that kept every checkpoint stood there: last and best are that one's, bytes and all.
        `unsaved`: steps whose save failed, as was said; where the best is among them the program takes the last.
        Returns whether the file BEST says so too."""
        last, notices = self.chosen(run, "last")
        then = state(whole / "checkpoints" / last)
        best, more = self.chosen(run, "best")
        expected = f"step-{then['best_step']:08d}" if then["best_step"] > 0 else last
        lost = then["best_step"] in unsaved and not (run / "checkpoints" / expected).exists()
        if lost:
            expected = last
            self.assertIn("is not there; using the last", " ".join(more))
        self.assertEqual(best, expected, f"the best at {last}: {notices + more}")
        for name in {last, best}:
            self.assertEqual(tensors(whole, int(name[5:])), tensors(run, int(name[5:])), name)
            found = state(run / "checkpoints" / name)
            for key, value in state(whole / "checkpoints" / name).items():
                if key in LOSSES:
                    self.assertEqual(found[key], value, f"{key} of {name}")
        pointer = run / "checkpoints/BEST"
        return (pointer.read_text() if pointer.exists() else None) == (f"{best}\n" if then["best_step"] > 0 and not lost else None)

    def assert_same_training(self, whole, run, step):
        self.assertEqual(tensors(whole, step), tensors(run, step))
        self.assertEqual(rows(whole), rows(run))
