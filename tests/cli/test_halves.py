"""The program without LibTorch, and the half that has it: what each does, and what is said where the other is missing."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program import PROGRAM, QUICK, ProgramTest


class HalvesTest(ProgramTest):
    def alone(self):
        """A copy of the program with nothing beside it."""
        copy = self.folder / "alone/chargpt"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(PROGRAM, copy)
        return copy

    def run_alone(self, *arguments):
        return subprocess.run([self.alone(), *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    def test_the_program_links_no_libtorch(self):
        linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertIn("libstdc++", linked)
        for library in ("libtorch", "libc10", "libgomp", "libcuda"):
            self.assertNotIn(library, linked)
        training = pathlib.Path(PROGRAM).parent / "chargpt-training"
        self.assertIn("libtorch", subprocess.run(["ldd", training], capture_output=True, text=True, check=True).stdout)

    def test_a_trained_model_of_any_type_is_read_without_the_other_half(self):
        for preset in ("ladder/bigram", "ladder/average", "ladder/masked", "nanogpt-cpu"):
            run = preset.replace("/", "-")
            small = ["--n_layer", "1", "--n_embd", "16"] if preset == "nanogpt-cpu" else []
            self.succeed("train", preset, "--run", run, *QUICK, *small, "--max_iters", "10", "--engine", "autograd", "--quiet")
            sample = ["sample", run, "--tokens", "30", "--seed", "3", "--quiet"]
            alone = self.run_alone(*sample)
            self.assertEqual((alone.returncode, alone.stdout), (0, self.succeed(*sample).out), alone.stderr)
            for command in (["eval", run], ["inspect", run], ["runs", "."], ["configs"], ["--version"], ["sample", "--help"]):
                self.assertEqual(self.run_alone(*command).returncode, 0, command)
            rows = [json.loads(line) for line in (self.folder / run / "metrics.jsonl").read_text().splitlines()]
            autograd = [row["val_loss"] for row in rows if row["kind"] == "eval"][-1]
            self.assertAlmostEqual(self.succeed("eval", run, "--checkpoint", "last", "--json").json["loss"], autograd, delta=1e-5)

    def test_weights_are_read_on_the_cpu_whatever_trained_them(self):
        self.succeed("train", "ladder/bigram", "--run", "r", *QUICK, "--max_iters", "2", "--quiet")
        for command in (["sample", "r"], ["eval", "r"], ["bench", "sample", "r"]):
            self.assertEqual(self.fail_with(2, *command, "--device", "cuda"),
                             "--device cuda: sampling and scoring run on the CPU; leave it out", command)
        self.assertEqual(self.fail_with(2, "eval", "r", "--engine", "autograd"),
                         "--engine is gone; eval computes on the CPU, whatever engine trained the model; leave it out")

    def test_what_needs_the_other_half_says_so_in_one_line_where_it_is_missing(self):
        for command in (["train", "--help"], ["doctor"], ["compare", "default"]):
            outcome = self.run_alone(*command)
            self.assertEqual(outcome.returncode, 69, outcome.stderr)
            self.assertRegex(outcome.stderr, r"^chargpt: error: this command needs LibTorch, and \S+/chargpt-training, .*No such file[^\n]*\n$")

    def test_a_link_to_the_program_in_the_place_of_the_other_half_ends_at_once(self):
        program = self.alone()
        (program.parent / "chargpt-training").symlink_to("chargpt")
        outcome = subprocess.run([program, "doctor"], cwd=self.folder, capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(outcome.returncode, 69, outcome.stderr)
        self.assertRegex(outcome.stderr, r"^chargpt: error: [^\n]*/chargpt-training, [^\n]* is this program itself; build it again \(scripts/build.sh\)\n$")

    def test_openmp_threads_of_the_other_half_spin_briefly_unless_the_user_says_how_they_wait(self):
        program = self.alone()
        training = program.parent / "chargpt-training"
        training.write_text('#!/bin/sh\necho "spins: $GOMP_SPINCOUNT"\n')
        training.chmod(0o755)
        for environment, spins in (({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "")):
            printed = subprocess.run([program, "doctor"], env=dict(os.environ, **environment), capture_output=True, text=True, check=True).stdout
            self.assertEqual(printed, f"spins: {spins}\n")

    def test_a_library_that_is_gone_is_named(self):
        alone = self.alone()
        training = alone.parent / "chargpt-training"
        shutil.copy(pathlib.Path(PROGRAM).parent / "chargpt-training", training)
        text = training.read_bytes()
        name = b"libtorch_cpu.so"
        self.assertIn(name, text)
        training.write_bytes(text.replace(name, b"libtorch_xyz.so"))
        self.assert_refused([alone], r"cannot find libtorch_xyz\.so")

    def assert_refused(self, program, reason, **environment):
        outcome = subprocess.run([*program, "doctor"], cwd=self.folder, env=dict(os.environ, **environment), capture_output=True, text=True, check=False)
        self.assertEqual(outcome.returncode, 69, outcome.stderr)
        self.assertRegex(outcome.stderr, r"^chargpt: error: this command needs LibTorch, and \S+/chargpt-training, the part of chargpt that has it, "
                                         rf"{reason}; build it again \(scripts/build.sh\), or correct LD_LIBRARY_PATH\n$")

    def other_libtorch(self, content):
        """A folder with a libtorch_cpu.so of that content, which the loader finds before the right one."""
        (self.folder / "other").mkdir(exist_ok=True)
        (self.folder / "other/libtorch_cpu.so").write_bytes(content)
        return str(self.folder / "other")

    def test_a_library_that_is_none_is_named(self):
        for content, reason in ((b"no library at all", "file too short"), (b"no library at all\n" * 100, "invalid ELF header")):
            self.assert_refused([PROGRAM], rf"cannot be loaded: \S+/other/libtorch_cpu\.so: {reason}", LD_LIBRARY_PATH=self.other_libtorch(content))

    def test_a_library_that_was_cut_off_is_said_to_be_damaged(self):
        linked = subprocess.run(["ldd", pathlib.Path(PROGRAM).parent / "chargpt-training"], capture_output=True, text=True, check=True).stdout
        with open(re.search(r"libtorch_cpu\.so => (\S+)", linked)[1], "rb") as library:
            begin = library.read(100_000)
        self.assert_refused([PROGRAM], r"cannot be loaded: one of its libraries is damaged \(.*\)", LD_LIBRARY_PATH=self.other_libtorch(begin))

    def test_another_libtorch_than_the_one_it_was_built_with_is_named(self):
        other = self.other_libtorch(b"")
        subprocess.run(["c++", "-shared", "-Wl,-soname,libtorch_cpu.so", "-x", "c++", "/dev/null", "-o", f"{other}/libtorch_cpu.so"], check=True)
        self.assert_refused([PROGRAM], r"was built with LibTorch [0-9.]+, but finds another, \S+/other/libtorch_cpu\.so, which lacks \d+ symbols that it needs",
                            LD_LIBRARY_PATH=other)


if __name__ == "__main__":
    unittest.main()
