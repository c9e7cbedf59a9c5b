"""Texts that move, come from a terminal or slowly, and texts of any bytes."""

import base64
import os
import select
import subprocess

from program import QUICK, SAMPLE_TEXT, SMALL, TEXT, ProgramTest, command

OWN = QUICK[2:]  # without --text


class TextThatMoved(ProgramTest):
    def test_a_resume_with_the_text_under_a_new_name_comes_to_the_same_bits_and_keeps_the_name(self):
        self.write("text.txt", TEXT)
        for run, iters in (("whole", 30), ("parts", 20)):
            self.succeed("train", "nanogpt-cpu", *SMALL, "--dropout", "0.1", "--text", "text.txt", "--run", run, "--max_iters", iters, *OWN, "--quiet")
        (self.folder / "elsewhere").mkdir()
        (self.folder / "text.txt").rename(self.folder / "elsewhere/renamed.txt")
        self.succeed("resume", "parts", "--text", "elsewhere/renamed.txt", "--max_iters", "30", "--quiet")
        self.assert_same_training("whole", "parts", 30)
        self.assertEqual(self.json_of("parts/config.json")["data"]["text"], ["elsewhere/renamed.txt"])


class TextFromStandardInput(ProgramTest):
    LENGTH = ["--max_iters", "20", *OWN]

    def test_without_what_was_kept_it_is_asked_for_and_not_waited_for(self):
        self.succeed("train", "nanogpt-cpu", *SMALL, "--run", "run", "--text", "-", *self.LENGTH, stdin=TEXT.encode())
        kept = self.json_of("run/run.json")["text"]
        self.assertEqual(([], len(TEXT.encode())), (kept["names"], kept["bytes"]))
        (self.folder / "run/text.safetensors").unlink()
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        refused = subprocess.run(command("resume", "run"), cwd=self.folder, stdin=theirs, capture_output=True, timeout=60, check=False, text=True)
        self.assertEqual(66, refused.returncode)
        self.assertIn("the text of run is not kept in it; say where it is with --text FILE", refused.stderr)
        self.succeed("resume", "run", "--text", SAMPLE_TEXT, "--max_iters", "30", "--quiet")


class TextThatComesSlowly(ProgramTest):
    def test_reading_from_a_pipe_is_told_while_no_bytes_come(self):
        os.mkfifo(self.folder / "pipe")
        process = self.started("train", "nanogpt-cpu", *SMALL, "--run", "r", "--text", "pipe", "--max_iters", 1, *OWN)
        with (self.folder / "pipe").open("w") as pipe:
            pipe.write("some text")
            pipe.flush()
            self.assertTrue(select.select([process.stderr], [], [], 60)[0], "nothing is told")
            self.assertEqual(process.stderr.readline(), "chargpt: reading the text\n")
            pipe.write(TEXT)
        self.assertEqual(process.wait(60), 0)


class TextOfBytes(ProgramTest):
    """A model that has memorized one sequence writes it, NUL and broken UTF-8 among it."""

    UNIT = b"ab\0c\xff\n"

    def setUp(self):
        super().setUp()
        self.write("bytes", self.UNIT * 500)
        self.write("prompt", b"ab\0")
        self.trained = self.succeed("train", "ladder/bigram", "--text", "bytes", "--units", "bytes", "--run", "run", "--max_iters", "400", *OWN[:-4],
                                    "--learning_rate", "0.5", "--temperature", "0", "--tokens", "12", "--threads", "1", "--quiet")

    def test_samples_prompts_and_json_hold_every_byte(self):
        def raw(outcome):
            return outcome.out.encode("utf-8", "surrogateescape")

        self.assertTrue(raw(self.trained).endswith(self.UNIT * 2 + b"\n"), raw(self.trained))  # the sample that a training ends with
        prompted = ["sample", "run", "--prompt-file", "prompt", "--tokens", "3"]
        self.assertEqual(raw(self.succeed(*prompted, "--num-samples", "2")), self.UNIT + b"\n---\n" + self.UNIT + b"\n")
        sample = self.json(*prompted)
        self.assertEqual((sample["text"], base64.b64decode(sample["text_base64"]), sample["prompt"]), ("c\ufffd\n", b"c\xff\n", "ab\0"))
        self.assertNotIn("prompt_base64", sample)
