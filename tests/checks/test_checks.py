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


# Rooms and programs as CMakeLists.txt lists them.
ROOMS = """\
if(CCACHE)
  chargpt_room(base)
endif()
chargpt_room(text base)
chargpt_room(report text spdlog::spdlog)
chargpt_room(evaluate)
chargpt_room(generate)
chargpt_room(cli report)
chargpt_program(chargpt main.cpp cli)
if(CHARGPT_TORCH)
  chargpt_room(model LibTorch::LibTorch)
  chargpt_room(train evaluate text LibTorch::LibTorch)
  chargpt_module(chargpt-torch main_torch.cpp cli train)
endif()
"""


class IncludesTest(CheckTest):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", ROOMS)
        self.write("src/text/corpus.h", '// Text.\n#pragma once\n#include "base/error.h"\n')
        self.write("src/report/log.cpp", '#include <spdlog/spdlog.h>\n#include "text/corpus.h"\n')
        self.write("src/cli/command_line.cpp", '#include "report/log.h"\n')
        self.write("src/main.cpp", '#include "cli/command_line.h"\n')
        self.write("src/model/model.h", "// Models.\n#include <torch/types.h>\n")
        self.write("src/train/trainer.cpp", '#include <torch/types.h>\n#include "text/corpus.h"\n#include "evaluate/loss.h"\n')
        self.write("src/main_torch.cpp", '#include "cli/command_line.h"\n#include "train/trainer.h"\n')
        rows = "`main.cpp` `main_torch.cpp` `cli/` `train/` `evaluate/` `generate/` `model/` `report/` `text/` `base/`\n"
        self.write("src/README.md", f"# Rooms\n{rows}\n```mermaid\n```\nAfter it.\n")
        self.draw()

    def draw(self):
        subprocess.run([sys.executable, ROOT / "scripts/check/includes.py", "--draw", self.folder], check=True)

    def link(self, before, after):
        """Another line of CMakeLists.txt; the drawing follows it."""
        self.assertIn(before, ROOMS)
        self.write("CMakeLists.txt", ROOMS.replace(before, after))
        self.draw()

    def refused(self, name, text, line):
        self.write(f"src/{name}", text)
        self.assert_refused("includes.py", line)

    def test_includes_that_are_the_links_pass(self):
        self.write("src/cli/show.cpp", 'void show() { std::cout << "loss"; }\n')
        self.assert_passes("includes.py")

    def test_an_include_without_a_link_is_refused_with_what_to_write(self):
        self.refused("cli/show.cpp", '\n#include "text/corpus.h"\n',
                     "CMakeLists.txt:8: cli does not link text, included at src/cli/show.cpp:2; write chargpt_room(cli text report)\n")
        self.refused("main.cpp", '#include "cli/command_line.h"\n#include "base/error.h"\n',
                     "CMakeLists.txt:9: main.cpp does not link base, included at src/main.cpp:2; write chargpt_program(chargpt main.cpp base cli)\n")

    def test_a_link_without_an_include_is_refused_with_what_to_write(self):
        self.link("chargpt_room(cli report)", "chargpt_room(cli text report)")
        self.assert_refused("includes.py", "CMakeLists.txt:8: cli links text and includes nothing of it; write chargpt_room(cli report)\n")

    def test_libraries_are_linked_where_they_are_included(self):
        self.refused("text/json.cpp", "#include <nlohmann/json.hpp>\n",
                     "text does not link nlohmann_json::nlohmann_json, included at src/text/json.cpp:1; write chargpt_room(text base nlohmann_json::nlohmann_json)\n")

    def test_a_link_to_what_comes_later_is_refused(self):
        self.link("chargpt_room(text base)", "chargpt_room(text base report)")
        self.assert_refused("includes.py", "CMakeLists.txt:4: text links report, which comes after it or is no room; write chargpt_room(text base)\n")

    def test_a_stale_drawing_is_refused_with_the_one_to_write(self):
        before = (self.folder / "src/README.md").read_text()
        self.assertIn("\n  train --> evaluate & text\n", before)
        self.write("src/text/corpus.h", "// Text.\n")
        self.write("CMakeLists.txt", ROOMS.replace("chargpt_room(text base)", "chargpt_room(text)"))
        self.assert_refused("includes.py", "src/README.md: the drawing is not what CMakeLists.txt links; scripts/check/includes.py --draw writes\n```mermaid\n")
        self.draw()
        self.assert_passes("includes.py")
        self.assertEqual((self.folder / "src/README.md").read_text(), before.replace("  text --> base\n", ""))

    def test_the_drawing_tells_what_is_loaded_apart_and_leaves_out_what_follows(self):
        drawn = (self.folder / "src/README.md").read_text()
        loaded = drawn[drawn.index("subgraph libtorch_part"):drawn.index("  end")]
        self.assertEqual(loaded.split("\n")[1:-1], ['    main_torch["main_torch.cpp"]', "    train", "    model"])
        self.link("chargpt_room(cli report)", "chargpt_room(cli text report)")
        self.assertEqual((self.folder / "src/README.md").read_text(), drawn)  # text follows from report

    def test_a_room_that_the_readme_does_not_list_is_refused(self):
        readme = (self.folder / "src/README.md").read_text()
        self.write("src/README.md", readme.replace("`text/`", ""))
        self.assert_refused("includes.py", "src/README.md: no row says what `text/` knows\ncheck_includes")

    def test_what_stands_in_the_wrong_place_is_refused(self):
        for what, name, content, line in (
                ("an include up the order", "text/a.cpp", '\n#include "train/trainer.h"\n',
                 'src/text/a.cpp:2: text may not include "train/trainer.h"'),
                ("a room that comes later", "evaluate/a.cpp", '#include "generate/filters.h"\n',
                 'src/evaluate/a.cpp:1: evaluate may not include "generate/filters.h"'),
                ("the command line", "train/a.cpp", '#include "cli/show.h"\n',
                 'src/train/a.cpp:1: "cli/show.h" is the command line\'s, which train must not know'),
                ("torch in the light half", "report/a.cpp", "#include <ATen/ATen.h>\n",
                 "src/report/a.cpp:1: torch-free room report includes <ATen/ATen.h>"),
                ("spdlog in a header", "report/log.h", "// Log.\n#include <spdlog/spdlog.h>\n",
                 "src/report/log.h:2: <spdlog/spdlog.h> outside report/*.cpp"),
                ("std::cerr outside cli", "train/a.cpp", "void f() {\n  std::cerr << 1;\n}\n", "src/train/a.cpp:2: std::cerr outside cli/"),
                ("printf outside cli", "train/a.cpp", 'void f() { printf("x"); }\n', "src/train/a.cpp:1: printf outside cli/"),
                ("exit outside cli", "model/a.cpp", "void f() { std::exit(1); }\n", "src/model/a.cpp:1: std::exit outside cli/"),
                ("global randomness", "model/a.cpp", "std::random_device r;\n",
                 "src/model/a.cpp:1: std::random_device: randomness is passed in"),
                ("a header without its opening comment", "text/a.h", "#pragma once\n", "src/text/a.h:1: a header opens with a comment"),
                ("a room without a place", "attic/a.cpp", "// A.\n", "src/attic/a.cpp:1: room attic has no place in the order")):
            with self.subTest(what):
                self.setUp()  # another folder
                self.refused(name, content, line)

    def test_cli11_outside_its_one_file_is_refused(self):
        self.write("src/cli/options.cpp", "#include <CLI/CLI.hpp>\n")
        self.link("chargpt_room(cli report)", "chargpt_room(cli report CLI11::CLI11)")
        self.assert_passes("includes.py")
        self.refused("cli/show.cpp", "#include <CLI/App.hpp>\n", "src/cli/show.cpp:1: <CLI/App.hpp> outside cli/options.cpp")

    def test_a_command_that_includes_another_is_refused(self):
        self.write("src/cli/commands/bench.cpp", '#include "cli/commands/bench_learn.h"\n')
        self.assert_passes("includes.py")
        for name in ("cli/commands/train.cpp", "cli/show.cpp"):
            self.refused(name, '#include "cli/commands/bench_learn.h"\n', f'src/{name}:1: "cli/commands/bench_learn.h" is another command\'s')

    def test_what_a_comment_or_a_string_says_is_no_use(self):
        self.write("src/train/a.cpp", '// std::cout, exit(1)\nconst char* s = "printf(1) \\" abort()";\nint n = snprintf(0, 0, "");\nauto r = R"(std::cerr)";\n')
        self.assert_passes("includes.py")


