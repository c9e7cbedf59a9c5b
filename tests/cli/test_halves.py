"""The program without LibTorch, and the half that has it: what each does, and what is said where the other is missing."""

import pathlib
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
            self.succeed("train", preset, "--run", run, *QUICK, *small, "--max_iters", "10", "--quiet")
            sample = ["sample", run, "--tokens", "30", "--seed", "3", "--quiet"]
            alone = self.run_alone(*sample)
            self.assertEqual((alone.returncode, alone.stdout), (0, self.succeed(*sample).out), alone.stderr)
            for command in (["eval", run], ["inspect", run], ["runs", "."], ["configs"], ["--version"], ["sample", "--help"]):
                self.assertEqual(self.run_alone(*command).returncode, 0, command)
            autograd = self.succeed("eval", run, "--engine", "autograd", "--json").json["loss"]
            self.assertAlmostEqual(self.succeed("eval", run, "--json").json["loss"], autograd, delta=1e-5)

    def test_what_needs_the_other_half_says_so_in_one_line_where_it_is_missing(self):
        for command in (["train", "--help"], ["doctor"], ["compare", "default"]):
            outcome = self.run_alone(*command)
            self.assertEqual(outcome.returncode, 69, outcome.stderr)
            self.assertRegex(outcome.stderr, r"^chargpt: error: this command needs LibTorch, and \S+/chargpt-training, .*No such file[^\n]*\n$")

    def test_a_library_that_is_gone_is_named(self):
        alone = self.alone()
        training = alone.parent / "chargpt-training"
        shutil.copy(pathlib.Path(PROGRAM).parent / "chargpt-training", training)
        text = training.read_bytes()
        name = b"libtorch_cpu.so"
        self.assertIn(name, text)
        training.write_bytes(text.replace(name, b"libtorch_xyz.so"))
        outcome = subprocess.run([alone, "doctor"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(outcome.returncode, 69, outcome.stderr)
        self.assertIn("cannot find libtorch_xyz.so", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
