"""A hundred kills of a random rank at a random moment: each ends all in seconds, the run resumes, and ends with the bits of one that nobody
disturbed. CHARGPT_KILLS: another number of them; CHARGPT_SEED: other moments."""

import os
import random
import signal
import time

from ranks import RanksCase

KILLS = int(os.environ.get("CHARGPT_KILLS", "100"))
LONGEST = 10  # s, from the kill to the end of all


class RankKillsTest(RanksCase):
    def test_kills_of_a_random_rank_at_a_random_moment_lose_nothing(self):
        random.seed(int(os.environ.get("CHARGPT_SEED", "5")))
        iters, options = 10_000_000, ["--eval_interval", "100", "--dropout", "0.1", "--sample_tokens", "0", "--max_val_tokens", "500", "--log_interval", "100"]
        slowest, kills, step = 0, 0, 0
        command = [*self.training("run", *options, iters=iters), "--overwrite"]
        while kills < KILLS:
            process = self.start(2, *command)
            time.sleep(random.uniform(0.3, 4))
            if process.poll() is None:
                try:
                    os.kill(self.rank_process(random.randrange(2)), signal.SIGKILL)
                except self.failureException:
                    pass  # not there yet: the launcher is killed instead
            begun = time.monotonic()
            if process.poll() is None and not (self.folder / "run").exists():
                process.kill()
            process.communicate(timeout=60)
            slowest = max(slowest, time.monotonic() - begun)
            self.assertLess(slowest, LONGEST)
            kills += 1
            if step := self.last_step("run"):
                command = ["resume", "run", "--quiet"]
        self.assertGreater(step, 0)
        end = step + 50
        self.together(2, "resume", "run", "--max_iters", end, "--quiet")
        self.together(2, *self.training("whole", *options, iters=end), timeout=1800)
        self.assertEqual(*[self.weights(run, end) for run in ("run", "whole")])
        print(f"{kills} kills, {step} steps, the slowest end took {slowest:.1f} s")
