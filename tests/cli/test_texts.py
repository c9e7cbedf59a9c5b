"""Which text a command works on: moved, renamed or joined files, the sample inside the program, and files that are no texts."""

import base64
import os
import select
import shutil
import subprocess
import threading

from program import QUICK, SAMPLE_TEXT, TEXT, ProgramTest, command

OWN = QUICK[2:]  # without --text


class TextThatMoved(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("here/my text.txt", TEXT)
        (self.folder / "elsewhere").mkdir()

    def inside(self, name):
        """Another working folder from here on."""
        self.folder = self.folder / name

    def trained(self, iters=20):
        self.inside("here")
        self.succeed("train", "ladder/bigram", "--text", "my text.txt", "--run", "run", "--max_iters", iters, *OWN, "--quiet")
        self.folder = self.folder.parent

    def test_a_resume_from_another_folder_comes_to_the_same_bits(self):
        self.trained(30)
        undisturbed = self.tensors("here/run", 30)
        shutil.rmtree(self.folder / "here/run")
        self.trained(20)
        (self.folder / "here/my text.txt").rename(self.folder / "elsewhere/renamed.txt")
        self.succeed("resume", "here/run", "--text", "elsewhere/renamed.txt", "--max_iters", "30", "--quiet")
        self.assertEqual(undisturbed, self.tensors("here/run", 30))
        # and the new name is known from here on
        self.assertEqual(self.json_of("here/run/config.json")["data"]["text"], ["elsewhere/renamed.txt"])
        self.inside("here")
        self.succeed("eval", "run")

    def test_the_moved_text_given_to_eval_is_the_runs_own(self):
        self.trained()
        own = self.run_program("eval", "here/run", "--json").json
        (self.folder / "here/my text.txt").rename(self.folder / "elsewhere/renamed.txt")
        given = self.json("eval", "here/run", "--text", "elsewhere/renamed.txt", "--split", "val")
        self.assertEqual(own["loss"], given["loss"])
        self.assertEqual(own["baselines"], given["baselines"])
        self.succeed("audit", "here/run", "--samples", "1")  # which has no --text: the run remembers

    def test_a_comparison_goes_on_from_another_folder(self):
        self.inside("here")
        words = ["compare", "ladder/bigram", "--text", "my text.txt", "--max_iters", "10", *OWN, "--json", "--out"]
        first = self.succeed(*words, "duel").json
        self.inside("../elsewhere")
        again = self.succeed(*words, "../here/duel")
        self.assertEqual(first["results"][0]["mean"], again.json["results"][0]["mean"])
        self.assertIn("trained before", again.err)
        (self.folder / "../here/my text.txt").rename(self.folder / "renamed.txt")
        words[3] = "renamed.txt"
        self.assertIn("trained before", self.succeed(*words, "../here/duel").err)
        self.write("renamed.txt", TEXT[:-7])
        self.assertIn("was trained on another text", self.fail_with(75, *words, "../here/duel"))


class TextFromStandardInput(ProgramTest):
    LENGTH = ["--max_iters", "20", *OWN]

    def test_documents_are_kept_as_documents(self):
        names = "".join(f"{word}\n" for word in dict.fromkeys(TEXT.split())).encode()
        self.succeed("train", "ladder/bigram", "--run", "run", "--text", "-", "--documents", "lines", *self.LENGTH, stdin=names)
        loss = self.json("eval", "run")["loss"]
        self.write("names.txt", names)
        self.assertEqual(self.json("eval", "run", "--text", "names.txt", "--split", "val")["loss"], loss)
        self.succeed("resume", "run", "--max_iters", "30", "--quiet")

    def test_without_what_was_kept_it_is_asked_for_and_not_waited_for(self):
        self.succeed("train", "ladder/bigram", "--run", "run", "--text", "-", *self.LENGTH, stdin=TEXT.encode())
        (self.folder / "run/text.safetensors").unlink()
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        refused = subprocess.run(command("resume", "run"), cwd=self.folder, stdin=theirs, capture_output=True, timeout=60, check=False, text=True)
        self.assertEqual(66, refused.returncode)
        self.assertIn("the text of run came from standard input and is not kept in the run; say where it is with --text FILE", refused.stderr)
        self.succeed("resume", "run", "--text", SAMPLE_TEXT, "--max_iters", "30", "--quiet")

    def test_a_terminal_is_told_how_to_end_it(self):
        ours, theirs = os.openpty()
        process = self.started("train", "ladder/bigram", "--run", "r", "--text", "-", *self.LENGTH, stdin=theirs)
        self.assertIn("end it with Ctrl-D on a new line", process.stderr.readline())
        for line in TEXT.splitlines(keepends=True)[:100]:
            os.write(ours, line.encode())
        os.write(ours, b"\n\x04")
        self.ended(process, 0)
        os.close(ours)
        os.close(theirs)

    def test_a_comparison_reads_it_once_for_all_its_runs(self):
        compared = self.succeed("compare", "ladder/bigram", "--seeds", "2", "--jobs", "2", "--text", "-", *self.LENGTH, "--out", "duel", "--json",
                                stdin=TEXT.encode())
        self.assertEqual(2, len(compared.json["results"][0]["seeds"]))


class TextThatComesSlowly(ProgramTest):
    def test_the_bytes_read_from_a_pipe_are_told_also_while_none_come(self):
        os.mkfifo(self.folder / "pipe")
        process = self.started("train", "ladder/bigram", "--run", "r", "--text", "pipe", "--max_iters", 1, *OWN)
        with (self.folder / "pipe").open("w") as pipe:
            pipe.write("some text")
            pipe.flush()
            self.assertTrue(select.select([process.stderr], [], [], 60)[0], "nothing is told")
            self.assertRegex(process.stderr.readline(), r"^chargpt: reading the text: [09] B after \d+\.\d s\n")
            pipe.write(TEXT)
        self.assertEqual(process.wait(60), 0)

    def test_a_text_and_a_config_may_be_pipes(self):
        for name, content in (("text-pipe", TEXT), ("config-pipe", '{"extends": "ladder/bigram"}')):
            os.mkfifo(self.folder / name)
            threading.Thread(target=(self.folder / name).write_text, args=[content], daemon=True).start()
        self.succeed("train", "config-pipe", "--text", "text-pipe", "--run", "r", "--max_iters", 1, *OWN)


class SampleInsideTheProgram(ProgramTest):
    def test_a_run_of_so_many_minutes_says_whence_it_came(self):
        self.succeed("train", "--minutes", "0.01", "--run", "run", *OWN, "--quiet")
        config = self.json_of("run/config.json")
        self.assertEqual((config["data"]["text"], config["origin"].get("data.text")), (["builtin:sample"], "program built in"))


class TextOfBytes(ProgramTest):
    """A model that has memorized one sequence writes it, NUL and broken UTF-8 among it."""

    UNIT = b"ab\0c\xff\n"

    def setUp(self):
        super().setUp()
        self.write("bytes", self.UNIT * 500)
        self.write("prompt", b"ab\0")
        self.trained = self.succeed("train", "ladder/bigram", "--text", "bytes", "--units", "bytes", "--run", "run", "--max_iters", "400", *OWN[:-4],
                                    "--learning_rate", "0.5", "--temperature", "0", "--tokens", "12", "--threads", "1", "--quiet")

    def raw(self, outcome):
        return outcome.out.encode("utf-8", "surrogateescape")

    def test_the_sample_that_a_training_ends_with_is_whole(self):
        self.assertTrue(self.raw(self.trained).endswith(self.UNIT * 2 + b"\n"), self.raw(self.trained))

    def test_prompt_and_samples_are_whole(self):
        written = self.raw(self.succeed("sample", "run", "--prompt-file", "prompt", "--tokens", "3", "--num-samples", "2"))
        self.assertEqual((self.UNIT + b"\n---\n" + self.UNIT + b"\n"), written)

    def test_json_holds_the_bytes(self):
        sample = self.json("sample", "run", "--prompt-file", "prompt", "--tokens", "3")
        self.assertEqual("c\ufffd\n", sample["text"])
        self.assertEqual(b"c\xff\n", base64.b64decode(sample["text_base64"]))
        self.assertEqual("ab\0", sample["prompt"])
        self.assertNotIn("prompt_base64", sample)
