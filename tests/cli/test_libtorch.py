"""LibTorch's part of the program: when it is loaded, when never, and what is said where it is missing or cannot be."""

import os
import pathlib
import re
import shutil
import subprocess

from program import PROGRAM, QUICK, SOURCE, ProgramTest, metrics

MODULE = pathlib.Path(PROGRAM).parent / "chargpt-torch.so"


class LibtorchTest(ProgramTest):
    def alone(self, *beside):
        """A copy of the program with nothing but `beside` next to it."""
        (self.folder / "alone").mkdir()
        for path in (PROGRAM, *beside):
            shutil.copy(path, self.folder / "alone")

    def run_alone(self, *arguments, **environment):
        return subprocess.run([self.folder / "alone/chargpt", *arguments], cwd=self.folder, env=dict(os.environ, **environment),
                              capture_output=True, text=True, check=False)

    def loaded(self, *arguments):
        """The libraries that the dynamic loader opens, by name."""
        told = self.succeed(*arguments, env={"LD_DEBUG": "files"}).err
        return set(re.findall(r"file=(\S+?)(?:\.so\S*)? \[0\];  generating link map", told))

    def test_the_program_links_no_libtorch_and_its_part_does(self):
        linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertIn("libstdc++", linked)
        for library in ("libtorch", "libc10", "libgomp", "libcuda"):
            self.assertNotIn(library, linked)
        self.assertIn("libtorch", subprocess.run(["ldd", MODULE], capture_output=True, text=True, check=True).stdout)

    def test_it_is_loaded_where_it_is_asked_for_and_not_before(self):
        train = ["train", "nanogpt-cpu", *QUICK, "--n_layer", "1", "--n_embd", "16", "--max_iters", "2", "--quiet"]
        for command in (["train", "--help"], [*train, "--run", "a"], [*train, "--run", "b", "--engine", "cpu"], ["sample", "a", "--tokens", "5"],
                        ["eval", "a"], ["resume", "a", "--max_iters", "3", "--quiet"], ["--version"],
                        ["doctor"], [*train, "--run", "c", "--norm_place", "post"], ["compare", "nanogpt-cpu", *QUICK[:6], "--n_embd", "16", "--max_iters", "2", "--quiet"]):
            with self.subTest(command):
                self.assertFalse({name for name in self.loaded(*command) if "torch" in name or "gomp" in name})
        self.assertTrue({name for name in self.loaded(*train, "--run", "d", "--engine", "libtorch") if name.endswith("libtorch_cpu")})

    def test_engines_have_their_names(self):
        for engine, name in (("auto", "cpu"), ("cpu", "cpu"), ("libtorch", "libtorch")):
            self.succeed("train", "nanogpt-cpu", "--run", engine, *QUICK, "--n_layer", "1", "--n_embd", "16", "--max_iters", "2", "--engine", engine, "--quiet")
            self.assertEqual(self.state(engine)["engine"], name)

    def test_first_weights_are_the_same_whoever_trains(self):
        same = ["--n_layer", "1", "--n_embd", "16", "--max_iters", "0", "--quiet"]
        for engine in ("cpu", "libtorch"):
            self.succeed("train", "nanogpt-cpu", "--run", engine, *QUICK, *same, "--engine", engine)
        self.assertEqual(self.weights("cpu", 0), self.weights("libtorch", 0))

    def test_without_it_the_ladder_is_trained_as_with_it_adapts_and_resumes(self):
        self.alone()
        for rung in (path.stem for path in (SOURCE / "configs/ladder").glob("*.json")):
            with self.subTest(rung):
                train = ["train", f"ladder/{rung}", *QUICK, "--max_iters", "10", "--quiet", "--run"]
                self.assertEqual(self.run_alone(*train, rung).returncode, 0)
                self.succeed(*train, rung + "-libtorch", "--engine", "libtorch")
                losses = [metrics(self.folder / run, "eval")[-1]["val_loss"] for run in (rung, rung + "-libtorch")]
                self.assertAlmostEqual(*losses, delta=1e-4)
                for command in (["eval", rung, "--adapt"], ["resume", rung, "--max_iters", "12", "--quiet"]):
                    self.assertEqual(self.run_alone(*command).returncode, 0, command)
        self.assertIn("LibTorch none\n", self.run_alone("--version").stdout)

    def test_what_needs_it_says_so_in_one_line_where_it_is_missing(self):
        self.alone()
        for what in ("--engine libtorch", "--device cuda"):
            self.assert_refused(r"does not exist; build it \(scripts/build.sh\) or copy it there", what)

    def assert_refused(self, reason, what="--engine libtorch", **environment):
        outcome = self.run_alone("train", "ladder/bigram", *QUICK, "--run", "r", *what.split(), **environment)
        self.assertEqual(outcome.returncode, 69, outcome.stderr)
        self.assertRegex(outcome.stderr, rf"^chargpt: error: {what} needs LibTorch, but \S+/chargpt-torch.so, chargpt's LibTorch plug-in, "
                                         rf"{reason}\n$")

    def assert_not_loaded(self, reason, **environment):
        self.assert_refused(rf"{reason}; rebuild it \(scripts/build.sh\), or correct LD_LIBRARY_PATH", **environment)

    def other_libtorch(self, content):
        """A folder with a libtorch_cpu.so of that content, which the loader finds before the right one."""
        return str(self.write("other/libtorch_cpu.so", content).parent)

    def test_a_library_that_is_gone_or_none_is_named(self):
        self.alone(MODULE)
        module = self.folder / "alone/chargpt-torch.so"
        for content, reason in ((b"no library at all", "file too short"), (b"no library at all\n" * 100, "invalid ELF header")):
            self.assert_not_loaded(rf"cannot be loaded: \S+/other/libtorch_cpu\.so: {reason}", LD_LIBRARY_PATH=self.other_libtorch(content))
        text = module.read_bytes()
        self.assertIn(b"libtorch_cpu.so", text)
        module.write_bytes(text.replace(b"libtorch_cpu.so", b"libtorch_xyz.so"))
        self.assert_not_loaded(r"cannot be loaded: libtorch_xyz\.so: cannot open shared object file: No such file or directory")

    def test_another_libtorch_than_the_one_it_was_built_with_is_named(self):
        self.alone(MODULE)
        other = self.other_libtorch(b"")
        subprocess.run(["c++", "-shared", "-Wl,-soname,libtorch_cpu.so", "-x", "c++", "/dev/null", "-o", f"{other}/libtorch_cpu.so"], check=True)
        self.assert_not_loaded(r"was built with LibTorch [0-9.]+(\+\w+)?, but found an incompatible version", LD_LIBRARY_PATH=other)
