"""The checks of scripts/check/*.py let good sources pass and name each offence by file and line."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="chargpt-checks-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run_check(self, script, argument, **environment):
        process = subprocess.run([sys.executable, ROOT / "scripts/check" / script, argument], env=dict(os.environ, **environment),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return process.returncode, process.stdout

    def assert_passes(self, script):
        code, printed = self.run_check(script, self.folder)
        self.assertEqual(code, 0, printed)

    def assert_refused(self, script, line):
        code, printed = self.run_check(script, self.folder)
        self.assertEqual(code, 1, printed)
        self.assertIn(line, printed)


class ModulesTest(CheckTest):
    def test_an_include_of_a_module_below_in_the_list_is_refused(self):
        self.write("src/modules.txt", "# Modules.\nbase 10 errors\ntext 10 ids\n")
        self.write("src/text/corpus.h", '// Text.\n#pragma once\n#include "base/error.h"\n')
        self.write("src/README.md", "# Modules\n<!-- modules -->\n\n<!-- end -->\n")
        subprocess.run([sys.executable, ROOT / "scripts/check/modules.py", "--draw", self.folder], check=True)
        self.assert_passes("modules.py")
        self.write("src/base/error.cpp", '#include "text/corpus.h"\n')
        self.assert_refused("modules.py", "src/base/error.cpp: includes text/corpus.h, of a module below base in src/modules.txt")


class WordsTest(CheckTest):
    def test_unfinished_work_and_hidden_tests_are_refused(self):
        self.write("src/base/a.h", '// mkstemp makes "nameXXXXXX"\n')
        self.assert_passes("words.py")
        self.write("src/base/a.h", "// Fine.\n// TODO later\n")
        self.assert_refused("words.py", "src/base/a.h:2: unfinished: TODO")
        self.write("tests/base/a.cpp", 'TEST_CASE("nobody runs this", "[.slow]") {}\n')
        self.assert_refused("words.py", "tests/base/a.cpp:1: a hidden test")


class LinksTest(CheckTest):
    def test_links_that_lead_somewhere_pass_and_broken_ones_are_refused(self):
        self.write("src/base/error.h", "")
        whole = "# The *tree*, 1.5\n[This](#the-tree-15), `base/error.h`, `src/base/*.h`, `error.h`; `run.json` and `1/2` are not files of the tree.\n"
        self.write("README.md", whole)
        self.assert_passes("links.py")
        self.write("README.md", whole.replace("#the-", "#a-").replace("base/error.h", "bass/error.h"))
        self.assert_refused("links.py", "README.md:2: the link #a-tree-15 leads nowhere")
        self.assert_refused("links.py", "README.md:2: there is no bass/error.h")


class ReadmeTest(CheckTest):
    def check(self, text, code=0):
        """What the check prints, which ends with that code."""
        ended, printed = self.run_check("readme.py", self.write("README.md", text), CHARGPT=str(self.folder / "chargpt"))
        self.assertEqual(ended, code, printed)
        return printed

    def test_examples_are_run_and_compared(self):
        output = "<!-- output -->\n```\nloss 1.234 after … s\n…\nend\n```\n"
        run = "<!-- run -->\n```sh\nprintf 'loss   1.234 after 9.5 s\\nand\\nmore\\n{}\\n'   # a table\n```\n"
        self.assertIn("1 examples, 0 failures", self.check(run.format("end") + output))
        self.assertIn("README.md:2: printed:\n", self.check(run.format("start") + output, code=1))
        self.assertIn("ended with 3, not 0", self.check("<!-- run -->\n```sh\nexit 3\n```\n", code=1))
        self.assertIn("line 1: an example without <!-- run -->", self.check("```sh\nexit 0\n```\n", code=1))


class GpuCheckTest(CheckTest):
    def test_every_part_of_a_rehearsal_on_the_cpu_holds_and_is_kept(self):
        build = pathlib.Path(os.environ.get("CHARGPT", ROOT / "build/chargpt")).parent
        command = [sys.executable, ROOT / "scripts/check/gpu.py", "--out", self.folder, "--device", "cpu", "--build", build, "--text", ROOT / "data/sample.txt"]
        printed = subprocess.run([*command, "machine", "losses", "repeat", "train", "refused", "precision"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for result in ("losses: gpu: off by 0.0e", "repeat: gpu: 20 steps twice, the same bits", "train: 100 steps in ", "train: sample: 300 characters",
                       "train: resumed from step-00000050 to step-00000100: the same bits", "train: continued on the CPU", "refused: ", "precision: gpu"):
            self.assertRegex(printed, rf"(?m)^held +[0-9.]+ s  {result}")
        self.assertEqual((self.folder / "results.txt").read_text(), printed)
