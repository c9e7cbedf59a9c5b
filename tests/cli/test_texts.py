"""Which text a command works on: moved, renamed or joined files, the sample inside the program, and files that are no texts."""

import base64
import gzip
import json
import os
import pathlib
import select
import shutil
import subprocess
import unittest

from program import QUICK, SAMPLE_TEXT, ProgramTest, command

OWN = QUICK[2:]  # without --text
TEXT = pathlib.Path(SAMPLE_TEXT).read_text()


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
        self.succeed("train", "ladder/bigram", "--text", "my text.txt", "--run", "run", "--max_iters", iters, "--lr_decay_iters", "100", *OWN, "--quiet")
        self.folder = self.folder.parent

    def weights(self, step):
        return [(self.folder / f"here/run/checkpoints/step-{step:08d}/{name}.safetensors").read_bytes() for name in ("model", "optimizer")]

    def test_a_run_is_evaluated_and_resumed_from_any_folder(self):
        self.trained()
        home = self.folder
        here = self.run_program("eval", "here/run", "--json")
        self.inside("elsewhere")
        there = self.succeed("eval", "../here/run", "--json")
        self.assertEqual(here.json["loss"], there.json["loss"])
        self.assertIn("my text.txt", there.err)
        resumed = self.succeed("resume", "../here/run", "--max_iters", "30")
        self.assertIn(str(home / "here/my text.txt"), resumed.err)
        self.assertNotIn("data.text", resumed.err)

    def test_a_resume_from_another_folder_comes_to_the_same_bits(self):
        self.trained(30)
        undisturbed = self.weights(30)
        shutil.rmtree(self.folder / "here/run")
        self.trained(20)
        (self.folder / "here/my text.txt").rename(self.folder / "elsewhere/renamed.txt")
        self.succeed("resume", "here/run", "--text", "elsewhere/renamed.txt", "--max_iters", "30", "--quiet")
        self.assertEqual(undisturbed, self.weights(30))
        # and the new name is known from here on
        self.assertEqual(json.loads((self.folder / "here/run/config.json").read_text())["data"]["text"], ["elsewhere/renamed.txt"])
        self.inside("here")
        self.succeed("eval", "run")

    def test_one_file_cut_into_several_is_the_same_text(self):
        self.trained()
        self.write("elsewhere/one", TEXT[:1000])
        self.write("elsewhere/two", TEXT[1000:])
        (self.folder / "here/my text.txt").unlink()
        self.succeed("resume", "here/run", "--text", "elsewhere/one", "--text", "elsewhere/two", "--max_iters", "30", "--quiet")
        self.succeed("eval", "here/run")

    def test_the_moved_text_given_to_eval_is_the_runs_own(self):
        self.trained()
        own = self.run_program("eval", "here/run", "--json").json
        (self.folder / "here/my text.txt").rename(self.folder / "elsewhere/renamed.txt")
        given = self.succeed("eval", "here/run", "--text", "elsewhere/renamed.txt", "--split", "val", "--json").json
        self.assertEqual(own["loss"], given["loss"])
        self.assertEqual(own["baselines"], given["baselines"])

    def test_another_text_is_refused_with_advice_that_keeps_the_optimizer(self):
        self.trained()
        self.write("elsewhere/other.txt", TEXT[:-7])
        error = self.fail_with(65, "resume", "here/run", "--text", "elsewhere/other.txt", "--max_iters", "30")
        self.assertIn("is not the one that here/run was trained on (29049 tokens then, 29042 now); pass that one with --text FILE", error)
        self.write("here/my text.txt", TEXT[:-7])
        self.assertIn("pass that one with --text FILE", self.fail_with(65, "eval", "here/run"))

    def test_a_text_that_is_gone_is_asked_for(self):
        self.trained()
        (self.folder / "here/my text.txt").unlink()
        for command in (["eval", "here/run"], ["resume", "here/run", "--max_iters", "30"]):
            error = self.fail_with(66, *command)
            self.assertIn("my text.txt, the text of here/run, is not there, where it was before, or beside the run; pass it with --text FILE", error)

    def test_only_one_file_of_a_run_holds_the_absolute_path(self):
        self.trained()
        place = str(self.folder).encode()
        holders = [path.name for path in (self.folder / "here/run").rglob("*") if path.is_file() and place in path.read_bytes()]
        self.assertEqual(["text.json"], holders)
        for arguments in (["inspect", "here/run"], ["runs", "here"]):
            self.assertNotIn(place.decode(), self.succeed(*arguments).out)

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


