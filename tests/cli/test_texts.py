"""Which text a command works on: moved, renamed or joined files, the sample inside the program, and files that are no texts."""

import base64
import gzip
import json
import os
import random
import select
import shutil
import subprocess
import threading

from program import QUICK, SAMPLE_TEXT, TEXT, ProgramTest, command, tensors

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
        undisturbed = tensors(self.folder / "here/run", 30)
        shutil.rmtree(self.folder / "here/run")
        self.trained(20)
        (self.folder / "here/my text.txt").rename(self.folder / "elsewhere/renamed.txt")
        self.succeed("resume", "here/run", "--text", "elsewhere/renamed.txt", "--max_iters", "30", "--quiet")
        self.assertEqual(undisturbed, tensors(self.folder / "here/run", 30))
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

    def test_another_text_is_refused_with_advice_that_keeps_the_optimizer(self):
        self.trained()
        self.write("elsewhere/other.txt", TEXT[:-7])
        error = self.fail_with(65, "resume", "here/run", "--text", "elsewhere/other.txt", "--max_iters", "30")
        self.assertIn("is not the one that here/run was trained on (29049 tokens then, 29042 now); say where it is with --text FILE", error)
        self.write("here/my text.txt", TEXT[:-7])
        self.assertIn("say where it is with --text FILE", self.fail_with(65, "eval", "here/run"))

    def test_a_text_that_is_gone_is_asked_for(self):
        self.trained()
        (self.folder / "here/my text.txt").unlink()
        for command in (["eval", "here/run"], ["resume", "here/run", "--max_iters", "30"]):
            error = self.fail_with(66, *command)
            self.assertIn("my text.txt, the text of here/run, is neither there nor where it was last", error)
            self.assertIn("say where it is with --text FILE", error)

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


