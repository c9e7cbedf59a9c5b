"""A pipe, folder, socket or device where a run has a file: nothing is waited for, one line says so."""

import os
import shutil
import socket
import unittest

from harness import FaultTest, drawn

SAVES = ["--eval_interval", "2", "--keep", "2"]
COMMANDS = (["sample", "run", "--tokens", "3"], ["eval", "run"], ["inspect", "run"], ["runs", "."], ["resume", "run", "--threads", "1"])
CHECKPOINT_FILES = ("MANIFEST.json", "state.json", "config.json", "vocab.json", "model.safetensors", "optimizer.safetensors")


def pipe(path):
    os.mkfifo(path)


def bound_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # as the name of a socket may be no longer than 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def device(path):  # of which a run sees only the link
    path.symlink_to("/dev/zero")


KINDS = {"a pipe": pipe, "a folder": os.mkdir, "a socket": bound_socket, "a symbolic link": device}


class PipesTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.run_folder = self.whole_run("run", 4, *SAVES)

    def replace(self, path, kind):
        path.unlink()
        KINDS[kind](path)

    def test_a_file_of_the_only_checkpoint(self):
        shutil.rmtree(self.run_folder / "checkpoints/step-00000002")
        kept = self.copy(self.run_folder, "kept")
        draw = drawn("pipes")
        for name in CHECKPOINT_FILES:
            for kind in ("a pipe", draw.choice(list(KINDS)[1:])):
                self.copy(kept, "run")
                self.replace(self.run_folder / "checkpoints/step-00000004" / name, kind)
                command = ["resume", "run", "--threads", "1"] if name.startswith("optimizer") else draw.choice(COMMANDS[:3])
                with self.subTest(name=name, kind=kind, command=command[0]):
                    error = self.fail_with(65, *command)
                    self.assertIn(f"checkpoints/step-00000004/{name} is {kind}, and should be a regular file", error)

    def test_a_file_of_the_run_itself(self):
        kept = self.copy(self.run_folder, "kept")
        draw = drawn("pipes of a run")
        for name in ("LATEST", "BEST"):
            for kind in ("a pipe", draw.choice(list(KINDS)[1:])):
                self.copy(kept, "run")
                self.replace(self.run_folder / "checkpoints" / name, kind)
                with self.subTest(name=name, kind=kind):
                    for command in COMMANDS[:4]:
                        self.succeed(*command)
                    said = self.chosen("run", "last")[1]
                    self.assertEqual(any("LATEST of run/checkpoints names no checkpoint that is there" in line for line in said), name == "LATEST")
                    self.assertEqual(self.chosen("run", "best")[0], "step-00000004")
        for kind in KINDS:
            self.copy(kept, "run")
            self.replace(self.run_folder / "metrics.jsonl", kind)
            with self.subTest(name="metrics.jsonl", kind=kind):
                error = self.fail_with(75, *self.resuming("run", 6))
                self.assertIn("run holds something else where a run's own files go (metrics.jsonl): ", error)

    def test_a_lock_is_a_regular_file_too(self):
        (self.run_folder / ".lock").unlink(missing_ok=True)
        pipe(self.run_folder / ".lock")
        self.assertIn("(.lock)", self.fail_with(75, *self.resuming("run", 6)))

    def test_what_is_no_file_in_a_folder_of_texts_is_left_out_unopened(self):
        (self.folder / "texts").mkdir()
        shutil.copy(self.text, self.folder / "texts/a")
        pipe(self.folder / "texts/pipe")
        bound_socket(self.folder / "texts/socket")
        device(self.folder / "texts/zero")
        arguments = self.training("of-folder", 2)
        arguments[arguments.index("text.txt")] = "texts"
        said = self.succeed(*arguments).err
        self.assertIn("texts: left out as no text: pipe (not a regular file), socket (not a regular file), "
                      "zero (not a regular file)", said)

    def test_a_text_and_a_config_may_be_pipes(self):
        for name, content in (("text-pipe", self.text.read_bytes()), ("config-pipe", b'{"extends": "nanogpt-cpu", "name": "mine"}')):
            os.mkfifo(self.folder / name)
            if os.fork() == 0:
                with open(self.folder / name, "wb") as sink:
                    sink.write(content)
                os._exit(0)
        arguments = self.training("piped", 2)
        arguments[1] = "config-pipe"
        arguments[arguments.index("text.txt")] = "text-pipe"
        self.succeed(*arguments)


if __name__ == "__main__":
    unittest.main()
