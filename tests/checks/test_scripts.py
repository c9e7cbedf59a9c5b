"""scripts/train.sh and scripts/get_text.sh: which text they take; help of the checks; scripts/check/gpu.py, rehearsed on the CPU."""

import functools
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ScriptsTest(unittest.TestCase):
    def setUp(self):
        self.checkout = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="chargpt-scripts-"))) / "checkout"

    def write(self, path, text):
        (self.checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (self.checkout / path).write_text(text, encoding="utf-8")
        return self.checkout / path

    def served(self, path):
        """Its address, at a server of this process."""
        handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=path.parent))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever).start()
        return f"http://127.0.0.1:{server.server_port}/{path.name}"

    def test_train_passes_its_arguments_on_and_names_the_sample_where_nothing_names_a_text(self):
        for path, text in {"scripts/train.sh": (ROOT / "scripts/train.sh").read_text(encoding="utf-8"), "build/chargpt": "#!/bin/sh\necho \"$@\"\n",
                           "scripts/setup.sh": "build() { :; }\nget_text() { return 1; }\nsay() { :; }\n",
                           "mine.json": '{"data": {"text": "a.txt"}}', "other.json": '{"extends": "quick"}'}.items():
            self.write(path, text).chmod(0o755)
        for arguments, may_name_one in (([], False), (["--minutes", "5"], False), (["other.json"], True), (["mine.json"], True), (["--text", "a.txt"], True),
                                        (["quick", "--text=a.txt"], True), (["--init-from", "r"], True)):
            with self.subTest(arguments):
                printed = subprocess.run(["bash", self.checkout / "scripts/train.sh", *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout
                self.assertEqual(printed.split(), ["train", *arguments, *([] if may_name_one else ["--text=data/sample.txt"])])

    def test_chargpt_text_is_a_path_or_an_address_of_tinyshakespeare_and_nothing_else(self):
        script = self.write("scripts/get_text.sh", (ROOT / "scripts/get_text.sh").read_text(encoding="utf-8"))
        (self.checkout / "data").mkdir()
        target, text = self.checkout / "data/tinyshakespeare.txt", ROOT / "data/tinyshakespeare.txt"

        def get(place, code):
            target.unlink(missing_ok=True)
            process = subprocess.run(["sh", script], env={**os.environ, "CHARGPT_TEXT": str(place), "no_proxy": "127.0.0.1"}, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((process.returncode, target.exists()), (code, code == 0), process.stderr)
            return process.stderr
        other = self.write("other.txt", "another text")
        for place in (other, self.served(other)):
            self.assertIn("is not tinyshakespeare (its SHA-256 differs)", get(place, 65))
        self.assertIn("cannot read", get(self.checkout / "nothing.txt", 66))
        if not text.exists():
            self.skipTest("data/tinyshakespeare.txt is not there")
        for place in (text, self.served(text)):
            get(place, 0)
            self.assertEqual(target.read_bytes(), text.read_bytes())

    def test_checks_and_measurements_say_what_they_are_for_and_do_nothing_else(self):
        scripts = [path for path in (*ROOT.glob("scripts/check/*.*"), *ROOT.glob("scripts/measure/*.py")) if path.read_bytes().startswith(b"#!")]
        self.assertGreater(len(scripts), 15)
        for script in scripts:
            said = subprocess.run(["python3" if script.suffix == ".py" else "bash", script, "--help"], cwd=self.checkout.parent, capture_output=True, text=True, check=True)
            self.assertGreater(len(said.stdout.split()), 15, script)
        self.assertEqual(os.listdir(self.checkout.parent), [])

    def test_every_part_of_a_check_of_the_gpu_is_rehearsed_on_the_cpu(self):
        build, out = pathlib.Path(os.environ.get("CHARGPT", ROOT / "build/chargpt")).parent, self.checkout.parent
        command = [sys.executable, ROOT / "scripts/check/gpu.py", "--out", out, "--device", "cpu", "--build", build, "--text", ROOT / "data/sample.txt"]
        printed = subprocess.run([*command, "machine", "losses", "repeat", "train", "refused", "precision"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for result in ("losses: gpu: off by 0.0e", "repeat: gpu: 20 steps twice, the same bits", "train: 100 steps in ", "train: sample: 300 characters",
                       "train: resumed from step-00000050 to step-00000100: the same bits", "train: continued on the CPU", "refused: ", "precision: gpu"):
            self.assertRegex(printed, rf"(?m)^held +[0-9.]+ s  {result}")
        self.assertEqual((out / "results.txt").read_text(), printed)
