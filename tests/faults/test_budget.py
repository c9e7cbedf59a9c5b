"""kill -9 in each phase of a run of --max_seconds: it goes on within its seconds, and its decisions replayed without a kill give the same weights."""

import json
import os
import signal
import subprocess
import time
import unittest

from harness import PROGRAM, FaultTest, drawn, last_wins, rows, tensors

ROUNDS = int(os.environ.get("CHARGPT_KILLS", "4")) // 4
SECONDS = 8  # of a run; each of its five processes takes some of them to start
WARMUP, INTERVAL = 150, 50
MODEL = ["--n_layer", "1", "--n_head", "1", "--n_embd", "16", "--block_size", "8", "--dropout", "0.1", "--batch_size", "4", "--warmup_iters", WARMUP,
         "--threads", "1", "--log_interval", "1", "--sample_tokens", "5", "--tokens", "5", "--text", "text.txt"]


class BudgetTest(FaultTest):
    def config(self, run):
        return json.loads((run / "checkpoints" / (run / "checkpoints/LATEST").read_text().strip() / "config.json").read_text())["train"]

    def phase(self, run):
        """What the run is at, by the step it logged last and the plan it saved last; None before the first save."""
        try:
            with open(run / "metrics.jsonl", "rb") as metrics:
                metrics.seek(max(0, metrics.seek(0, os.SEEK_END) - 2000))
                steps = [json.loads(line)["step"] for line in metrics.read().split(b"\n")[1:-1] if b'"train"' in line]
            begin, *_, last = self.config(run)["decay_steps"]
        except (OSError, ValueError):
            return None
        if not steps:
            return None
        step = steps[-1]
        return "warm-up" if step < WARMUP else "hold" if step < begin else "decay" if step < last else "end"

    def killed_in(self, phase, arguments, run, seconds):
        """Kills the program so long after it has come to the phase; the phase it was in then, None where it ended before."""
        with (self.folder / "stderr.txt").open("wb") as sink:
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=sink)
            order = ["warm-up", "hold", "decay", "end"]
            started = self.newest_row(run)
            deadline = time.time() + 60
            while process.poll() is None and time.time() < deadline:
                found = self.phase(run) if self.newest_row(run) != started else None
                if found and order.index(found) >= order.index(phase):
                    break
                time.sleep(0.002)
            time.sleep(seconds)
            process.kill()
            if process.wait() == -signal.SIGKILL:
                return self.phase(run)
        self.assertEqual(process.returncode, 0, (self.folder / "stderr.txt").read_text())
        return None

    def newest_row(self, run):
        path = run / "metrics.jsonl"
        return path.stat().st_mtime_ns if path.exists() else None

    def assert_replayed(self, run):
        """By one process that is told the number of steps and where its rate falls."""
        train = self.config(run)
        last = int((run / "checkpoints/LATEST").read_text()[5:])
        replay = self.folder / "replay"
        self.succeed(*last_wins(["train", "nanogpt-cpu", "--run", replay, *MODEL, "--max_iters", last, "--eval_interval", last, "--overwrite",
                                 "--set", f"train.decay_steps={json.dumps(train['decay_steps'])}"]))
        self.assertEqual(tensors(run, last), tensors(replay, last))
        self.assertEqual([row for row in rows(run) if row[0] == "train"], [row for row in rows(replay) if row[0] == "train"])
        return last, len(train["decay_steps"]) // 2 - 1

    def test_decisions_of_a_run_killed_in_each_phase_replay_bit_for_bit(self):
        moments = drawn("budget")
        for number in range(ROUNDS):
            run = self.folder / f"run-{number}"
            command = last_wins(["train", "nanogpt-cpu", "--run", run, *MODEL, "--max_seconds", SECONDS, "--eval_interval", INTERVAL, "--keep", "2"])
            killed = []
            for phase in ("warm-up", "hold", "decay", "end"):
                killed.append(self.killed_in(phase, command, run, moments.uniform(0, 0.1)))
                command = ["resume", run, "--threads", "1"]
            if killed[-1]:
                self.succeed(*command)
            last, revisions = self.assert_replayed(run)
            spent = json.loads((run / f"checkpoints/step-{last:08d}/state.json").read_text())["seconds"]
            self.assertLess(spent, SECONDS * 1.02)
            self.assertGreaterEqual(sum(phase is not None for phase in killed), 3)
            print(f"killed in {', '.join(str(phase) for phase in killed)}; {last} steps in {spent:.2f} of {SECONDS} s, the decay revised {revisions} times; "
                  "weights, moments, losses and rates as replayed")


if __name__ == "__main__":
    unittest.main()