class TextThatComesSlowly(ProgramTest):
    def test_the_bytes_read_from_a_pipe_are_told_also_while_none_come(self):
        os.mkfifo(self.folder / "pipe")
        process = subprocess.Popen(command("train", "ladder/bigram", "--run", "r", "--text", "pipe", "--max_iters", 1, *OWN), cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        with (self.folder / "pipe").open("w") as pipe:
            pipe.write("some text")
            pipe.flush()
            self.assertTrue(select.select([process.stderr], [], [], 60)[0], "nothing is told")
            self.assertRegex(process.stderr.readline(), r"^chargpt: reading the text: [09] B after \d+\.\d s\n")
            pipe.write(TEXT)
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()


class SampleInsideTheProgram(ProgramTest):
    def test_where_nobody_named_a_text_the_sample_is_trained_on(self):
        trained = self.succeed("train", "ladder/bigram", "--run", "run", "--max_iters", "20", *OWN)
        self.assertIn("no text was named, and data/tinyshakespeare.txt is not there: using the sample built into the program", trained.err)
        self.assertIn("--text FILE", trained.err)
        self.assertEqual(json.loads((self.folder / "run/config.json").read_text())["data"]["text"], ["builtin:sample"])
        figures = self.succeed("eval", "run", "--json").json
        self.assertEqual(figures["tokens"], len(TEXT) - int(0.9 * len(TEXT)) - 1)
        self.succeed("resume", "run", "--max_iters", "30", "--quiet")
        self.succeed("sample", "run", "--tokens", "5")

    def test_it_is_the_text_of_a_comparison_too(self):
        compared = self.succeed("compare", "ladder/bigram", "--max_iters", "10", *OWN)
        self.assertIn("using the sample built into the program", compared.err)

    def test_it_can_be_named(self):
        run = self.succeed("train", "ladder/bigram", "--run", "run", "--text", "builtin:sample", "--max_iters", "10", *OWN)
        self.assertNotIn("no text was named", run.err)

    def test_a_text_that_was_named_and_is_not_there_is_an_error(self):
        self.assertIn("no.txt does not exist", self.fail_with(66, "train", "--text", "no.txt"))
        self.write("mine.json", '{"extends": "default", "data": {"text": "data/tinyshakespeare.txt"}}')
        self.assertIn("--text builtin:sample", self.fail_with(66, "train", "mine.json"))
        self.assertFalse((self.folder / "runs").exists())

    def test_a_config_that_names_none_gets_the_sample(self):
        self.write("mine.json", '{"extends": "ladder/bigram", "train": {"max_iters": 10}}')
        self.assertIn("using the sample built into the program", self.succeed("train", "mine.json", *OWN).err)


class FilesThatAreNoTexts(ProgramTest):
    def test_a_text_in_place_of_a_config_is_told_how_to_be_given(self):
        self.write("my.txt", TEXT * 100)
        for command in ("train", "compare", "tune"):
            self.assertIn("to train on that text, give --text my.txt", self.fail_with(2, command, "my.txt"))

    def test_a_run_or_a_checkpoint_in_place_of_a_config_is_resumed(self):
        self.train("run")
        checkpoint = "run/checkpoints/step-00000020"
        self.assertIn("run is a run, not a config; chargpt resume run goes on with it", self.fail_with(2, "train", "run"))
        self.assertIn(f"{checkpoint} is a checkpoint, not a config; chargpt resume {checkpoint}", self.fail_with(2, "train", checkpoint))
        self.assertIn(f"is a file of the checkpoint {checkpoint}", self.fail_with(2, "train", f"{checkpoint}/model.safetensors"))

    def test_an_archive_is_called_by_its_name(self):
        self.write("text.gz", gzip.compress(TEXT.encode()))
        error = self.fail_with(65, "train", "ladder/bigram", "--text", "text.gz")
        self.assertEqual("text.gz is a gzip archive, not a plain UTF-8 text; unpack it (gunzip) and give the text inside, or use --units bytes", error)
        trained = self.succeed("train", "ladder/bigram", "--text", "text.gz", "--units", "bytes", "--run", "run", "--max_iters", "10", *OWN)
        self.assertIn("text.gz is a gzip archive: the model learns its bytes as they are", trained.err)


class TextOfBytes(ProgramTest):
    """A model that has learnt one sequence by heart writes it, NUL and broken UTF-8 among it."""

    UNIT = b"ab\0c\xff\n"

    def setUp(self):
        super().setUp()
        self.write("bytes", self.UNIT * 500)
        self.trained = self.succeed("train", "ladder/bigram", "--text", "bytes", "--units", "bytes", "--run", "run", "--max_iters", "400", *OWN[:-4],
                                    "--learning_rate", "0.5", "--temperature", "0", "--tokens", "12", "--threads", "1", "--quiet")

    def raw(self, outcome):
        return outcome.out.encode("utf-8", "surrogateescape")

    def test_the_sample_that_a_training_ends_with_is_whole(self):
        self.assertTrue(self.raw(self.trained).endswith(self.UNIT * 2 + b"\n"), self.raw(self.trained))

    def test_prompt_and_samples_are_whole(self):
        self.write("prompt", b"ab\0")
        written = self.raw(self.succeed("sample", "run", "--prompt-file", "prompt", "--tokens", "3", "--num-samples", "2"))
        self.assertEqual((self.UNIT + b"\n---\n" + self.UNIT + b"\n"), written)

    def test_json_holds_the_bytes(self):
        self.write("prompt", b"ab\0")
        sample = self.succeed("sample", "run", "--prompt-file", "prompt", "--tokens", "3", "--json").json
        self.assertEqual("c\ufffd\n", sample["text"])
        self.assertEqual(b"c\xff\n", base64.b64decode(sample["text_base64"]))
        self.assertEqual("ab\0", sample["prompt"])
        self.assertNotIn("prompt_base64", sample)


if __name__ == "__main__":
    unittest.main()
