"""Somebody sets the clock, while a run trains and between two of its processes: its seconds, rows and bits are those that they would have been."""

import os
import time

from harness import SAVES, FaultTest, metrics, shim

DAY, YEARS = 86_400, 10 * 365 * 86_400


class ClockTest(FaultTest):
    def with_jumps(self, jump, *arguments, **more):
        """The program where the time of day jumps; how long it took."""
        if shim("jumping_clock") is None:
            self.skipTest("no C compiler to make the clock jump with")
        begun = time.monotonic()
        outcome = self.succeed(*arguments, env={"LD_PRELOAD": str(shim("jumping_clock")), "CLOCK_JUMP": str(jump), **more})
        tick = 1 / os.sysconf("SC_CLK_TCK")  # the system knows the start of each process in such units
        return outcome, time.monotonic() - begun + tick

    def assert_seconds_are_sane(self, run, elapsed):
        seconds = [row["seconds"] for row in metrics(run) if "seconds" in row]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreater(seconds[0], 0)
        self.assertLess(seconds[-1], elapsed)
        state = self.state(run)
        self.assertLess(0, state["training_seconds"])
        self.assertLess(state["training_seconds"], state["seconds"])
        self.assertLess(state["seconds"], elapsed)

    def test_a_clock_that_jumps_within_and_between_processes(self):
        whole, run = self.whole_run("whole", 8, *SAVES), self.folder / "run"
        _, elapsed = self.with_jumps(DAY, *self.training("run", 2, *SAVES))
        self.assertGreater(self.json_of("run/run.json")["began"], time.time() + DAY / 2, "the clock did not jump")
        for jump, iters in ((-YEARS, 4), (YEARS, 6), (-DAY, 8)):
            outcome, more = self.with_jumps(jump, *self.resuming("run", iters))
            elapsed += more
            self.assertNotIn("not bit-exact", outcome.err)
            self.assert_seconds_are_sane(run, elapsed)
        self.assert_same_training(whole, run, 8)
        self.assertEqual(self.step_of("run", "last"), 8)
        events = sorted(run.glob("events.out.tfevents.*"), key=lambda path: path.stat().st_mtime_ns)
        self.assertEqual(len(events), 4)
        self.assertEqual(events, sorted(events), "TensorBoard reads them by their names")