class WordsTest(CheckTest):
    def test_finished_sources_pass(self):
        self.write("src/base/a.h", '// mkstemp makes "nameXXXXXX"; a todo list is a fine example text for a prompt file\n'.replace("todo", "shopping"))
        self.assert_passes("words.py")

    def test_unfinished_work_is_refused(self):
        self.write("src/base/a.h", "// Fine.\n// TODO later\n")
        self.assert_refused("words.py", "src/base/a.h:2: unfinished: TODO")
        self.write("src/base/a.h", '// Fine.\nthrow "not yet implemented";\n')
        self.assert_refused("words.py", "src/base/a.h:2: unfinished: not yet implemented")

    def test_a_hidden_test_is_refused(self):
        self.write("tests/base/a.cpp", 'TEST_CASE("nobody runs this", "[.slow]") {}\n')
        self.assert_refused("words.py", "tests/base/a.cpp:1: a hidden test")


class LinksTest(CheckTest):
    WHOLE = """\
        # The *tree* of `src/`, 1.5
        A [picture](data/a.svg), [rooms](src/README.md#rooms), [this](#the-tree-of-src-15), [a site](https://example.org/src/gone.h).
        `base/error.h`, `src/base/*.h`, `scripts/{build,test}.sh --quick`, `error.h`; `run.json`, `ladder/bigram`, `build/chargpt` and
        `1/2` are no files of the tree.
        ```sh
        src/gone.h
        ```
        """

    def setUp(self):
        super().setUp()
        self.write("README.md", self.WHOLE)
        self.write("src/README.md", "## Rooms\n`base/`, `error.h`\n")
        for name in ("data/a.svg", "src/base/error.h", "scripts/build.sh", "scripts/test.sh"):
            self.write(name, "")

    def test_links_that_lead_somewhere_pass(self):
        self.assert_passes("links.py")

    def test_a_broken_link_or_path_is_refused(self):
        for before, after, line in (("data/a.svg", "data/b.svg", "README.md:2: the link data/b.svg leads nowhere"),
                                    ("#rooms", "#halls", "README.md:2: the link src/README.md#halls leads nowhere"),
                                    ("(#the", "(#a", "README.md:2: the link #a-tree-of-src-15 leads nowhere"),
                                    ("base/error.h", "bass/error.h", "README.md:3: there is no bass/error.h"),
                                    ("base/*.h", "base/*.cpp", "README.md:3: there is no src/base/*.cpp"),
                                    ("build,test", "build,rest", "README.md:3: there is no scripts/rest.sh"),
                                    ("`error.h`", "`errors.h`", "README.md:3: there is no errors.h"),
                                    ("```sh", "<!-- src/gone.h -->\n```sh", "README.md:5: there is no src/gone.h")):
            with self.subTest(after):
                self.assertIn(before, self.WHOLE)
                self.write("README.md", textwrap.dedent(self.WHOLE).replace(before, after))
                self.assert_refused("links.py", line)

    def test_every_readme_is_read(self):
        (self.folder / "src/base/error.h").unlink()
        self.assert_refused("links.py", "src/README.md:2: there is no error.h")


