"""What the scripts build is what they then need: LibTorch's part too, which nothing else in their builds would bring along."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


if __name__ == "__main__":
    unittest.main()