class TextOfManyFiles(ProgramTest):
    """A folder, and several files at once; the list of files is the run's from its start on."""

    LENGTH = ["--max_iters", "20", *OWN, "--quiet"]

    def setUp(self):
        super().setUp()
        for number in range(3):
            self.write(f"book/part {number}/text.txt", TEXT[number * 10000:(number + 1) * 10000])
        self.write("book/cover.png", b"\x89PNG\r\n\x1a\n\0\0")
        self.write("book/.git/config", "hidden")

    def loss(self, run):
        return self.json("eval", run)["loss"]

    def test_a_folder_and_several_files_are_the_text_that_they_hold(self):
        self.train("whole")
        files = [f"book/part {number}/text.txt" for number in range(3)]
        for run, texts in (("folder", ["book"]), ("files", files), ("slash", ["book/"])):
            trained = self.succeed("train", "ladder/bigram", "--run", run, "--text", *texts, *self.LENGTH[:-1])
            self.assertEqual(self.loss("whole"), self.loss(run))
            self.assertEqual("cover.png (a PNG picture)" in trained.err, run != "files")
            self.assertIn("to validate; 29,049 in 3 files", trained.err)
        self.assertIn("book: 29,049 characters", self.succeed("runs", ".").out)
        self.assertEqual(self.loss("whole"), self.json("eval", "whole", "--text", "book/part 0", *files[1:], "--split", "val")["loss"])

    def test_the_plan_tells_files_characters_and_passes(self):
        plan = self.json("train", "nanogpt-cpu", "--text", "book", "--dry-run", "--max_iters", "5000")
        self.assertEqual([3, len(TEXT), 146], [plan["text_files"], plan["text_tokens"], int(plan["epochs"])])
        self.assertTrue(any("reads its 26,144 tokens 146 times" in notice for notice in plan["notices"]), plan["notices"])
        self.write("mine.json", '{"extends": "nanogpt-cpu", "data": {"text": "book"}, "train": {"gradient_accumulation_steps": 2}}')
        self.assertRegex(self.succeed("inspect", "mine.json").out, r"text +29,049 characters in 3 files\nepochs +117\.50\n")
        for most, epochs in ((200, 1000 * 768 / 26144), (5, 5)):  # whichever ends the run first
            self.write("mine.json", {"extends": "nanogpt-cpu", "data": {"text": "book"}, "train": {"max_iters": 1000, "max_epochs": most}})
            self.assertAlmostEqual(self.json("inspect", "mine.json")["text"]["epochs"], epochs)

    def test_a_run_goes_on_with_its_files_whatever_is_added(self):
        self.succeed("train", "ladder/bigram", "--run", "run", "--text", "book", *self.LENGTH)
        self.write("book/part 9.txt", "more \u263a")
        for command in (["eval", "run"], ["resume", "run", "--max_iters", "30"]):
            self.assertIn("the text of run is at ", self.succeed(*command).err)
        (self.folder / "book").rename(self.folder / "runs-book")
        self.assertIn("never seen", self.fail_with(65, "resume", "run", "--text", "runs-book", "--max_iters", "50", "--quiet"))
        (self.folder / "runs-book/part 9.txt").unlink()
        self.succeed("resume", "run", "--text", "runs-book", "--max_iters", "50", "--quiet")
        (self.folder / "runs-book/part 1/text.txt").unlink()
        self.assertIn("is not the one that run was trained on (", self.fail_with(65, "resume", "run", "--text", "runs-book", "--max_iters", "60"))

    def test_what_holds_no_text_is_refused_in_one_line(self):
        self.write("pictures/a.png", b"\x89PNG\r\n\x1a\n\0\0")
        (self.folder / "empty").mkdir()
        for code, text, line in ((66, "no*.txt", "no*.txt does not exist, and patterns are left to the shell: "),
                                 (66, "empty", "empty contains no visible files"), (65, "pictures", "only a.png (a PNG picture)"),
                                 (2, "", "data.text = [\"\"] has an empty name")):
            with self.subTest(text=text):
                self.assertIn(line, self.fail_with(code, "train", "--text", text))

    def test_a_folder_of_texts_is_inspected_as_a_text(self):
        told = self.json("inspect", "book")
        self.assertEqual(["text", 3, len(TEXT)], [told["kind"], told["files"], told["characters"]])
        self.assertRegex(self.succeed("inspect", "book").out, r"files +3\n")
        self.train("runs/run")
        self.assertEqual("checkpoint", self.json("inspect", "runs/run")["kind"])
        (self.folder / "empty").mkdir()
        for path in ("empty", "runs"):
            self.fail_with(66, "inspect", path)

    def test_a_folder_is_scored(self):
        self.train("run")
        whole = self.json("score", "run", SAMPLE_TEXT)
        folder = self.succeed("score", "run", "book", "--json")
        self.assertEqual(whole["scores"], folder.json["scores"])
        self.assertIn("cover.png (a PNG picture)", folder.err)