class ReadmeTest(CheckTest):
    def check(self, text, code=0):
        """What the check prints, which ends with that code."""
        ended, printed = self.run_check("readme.py", self.write("README.md", text), CHARGPT=str(self.folder / "chargpt"))
        self.assertEqual(ended, code, printed)
        return printed

    def test_an_example_that_prints_what_the_readme_shows_passes(self):
        printed = self.check("""\
            <!-- run -->
            ```sh
            printf 'loss   1.234 after 9.5 s\\nand\\nmore\\nend\\n'   # a table
            ```
            <!-- output -->
            ```
            loss 1.234 after … s
            …
            end
            ```
            """)
        self.assertIn("1 examples, 0 failures", printed)

    def test_other_output_is_named_by_line(self):
        text = "# Title\n<!-- run -->\n```sh\necho 2\n```\n<!-- output -->\n```\n3\n```\n"
        self.assertIn("README.md:3: printed:\n2", self.check(text, code=1))

    def test_exit_codes_are_compared(self):
        self.check("<!-- run exit=3 -->\n```sh\nexit 3\n```\n")
        self.assertIn("ended with 3, not 0", self.check("<!-- run -->\n```sh\nexit 3\n```\n", code=1))

    def test_trainings_are_shortened_by_arguments(self):
        program = self.write("chargpt", '#!/bin/sh\necho "$@"\n')
        program.chmod(0o755)
        self.check("""\
            <!-- run with="--max_iters 20" -->
            ```sh
            chargpt train default   # a minute
            chargpt sample runs/default-1
            ```
            <!-- output -->
            ```
            train default --max_iters 20
            sample runs/default-1
            ```
            """)

    def test_an_example_that_is_neither_run_nor_explained_is_refused(self):
        self.assertIn("line 1: an example without <!-- run -->", self.check("```sh\nexit 0\n```\n", code=1))
        self.check("<!-- not run: needs a GPU -->\n```sh\nexit 1\n```\n")

    def test_later_examples_see_the_files_of_earlier_ones(self):
        self.check("<!-- run -->\n```sh\ntouch made\n```\n<!-- run -->\n```sh\ntest -e made\n```\n")


