"""libchargpt as a program finds it: installed into a folder, its examples built there by CMake and by pkg-config, and run; they write and score what the program does."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["CHARGPT"])
RUN = SOURCE / "tests/fixtures/run"
TEXT = "the end of it"


def run(*words, **options):
    process = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if process.returncode != 0:
        raise AssertionError(f"{words[0]} ended with {process.returncode}: {process.stdout}{process.stderr}")
    return process.stdout


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", PROGRAM.parent, "--prefix", cls.prefix)
        cls.library = next(cls.prefix.glob("lib*/**/libchargpt.so"))
        cls.examples = cls.folder / "examples"
        shutil.copytree(next(cls.prefix.glob("share/doc/**/examples")), cls.examples)

    def sampled(self, prompt, tokens):
        return run(PROGRAM, "sample", RUN, "--prompt", prompt, "--tokens", tokens, "--quiet")

    def scored(self):
        return json.loads(run(PROGRAM, "score", RUN, "-", "--json", input=TEXT))["loss"]

    def test_the_examples_build_with_cmake_and_say_what_the_program_says(self):
        build = self.folder / "build"
        run("cmake", "-S", self.examples, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_CXX_FLAGS=-pedantic-errors")
        run("cmake", "--build", build)
        for write in ("write", "write_static"):
            self.assertEqual(run(build / write, RUN, TEXT), self.sampled(TEXT, 200), write)
        said = re.fullmatch(r"12 characters, ([\d.]+) bits each\n", run(build / "surprise", RUN, TEXT))
        self.assertAlmostEqual(float(said[1]), self.scored() / 0.6931471805599453, places=3)
        # One that is linked statically needs neither the library nor anything that LibTorch brings.
        needed = run("ldd", build / "write_static")
        self.assertNotRegex(needed, "chargpt|torch|spdlog|fmt")

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not here")
    def test_the_c_example_builds_with_pkg_config(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "chargpt", env=environment).split()
        program = self.folder / "surprise"
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", self.examples / "surprise.c", "-o", program, *flags,
            f"-Wl,-rpath,{self.library.parent}")
        self.assertIn("12 characters, ", run(program, RUN, TEXT))

    def test_python_needs_nothing_but_the_library(self):
        lines = run("python3", self.examples / "next.py", RUN, "th", self.library).splitlines()
        self.assertEqual(len(lines), 5)
        shares = [float(line.split()[-1]) for line in lines]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertLess(sum(shares), 1)

    def test_the_library_shows_its_functions_alone_and_needs_no_torch(self):
        shown = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", self.library).splitlines()}
        declared = set(re.findall(r"\b(chargpt_\w+)\(", (self.prefix / "include/chargpt.h").read_text()))
        self.assertEqual({name for name in shown if name != "CHARGPT_1"}, declared)
        self.assertNotRegex(run("ldd", self.library), "torch|spdlog|fmt")

    def test_completions_are_installed(self):
        self.assertIn("#compdef chargpt", (self.prefix / "share/zsh/site-functions/_chargpt").read_text())
        self.assertIn("complete -c chargpt", (self.prefix / "share/fish/vendor_completions.d/chargpt.fish").read_text())
        bash = self.prefix / "share/bash-completion/completions/chargpt"
        asked = 'source "$1"; COMP_WORDS=(chargpt sample --context ""); COMP_CWORD=3; _chargpt "$2"; echo "${COMPREPLY[@]}"'
        self.assertEqual(run("bash", "-c", asked, "bash", bash, self.prefix / "bin/chargpt"), "auto full half slide\n")

    def test_the_installed_program_works_where_it_lies(self):
        self.assertEqual(run(self.prefix / "bin/chargpt", "sample", RUN, "--prompt", TEXT, "--tokens", 20, "--quiet"), self.sampled(TEXT, 20))
