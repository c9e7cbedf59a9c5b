"""kill -9 at random moments: what is resumed comes to the same, bit for bit."""

import os
import signal
import subprocess
import time
import unittest

from harness import PROGRAM, FaultTest, drawn, left_by_a_save, state

KILLS = int(os.environ.get("CHARGPT_KILLS", "20"))
SAVES = ["--eval_interval", "1", "--keep", "1", "--learning_rate", "0.1"]  # too high to be better each time


class KillTest(FaultTest):
    def newest(self, run):
        """Tells one save from the next; None before the first."""
        try:
            status = (run / "checkpoints/LATEST").stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def killed(self, arguments, run, seconds, after_a_save):
        """Starts the program and kills it so long after its start, or after its first save; its exit status and stderr."""
        errors = self.folder / "stderr.txt"
        before = self.newest(run)
        with errors.open("wb") as sink:
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=sink)
            deadline = time.time() + 120
            while after_a_save and self.newest(run) == before and process.poll() is None and time.time() < deadline:
                time.sleep(0.001)
            time.sleep(seconds)
            process.kill()
            return process.wait(), errors.read_text()

    def test_a_run_killed_again_and_again_equals_one_that_was_not(self):
        moments = drawn("kills")
        run = self.folder / "killed"
        kills = in_a_save = resumes = before_the_first = behind = 0
        stood = {}  # where a kill left it: what was best there
        while kills < KILLS:
            has_checkpoint = self.newest(run) is not None
            command = self.resuming(run, 10**9) if has_checkpoint else self.training(run, 10**9, *SAVES, "--overwrite")
            after_a_save = moments.random() < 0.8
            seconds = moments.uniform(0, 0.05) if after_a_save else moments.uniform(0, 0.5)
            code, err = self.killed(command, run, seconds, after_a_save)
            self.assertEqual(code, -signal.SIGKILL, err)
            for word in ("DAMAGED", "not bit-exact", "error:"):
                self.assertNotIn(word, err, f"kill {kills}")
            kills += 1
            resumes += has_checkpoint
            before_the_first += not (run / "checkpoints/LATEST").exists()
            in_a_save += left_by_a_save(run)
            if (run / "checkpoints/LATEST").exists():
                last, best = (run / "checkpoints/LATEST").read_text().strip(), self.chosen("killed", "best")[0]
                stood[last] = best
                pointer = run / "checkpoints/BEST"
                behind += not pointer.exists() or pointer.read_text() != f"{best}\n"
        self.assertGreater(resumes, KILLS // 2, "too few of them had anything to lose")
        if not (run / "checkpoints/LATEST").exists():
            self.succeed(*self.training(run, 3, *SAVES, "--overwrite"))
        last = int((run / "checkpoints/LATEST").read_text()[5:]) + 3
        self.succeed(*self.resuming(run, last))
        whole = self.whole_run("whole", last, *SAVES, "--keep", last)
        self.assert_same_training(whole, run, last)
        self.assertTrue(self.assert_stands_as(whole, run))
        for at, best in stood.items():
            self.assertEqual(best, f"step-{state(whole / 'checkpoints' / at)['best_step']:08d}", f"the best at {at}")
        older = sum(at != best for at, best in stood.items())
        self.assertFalse([path.name for path in run.rglob(".*") if path.name != ".lock"], "left behind")
        print(f"kills {kills} (inside a save {in_a_save}, before the first checkpoint {before_the_first}), resumes {resumes + 1}, "
              f"steps {last}, left at {len(stood)} steps, {older} of them with an older best; differences of tensors, rows, last and best 0; "
              f"the file BEST behind until the next save or resume: {behind}")


if __name__ == "__main__":
    unittest.main()