class GpuCheckTest(CheckTest):
    """scripts/check_gpu.sh, rehearsed on the CPU."""

    def check_gpu(self, *arguments):
        process = subprocess.run(["bash", ROOT / "scripts/check_gpu.sh", "--logs", self.folder / "logs", *arguments],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return process.returncode, process.stdout, process.stderr

    def rehearse(self, *steps):
        build = pathlib.Path(os.environ.get("CHARGPT", ROOT / "build/chargpt")).parent
        code, listed, err = self.check_gpu("--device", "cpu", "--build", build, *steps)
        self.assertEqual(code, 0, listed + err)
        return listed

    def test_every_step_of_a_rehearsal_holds_and_is_logged(self):
        listed = self.rehearse("train", "gpu")
        for step in ("train gpu: 6 steps", "repeat gpu: 20 steps twice: the same bits", "resume gpu: from step-00000003 to step-00000006: the same bits",
                     "sample gpu: 300 characters", "evaluate gpu: ", "go on on the cpu gpu: loss "):
            self.assertRegex(listed, rf"(?m)^held +[0-9.]+ s  {step}")
        self.assertIn("a rehearsal on the CPU: nothing of this ran on a GPU", listed)
        self.assertEqual((self.folder / "logs/list.txt").read_text(), listed)
        self.assertIn("resume", (self.folder / "logs/resume-gpu.log").read_text())
        self.assertIn("losses gpu: off by ", self.rehearse("losses", "gpu"))

    def test_a_rehearsal_is_refused_what_does_not_fit_and_compares_seeds(self):
        self.assertRegex(self.rehearse("refused"), r"memory too small: .*training needs about .* reduce train.batch_size")
        self.assertRegex(self.rehearse("seeds", "gpu"), r"seeds gpu: ([0-9.]+, ){4}[0-9.]+; mean [0-9.]+")

    def test_it_goes_on_after_what_fails_and_lists_it(self):
        program = self.write("build/chargpt", "#!/bin/sh\necho 'chargpt: error: broken' >&2\nexit 70\n")
        program.chmod(0o755)
        code, listed, _ = self.check_gpu("--device", "cpu", "--build", program.parent, "train", "gpu", "ladder/bigram")
        self.assertEqual(code, 1)
        for config, log in (("gpu", "gpu"), ("ladder/bigram", "ladder-bigram")):
            self.assertRegex(listed, rf"(?m)^FAILED +[0-9.]+ s  train {config}: chargpt: error: broken \(exit 70, .*train-{log}.log\)$")
        self.assertIn("2 of 2 did not hold", listed)

    def test_without_a_gpu_it_says_so_in_one_line(self):
        if list(pathlib.Path("/dev").glob("nvidia[0-9]*")) or pathlib.Path("/dev/dxg").exists():
            self.skipTest("there is a GPU")
        code, listed, err = self.check_gpu()
        self.assertEqual((code, listed), (69, ""))
        self.assertRegex(err, r"\Acheck_gpu.sh: no GPU here .*: nothing was checked; scripts/check_gpu.sh --device cpu rehearses\n\Z")
        self.assertFalse((self.folder / "logs").exists())

    def test_help_is_there_whatever_the_working_folder(self):
        printed = subprocess.run(["bash", "check_gpu.sh", "--help"], cwd=ROOT / "scripts", stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("scripts/check_gpu.sh [options]", printed)

    def test_what_it_does_not_know_is_refused(self):
        for arguments, said in ((["everything"], "everything is none of build, tests"), (["--gpu"], "unknown option --gpu"), (["--device"], "--device needs a value")):
            code, _, err = self.check_gpu(*arguments)
            self.assertEqual(code, 2)
            self.assertIn(said, err)
