"""What the scripts build is what they then need: LibTorch's part too, which nothing else in their builds would bring along."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = """#!/bin/sh
[ "$1" = -P ] && echo /libtorch && exit
echo "$@" >> "$LOG"
echo "chargpt-torch.so$FOUND" > build/build.ninja
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)\nLibTorch_ROOT:PATH=/libtorch" > build/CMakeCache.txt
"""  # as far as the scripts look at it
BUILD = pathlib.Path(os.environ["CHARGPT"]).parent


class ScriptsTest(unittest.TestCase):
    def linked_by(self, target):
        commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], stdout=subprocess.PIPE, text=True, check=True).stdout
        return set(re.findall(r" -o (chargpt\S*) ", commands))

    def test_the_scripts_build_the_program_and_what_it_loads(self):
        for script in ("build.sh", "train.sh"):
            targets = re.findall(r"^build (\S+)$", (ROOT / "scripts" / script).read_text(encoding="utf-8"), re.MULTILINE)
            self.assertEqual(len(targets), 1, script)
            self.assertEqual(self.linked_by(targets[0]) - {"chargpt-mpi.so"}, {"chargpt", "chargpt-torch.so"}, script)  # the third only with MPI

    def test_a_text_is_the_same_file_for_the_script_and_for_the_program_that_it_runs_elsewhere(self):
        program = "from workbench import *; print(parsed(parser_for('.', '', ''))[1][0][1])"
        with tempfile.TemporaryDirectory() as folder:
            printed = subprocess.run([sys.executable, "-c", program, "--text", "mine=a.txt", "--work", "."], cwd=folder, stdout=subprocess.PIPE, text=True,
                                     check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "scripts/measure")}).stdout
            self.assertEqual(printed, f"{pathlib.Path(folder).resolve() / 'a.txt'}\n")

    def test_train_passes_its_arguments_on_and_names_the_sample_where_nothing_names_a_text(self):
        with tempfile.TemporaryDirectory() as folder:
            checkout = pathlib.Path(folder)
            for path, text in {"scripts/train.sh": (ROOT / "scripts/train.sh").read_text(encoding="utf-8"), "build/chargpt": "#!/bin/sh\necho \"$@\"\n",
                               "scripts/setup.sh": "build() { :; }\nget_text() { return 1; }\nsay() { :; }\n",
                               "mine.json": '{"data": {"text": "a.txt"}}', "other.json": '{"extends": "quick"}'}.items():
                (checkout / path).parent.mkdir(exist_ok=True)
                (checkout / path).write_text(text, encoding="utf-8")
            (checkout / "build/chargpt").chmod(0o755)
            for arguments, may_name_one in (([], False), (["--minutes", "5"], False), (["--max_iters", "5", "quick"], False), (["other.json"], True),
                                         (["mine.json"], True), (["--text", "a.txt"], True), (["quick", "--text=a.txt"], True), (["--init-from", "r"], True)):
                with self.subTest(arguments):
                    printed = subprocess.run(["bash", checkout / "scripts/train.sh", *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout
                    self.assertEqual(printed.split(), ["train", *arguments, *([] if may_name_one else ["--text=data/sample.txt"])])

    def test_mpi_after_an_ordinary_build_configures_again_once(self):
        with tempfile.TemporaryDirectory() as folder:
            checkout, programs = pathlib.Path(folder) / "checkout", pathlib.Path(folder) / "bin"
            shutil.copytree(ROOT / "scripts", checkout / "scripts")
            programs.mkdir()
            for name, text in {"cmake": CMAKE, "ninja": "#!/bin/sh\n", "apt-get": "#!/bin/sh\n", "mpirun": "#!/bin/sh\n"}.items():
                (programs / name).write_text(text)
                (programs / name).chmod(0o755)
            def configured(*arguments, finds_mpi):
                log = pathlib.Path(folder) / "log"
                log.write_text("")
                subprocess.run(["bash", checkout / "scripts/build.sh", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=finds_mpi,
                               env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LOG": log, "FOUND": " chargpt-mpi.so" if finds_mpi else ""})
                return log.read_text().count("\n")
            self.assertEqual(configured(finds_mpi=False), 1)
            self.assertEqual(configured(finds_mpi=True), 0)
            self.assertEqual(configured("--mpi", finds_mpi=True), 1)
            self.assertEqual(configured("--mpi", finds_mpi=True), 0)
            self.assertEqual(configured(finds_mpi=True), 0)