class TextFromStandardInput(ProgramTest):
    LENGTH = ["--max_iters", "20", *OWN]

    def test_it_is_kept_in_the_run(self):
        trained = self.succeed("train", "ladder/bigram", "--run", "run", "--text", "-", *self.LENGTH, stdin=TEXT.encode())
        self.assertIn("the text cannot be read again, so it is kept in run/kept-text.txt", trained.err)
        self.assertEqual(TEXT, (self.folder / "run/kept-text.txt").read_text())
        self.assertEqual(len(TEXT) - int(0.9 * len(TEXT)) - 1, self.json("eval", "run")["tokens"])
        self.succeed("resume", "run", "--max_iters", "30", "--quiet")
        self.succeed("resume", "run", "--run", "branch", "--max_iters", "40", "--quiet")
        shutil.rmtree(self.folder / "run")
        self.succeed("eval", "branch")
        given = self.json("eval", "branch", "--text", "-", "--split", "val", stdin=TEXT.encode())
        self.assertEqual(given["loss"], self.json("eval", "branch")["loss"])

    def test_documents_are_kept_as_documents(self):
        names = "".join(f"{word}\n" for word in dict.fromkeys(TEXT.split())).encode()
        self.succeed("train", "ladder/bigram", "--run", "run", "--text", "-", "--documents", "lines", *self.LENGTH, stdin=names)
        loss = self.json("eval", "run")["loss"]
        self.write("names.txt", names)
        self.assertEqual(self.json("eval", "run", "--text", "names.txt", "--split", "val")["loss"], loss)
        self.succeed("resume", "run", "--max_iters", "30", "--quiet")

    def test_it_may_be_one_of_several(self):
        self.write("first", TEXT[:1000])
        self.succeed("train", "ladder/bigram", "--run", "run", "--text", "first", "--text", "-", *self.LENGTH, stdin=TEXT[1000:].encode())
        self.assertEqual(TEXT, (self.folder / "run/kept-text.txt").read_text())

    def test_without_what_was_kept_it_is_asked_for_and_not_waited_for(self):
        self.succeed("train", "ladder/bigram", "--run", "run", "--text", "-", *self.LENGTH, stdin=TEXT.encode())
        (self.folder / "run/kept-text.txt").unlink()
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

    def test_what_cannot_be_is_refused(self):
        self.assertIn("standard input is empty", self.fail_with(65, "train", "--text", "-"))
        self.assertIn("read only once", self.fail_with(2, "train", "--text", "-", "--text", "-"))
        self.assertIn("standard input is not UTF-8", self.fail_with(65, "train", "--text", "-", stdin=b"caf\xe9 au lait"))

    def test_a_comparison_reads_it_once_for_all_its_runs(self):
        compared = self.succeed("compare", "ladder/bigram", "--seeds", "2", "--jobs", "2", "--text", "-", *self.LENGTH, "--out", "duel", "--json",
                                stdin=TEXT.encode())
        self.assertEqual(2, len(compared.json["results"][0]["seeds"]))

    def test_a_comparison_within_the_train_split_reads_it_whole(self):
        command = ["compare", "ladder/bigram", "--score-on", "train", *self.LENGTH, "--json"]
        compared = self.succeed(*command, "--text", "-", "--out", "duel", stdin=TEXT.encode())
        self.write("text.txt", TEXT)
        self.assertEqual(compared.json["results"][0]["mean"], self.succeed(*command, "--text", "text.txt", "--out", "other").json["results"][0]["mean"])


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


class TextWhoseEndDiffers(ProgramTest):
    """Issue 32: a list of names in order holds out names with the last initials."""

    def test_a_training_and_its_plan_say_so_and_what_to_do(self):
        random.seed(1)
        names = sorted(random.choice("bcdfghjklmnprstvw") + "".join(random.choice(["ra", "ne", "lo", "mi"]) for _ in range(3)) for _ in range(3000))
        told = "differs from the rest: counts of the training text predict it "
        advice = "the lines are sorted: if their order means nothing, --documents lines holds out lines drawn from all of the text"
        self.write("sorted.txt", "\n".join(names))
        trained = self.succeed("train", "ladder/bigram", "--run", "run", "--text", "sorted.txt", "--max_iters", "10", *OWN)
        planned = self.succeed("train", "ladder/bigram", "--text", "sorted.txt", "--dry-run", "--json")
        for text in (trained.err, planned.err, " ".join(planned.json["notices"])):
            self.assertIn(told, text)
            self.assertIn(advice, text)
        random.shuffle(names)
        self.assertNotIn(told, self.succeed("train", "ladder/bigram", "--text", self.write("shuffled.txt", "\n".join(names)), "--dry-run").err)


