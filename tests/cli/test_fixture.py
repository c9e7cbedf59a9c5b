"""A small run, kept in tests/fixtures: the program scores, samples and resumes it to the same bits on every x86-64 processor.

It is of this program, under ATEN_CPU_CAPABILITY=default, whose kernels have the same bits everywhere:
    chargpt train nanogpt-cpu --text text.txt --run run --max_iters 20 --eval_interval 10 --keep 1 --threads 1 --n_layer 2 --n_head 2 --n_embd 16
        --block_size 24 --batch_size 4 --dropout 0.1 --position rope --ema 0.9 --sample_tokens 20 --set 'train.groups=[{"match":"wte","learning_rate":0.01}]'
Its config.json has only the options that the preset or the command set. expected.json holds what the program made of it; samples are of the better weights,
then of the trained ones at a lower temperature, the resumed checkpoint is that of step 30.

bytes is the checkpoint of a run with --units bytes and smaller sizes, without its optimizer.
"""

import hashlib
import json
import os
import shutil

from program import SOURCE, ProgramTest

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
        self.assertEqual(hashlib.sha256(json.dumps(self.tensors("run", 30), sort_keys=True).encode()).hexdigest(), self.expected["resumed"])
