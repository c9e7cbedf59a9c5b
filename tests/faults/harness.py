"""What the fault tests share: a run that takes a second, what it must come to, and a program whose file operations fail."""

import atexit
import bisect
import collections
import functools
import hashlib
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from checkpoints import checkpoint, checkpoints, damage, is_whole, name_of, part, rewrite, tensors, weights  # noqa: E402, F401
from program import PROGRAM, Outcome, ProgramTest, files, last_wins, make_run, metrics, mounts_are_allowed, rows  # noqa: E402, F401

TEXT = "".join("abcdefghijkl. \n"[(3 * i + i // 11) % 15] for i in range(3000))
# lr_decay_iters is given, so that a run's length changes nothing of the steps before its end.
SMALL = ["--n_layer", "1", "--n_head", "1", "--n_embd", "16", "--block_size", "8", "--dropout", "0.1", "--batch_size", "4",
         "--warmup_iters", "2", "--lr_decay_iters", "1000", "--log_interval", "1", "--sample_tokens", "5", "--tokens", "5"]
SAVES = ["--eval_interval", "2", "--keep", "2"]
SWEEP = os.environ.get("CHARGPT_SWEEP") == "1"
LOSSES = ("step", "val_loss", "averaged_val_loss", "best_val_loss", "best_step", "trend")
SHIM_LOG = "operations.log"
SEED = os.environ.get("CHARGPT_SEED", str(random.randrange(10**9)))
Operation = collections.namedtuple("Operation", "number name path other", defaults=[None])


def drawn(what):
    """Random numbers, others each time; CHARGPT_SEED, which is printed, draws the same again."""
    print(f"{what}: CHARGPT_SEED={SEED}", flush=True)
    return random.Random(f"{SEED} {what}")


def digests(path):
    """name -> digest of a file, or of all files in a folder but .lock, which says who held it last."""
    held = {path.name: path.read_bytes()} if path.is_file() else files(path)
    return {name: hashlib.sha256(data).hexdigest() for name, data in held.items() if pathlib.Path(name).name != ".lock"}


def state(run, step):
    """Of a checkpoint, without the seconds spent."""
    return {key: value for key, value in part(checkpoint(run, step), "state").items() if not key.endswith("seconds")}


def best_of(run, steps):
    """The step of the least validation loss, of those that have a checkpoint."""
    def loss(step):
        saved = state(run, step)
        return min(float(saved[key]) for key in ("val_loss", "averaged_val_loss"))  # "inf": not evaluated
    return min(set(steps) & set(checkpoints(run)), key=loss)


def fingerprint(run):
    """Of all that a later process can see of a run, but for the seconds spent."""
    metrics = (run / "metrics.jsonl").read_bytes()
    seen = [metrics.count(b"{"), metrics.endswith(b"\n"), sorted(os.listdir(run / "checkpoints")),
            [(step, state(run, step), tensors(run, step)) for step in checkpoints(run)]]
    return hashlib.sha256(repr(seen).encode()).hexdigest()


@functools.lru_cache(maxsize=None)
def shim(name="failing_files"):
    """A C file beside this one as a library to preload; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    folder = tempfile.mkdtemp(prefix="chargpt-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source, library = pathlib.Path(__file__).with_name(f"{name}.c"), pathlib.Path(folder, f"{name}.so")
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
        shutil.rmtree(self.folder / name, ignore_errors=True)
        words = self.training("run", iters, *more)
        at = words.index("--run")
        make_run(self.folder / name, words[:at] + words[at + 2:], self.text)
        return self.folder / name

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

    def within(self, mebibytes, *arguments):
        """The program where no more than so much may be mapped (ulimit -v)."""
        return self.run_in(limit(resource.RLIMIT_AS, *2 * [int(mebibytes * 2**20)]), *arguments)

    def least_memory(self):
        """Mebibytes, to half a one, in which the program can be loaded."""
        return bisect.bisect_left(range(2000), True, key=lambda most: self.within(most / 2, "--version").code == 0) / 2

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

    def assert_stands_as(self, whole, run, unsaved=()):
        """Each checkpoint of the run is whole and is that of a run that kept all; last and best are there. `unsaved`: steps whose save failed, as was said."""
        steps = checkpoints(run)
        for step in steps:
            self.assertTrue(is_whole(checkpoint(run, step)), step)
            self.assertEqual(tensors(run, step), tensors(whole, step), step)
            for key, value in state(whole, step).items():
                if key in LOSSES:
                    self.assertEqual(state(run, step)[key], value, f"{key} of step {step}")
        last, best = steps[-1], best_of(whole, range(steps[-1] + 1))
        self.assertIn(best, {*steps, *unsaved})
        self.assertEqual([self.step_of(run, which) for which in ("last", "best")], [last, best_of(run, steps)])