class SampleInsideTheProgram(ProgramTest):
    def test_where_nobody_named_a_text_the_sample_is_trained_on(self):
        trained = self.succeed("train", "ladder/bigram", "--run", "run", "--max_iters", "20", *OWN)
        self.assertIn("no text was named, and data/tinyshakespeare.txt is not there: using the sample built into the program", trained.err)
        self.assertIn("--text FILE", trained.err)
        self.assertEqual(self.json_of("run/config.json")["data"]["text"], ["builtin:sample"])
        self.assertEqual(self.json("eval", "run")["tokens"], len(TEXT) - int(0.9 * len(TEXT)) - 1)
        self.succeed("resume", "run", "--max_iters", "30", "--quiet")
        self.succeed("sample", "run", "--tokens", "5")

    def test_a_run_of_so_many_minutes_says_whence_it_came(self):
        self.succeed("train", "--minutes", "0.01", "--run", "run", *OWN, "--quiet")
        config = self.json_of("run/config.json")
        self.assertEqual((config["data"]["text"], config["origin"].get("data.text")), (["builtin:sample"], "built in"))

    def test_it_is_the_text_of_a_comparison_too_and_of_a_config_that_names_none(self):
        self.write("mine.json", '{"extends": "ladder/bigram", "train": {"max_iters": 10}}')
        for command in (["compare", "ladder/bigram", "--max_iters", "10"], ["train", "mine.json"]):
            self.assertIn("using the sample built into the program", self.succeed(*command, *OWN).err)

    def test_it_can_be_named(self):
        run = self.succeed("train", "ladder/bigram", "--run", "run", "--text", "builtin:sample", "--max_iters", "10", *OWN)
        self.assertNotIn("no text was named", run.err)

    def test_a_text_that_was_named_and_is_not_there_is_an_error(self):
        self.assertIn("no.txt does not exist", self.fail_with(66, "train", "--text", "no.txt"))
        self.write("mine.json", '{"extends": "default", "data": {"text": "data/tinyshakespeare.txt"}}')
        self.assertIn("--text builtin:sample", self.fail_with(66, "train", "mine.json"))
        self.assertFalse((self.folder / "runs").exists())


class FilesThatAreNoTexts(ProgramTest):
    def test_a_text_in_place_of_a_config_is_told_how_to_be_given(self):
        self.write("my.txt", TEXT * 100)
        for command in ("train", "compare", "tune"):
            self.assertIn("my.txt is a text, not a config (it does not begin with {); to train on it: chargpt train --text my.txt",
                          self.fail_with(2, command, "my.txt"))
        self.write("texts/my.txt", TEXT)
        self.assertEqual("texts is a folder, not a config; to train on the texts in it: chargpt train --text texts", self.fail_with(2, "train", "texts"))

    def test_a_config_or_a_run_among_the_texts_is_told_where_it_goes(self):
        self.write("my.txt", TEXT)
        self.write("mine.json", '{"extends": "ladder/bigram", "train": {"max_iters": 10}}')
        for config in ("default", "mine.json"):
            self.assertEqual(f"{config} after --text is taken as a text, but it is a config; give it before the options: {config} --text my.txt",
                             self.fail_with(2, "train", "--text", "my.txt", config))
        self.succeed("train", "--text=my.txt", "mine.json", "--run", "run", *OWN, "--quiet")
        self.assertIn("run is a run, not a text; a run is given before the options", self.fail_with(2, "train", "--text", "my.txt", "run"))
        self.succeed("train", "ladder/bigram", "--text", "mine.json", "my.txt", "--dry-run", "--quiet")

    def test_a_shell_expands_the_texts(self):
        for number in range(3):
            self.write(f"{number}.txt", TEXT[number * 10000:(number + 1) * 10000])
        shell = subprocess.run(" ".join(command("train", "ladder/bigram", "--text", "*.txt", "--dry-run", "--json")), shell=True, cwd=self.folder,
                               capture_output=True, check=True, text=True)
        self.assertEqual([3, len(TEXT)], [json.loads(shell.stdout)[key] for key in ("text_files", "text_tokens")])

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
