"""A long run of a tiny model: memory, file descriptors and disk stay what they were early on."""

import json
import os
import pathlib
import time

from harness import FaultTest, checkpoints

STEPS = int(os.environ.get("CHARGPT_STEPS", "20000"))
CHECKPOINTS = 1000
EARLY = 100
MEBIBYTE = 1 << 20


class LongRunTest(FaultTest):
    def figures(self, process):
        """Peak and present memory in bytes, open files, checkpoints on disk."""
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines())
        return {"peak": 1024 * int(status["VmHWM"].split()[0]), "memory": 1024 * int(status["VmRSS"].split()[0]),
                "files": len(os.listdir(f"/proc/{process.pid}/fd")), "checkpoints": len(checkpoints(self.folder / "run"))}

    def wait_for_step(self, process, step):
        metrics = self.folder / "run/metrics.jsonl"
        while process.poll() is None:
            lines = metrics.read_text().splitlines()[-3:-1] if metrics.exists() else []
            if lines and json.loads(lines[-1])["step"] >= step:
                return
            time.sleep(0.1)
        self.fail("it ended early: " + process.stderr.read())

    def test_twenty_thousand_steps_and_a_thousand_checkpoints(self):
        interval = STEPS // CHECKPOINTS
        arguments = self.training("run", 10**9, "--eval_interval", interval, "--keep", 3, "--log_interval", interval, "--eval_iters", 4, "--quiet")
        process = self.started(*arguments)
        self.wait_for_step(process, EARLY)
        early = self.figures(process)
        self.wait_for_step(process, STEPS)
        late = self.figures(process)
        process.terminate()
        process.communicate(timeout=60)
        print(f"step {EARLY}: {early}\nstep {STEPS}: {late}")
        self.assertLess(late["peak"] - early["peak"], 8 * MEBIBYTE)
        self.assertLessEqual(late["files"], early["files"] + 1)  # one more while a save is under way
        self.assertLessEqual(late["checkpoints"], 3 + 2)         # kept, best, and one to be pruned
        self.assertTrue(self.json("inspect", "run", "--verify")["verified"])
