"""ATEN_CPU_CAPABILITY limits our kernels as it limits LibTorch's; what was chosen is shown and remembered."""

import os
import unittest

from program import QUICK, SMALL, ProgramTest

LEVELS = {"avx512": ("AVX512", "x86-64-v4"), "avx2": ("AVX2", "x86-64-v3"), "default": ("DEFAULT", "portable")}
WIDEST_FIRST = list(LEVELS)


class CapabilityTest(ProgramTest):
    def doctor(self, level=None):
        return self.json("doctor", env={"ATEN_CPU_CAPABILITY": level} if level else None)

    def lower_level(self):
        """One that this process is not limited to, and that this machine has below what is in force."""
        here = WIDEST_FIRST.index(next(level for level, (_, kernels) in LEVELS.items() if kernels == self.doctor()["kernels"]))
        if here + 1 == len(WIDEST_FIRST):
            self.skipTest("nothing is below the portable kernels")
        return WIDEST_FIRST[here + 1]

    def test_doctor_and_version_show_what_is_in_force(self):
        level = self.lower_level()
        capability, kernels = LEVELS[level]
        found = self.doctor(level)
        self.assertEqual((found["cpu_capability"], found["kernels"], found["bfloat16"]), (capability, kernels, False))
        self.assertIn("unset it", found["advice"][0])
        self.assertIn(f"CPU capability {capability} (ATEN_CPU_CAPABILITY = {level})\n",
                      self.succeed("--version", env={"ATEN_CPU_CAPABILITY": level}).out)

    def test_less_is_announced_on_resume_and_more_is_too(self):
        self.train("r", "nanogpt-cpu", 4, *SMALL)
        level = self.lower_level()
        now, then = LEVELS[level][0], self.doctor()["cpu_capability"]
        said = "not bit-exact: the processor was {} when the checkpoint was written and is {} now"
        self.assertIn(said.format(then, now), self.succeed("resume", "r", "--max_iters", "6", env={"ATEN_CPU_CAPABILITY": level}).err)
        self.assertIn(said.format(now, then), self.succeed("resume", "r", "--max_iters", "8").err)

    @unittest.skipUnless("ATEN_CPU_CAPABILITY" not in os.environ, "this process is limited already")
    def test_kernels_of_another_width_round_otherwise(self):
        losses = set()
        for level in [level for level in LEVELS if self.doctor(level)["kernels"] == LEVELS[level][1]]:
            self.succeed("train", "nanogpt-cpu", "--run", level, "--max_iters", "6", *SMALL, *QUICK, "--quiet", env={"ATEN_CPU_CAPABILITY": level})
            losses.add(str(self.weights(level, 6)))
        self.assertGreater(len(losses), 1 if self.doctor()["kernels"] != "portable" else 0)
