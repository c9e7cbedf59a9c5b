"""A run that an earlier program made, kept in tests/fixtures: it is scored, sampled and resumed to the same bits by this program and every later one.

It was made by 0.1.0 (782fd67) under ATEN_CPU_CAPABILITY=default, whose kernels have the same bits on every x86-64 processor:
    chargpt train nanogpt-cpu --text text.txt --run run --max_iters 20 --eval_interval 10 --keep 1 --threads 1 --n_layer 2 --n_head 2 --n_embd 16
        --block_size 24 --batch_size 4 --dropout 0.1 --position rope --ema 0.9 --sample_tokens 20 --set 'train.groups=[{"match":"wte","learning_rate":0.01}]'
expected.json holds what that program made of it; samples are greedier and from other weights in turn, the resumed checkpoint is that of step 30.
(Its bits are of the version after, whose updates are no longer LibTorch's.)

engines holds runs of that version by every engine that it named, "cpu" and "autograd", of 20 steps, and expected.json what it made of them: the loss
of their last checkpoint, and that of validation after resuming up to step 30.
    chargpt train nanogpt-cpu --text text.txt --run runs/NAME --max_iters 20 --eval_interval 10 --keep 1 --threads 1 --n_embd 8 --block_size 16
        --batch_size 4 --sample_tokens 20 --n_layer 1 --n_head 2, and of muon --set 'train.groups=[{"match":"\\.h\\.","optimizer":"muon","learning_rate":0.02}]',
        of ema --ema 0.9 --on_nonfinite rollback, of post-norm --norm_place post --dropout 0.1, of bytes --units bytes, of autograd --engine autograd;
    bigram: chargpt train bigram with the options of the first line.

tables is a run of the same version whose model is gone: --set model.ngram_orders=[2] --set model.ngram_rows=[50]
    --set 'train.groups=[{"match":"ngram","optimizer":"sparse_adam","learning_rate":0.01}]', on twenty symbols, one layer of 8.
"""

import hashlib
import json
import os
import re
import shutil

from program import SAMPLE_TEXT, SOURCE, ProgramTest, metrics

FIXTURES = SOURCE / "tests/fixtures"


class FixtureTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.expected = json.loads((FIXTURES / "expected.json").read_text())
        shutil.copytree(FIXTURES / "run", self.folder / "run")
        shutil.copy(FIXTURES / "text.txt", self.folder)
        os.environ["ATEN_CPU_CAPABILITY"] = "default"
        self.addCleanup(os.environ.pop, "ATEN_CPU_CAPABILITY")

    def test_its_loss_is_what_it_was(self):
        self.assertEqual(self.json("eval", "run", "--threads", "1")["loss"], self.expected["eval"])

    def test_it_writes_what_it_wrote(self):
        sample = ["sample", "run", "--seed", "5", "--tokens", "60", "--threads", "1", "--quiet"]
        self.assertEqual(self.succeed(*sample).out, self.expected["sample"])
        trained = ["--checkpoint", "last", "--weights", "trained", "--temperature", "0.3"]
        self.assertEqual(self.succeed(*sample, *trained).out, self.expected["sample_last_trained"])

    def test_it_is_resumed_to_the_same_bits(self):
        self.succeed("resume", "run", "--max_iters", "30", "--quiet")
        checkpoint = self.folder / "run/checkpoints/step-00000030"
        found = {name: hashlib.sha256((checkpoint / name).read_bytes()).hexdigest() for name in self.expected["resumed"]}
        self.assertEqual(found, self.expected["resumed"])

    def test_runs_of_every_engine_of_before_are_evaluated_sampled_and_resumed_under_their_engine(self):
        now = {"cpu": "cpu", "autograd": "libtorch"}
        for name, expected in json.loads((FIXTURES / "engines/expected.json").read_text()).items():
            with self.subTest(name):
                shutil.copytree(FIXTURES / "engines" / name, self.folder / name)
                self.assertAlmostEqual(self.json("eval", name, "--checkpoint", "last", "--threads", "1")["loss"], expected["eval"], delta=1e-6)
                self.assertTrue(self.succeed("sample", name, "--tokens", "20", "--seed", "3", "--threads", "1", "--quiet").out)
                notices = self.succeed("resume", name, "--max_iters", "30").err
                self.assertEqual(len(re.findall("not bit-exact: chargpt was 0.1.0", notices)), 1, notices)
                self.assertNotIn("not bit-exact: the engine", notices)
                self.assertEqual([row["engine"] for row in metrics(self.folder / name, "plan")], [expected["engine"], now[expected["engine"]]])
                last = metrics(self.folder / name, "eval")[-1]
                self.assertEqual(last["step"], 30)
                self.assertAlmostEqual(last["val_loss"], expected["resumed"], delta=1e-6)
                if "resumed_averaged" in expected:
                    self.assertAlmostEqual(last["averaged_val_loss"], expected["resumed_averaged"], delta=1e-6)


class TablesTest(ProgramTest):
    """A model with tables of n-grams is refused by name; the record of its run is read."""

    def setUp(self):
        super().setUp()
        shutil.copytree(FIXTURES / "tables", self.folder / "runs/tables")

    def test_what_needs_the_model_is_refused_in_one_line(self):
        gone = "was trained with tables of n-grams, which are gone; train again (chargpt train quick) and score with eval --counts"
        for command in (["sample"], ["eval"], ["score", "-"], ["resume"], ["page"], ["export", "--format", "nanogpt", "--out", "x"],
                        ["explain", "--prompt", "a"]):
            with self.subTest(command[0]):
                error = self.fail_with(65, command[0], "runs/tables", *command[1:])
                self.assertTrue(error.endswith(gone), error)
        self.assertIn(gone, self.fail_with(65, "train", "quick", "--init_from", "runs/tables", "--text", SAMPLE_TEXT, "--run", "x"))
        self.assertIn(gone, self.fail_with(65, "train", "runs/tables/config.json"))

    def test_its_record_is_read(self):
        run = self.json("runs")[0]
        self.assertEqual((run["run"], run["step"], run["ended"]), ("tables", 4, "finished"))
        self.assertIn("tables", self.succeed("runs").out)
        self.assertIn("model.n_embd", self.succeed("inspect", "runs/tables", "--json").out)
        self.succeed("page", "runs/tables", "--no-model", "-o", "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertIn("val_loss", page)
        self.assertIn((FIXTURES / "tables/samples/step-00000004.txt").read_text().splitlines()[0][:8], page)
