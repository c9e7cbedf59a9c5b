"""reproduce: a run trained again, beside what it saved."""

import json
import shutil
import signal

from checkpoints import checkpoint, checkpoints, damage, name_of
from program import SAMPLE_TEXT, ProgramTest, files, metrics

SIZE = ["--n_layer", "2", "--n_embd", "16", "--block_size", "32", "--threads", "1"]


class ReproduceTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "default", 60, *SIZE, "--keep", "9", "--log_interval", "5", "--eval_interval", "20")

    def reproduced(self, run="run", *more, code=0, env=None):
        outcome = self.run_program("reproduce", run, "--json", "--quiet", *more, env=env)
        self.assertEqual(outcome.code, code, outcome.err + outcome.out)
        return outcome.json

    def copy(self):
        shutil.rmtree(self.folder / "copy", ignore_errors=True)
        return shutil.copytree(self.folder / "run", self.folder / "copy")

    def test_the_same_bits_leave_nothing_behind(self):
        before = files(self.folder / "run")
        answer = self.reproduced()
        self.assertEqual(answer["verdict"], "bits")
        self.assertEqual(answer["compared_losses"], 13 + 4 * 2)  # steps 1, 5, …, 60; evaluations at 0, 20, 40, 60 of both splits
        self.assertEqual(answer["same_weights"], [20, 40, 60])
        self.assertEqual((answer["difference"], answer["again"], answer["conditions"]), (None, None, []))
        self.assertFalse((self.folder / "runs").exists())
        self.assertEqual(before, files(self.folder / "run"))
        self.assertIn("run: the same bits: 21 losses, and the weights of steps 20, 40, 60\n", self.succeed("reproduce", "run", "--quiet").out)

    def test_a_folder_to_keep(self):
        answer = self.reproduced("run", "--run", "again")
        self.assertEqual((answer["verdict"], answer["again"]), ("bits", "again"))
        self.assertEqual(self.json("eval", "again", "--quiet")["loss"], self.json("eval", "run", "--quiet")["loss"])
        self.assertEqual(self.fail_with(2, "reproduce", f"run/checkpoints/{name_of(20)}"),
                         f"run/checkpoints/{name_of(20)} is one checkpoint, but reproduce repeats a whole training; pass the run's folder")
        self.assertIn("again", self.fail_with(75, "reproduce", "run", "--run", "again"))

    def test_other_kernels_differ_by_rounding(self):
        levels = {"AVX512": "avx2", "AVX2": "default"}
        state = self.state("run")
        if state["cpu_capability"] not in levels:
            self.skipTest(f"there are no other kernels than {state['cpu_capability']}")
        answer = self.reproduced(code=1, env={"ATEN_CPU_CAPABILITY": levels[state["cpu_capability"]]})
        self.assertEqual(answer["verdict"], "rounding")
        self.assertIn("the processor was", answer["conditions"][0])
        self.assertAlmostEqual(answer["difference"]["then"], answer["difference"]["now"], delta=1e-4)
        self.assertIn(60, checkpoints(self.folder / answer["again"]))

    def test_what_was_changed_in_a_run_is_found(self):
        metrics = self.copy() / "metrics.jsonl"
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        for step, kind, what, value in ((10, "train", "loss", 3.0), (40, "eval", "val_loss", 1.5), (40, "eval", "val_loss", None)):
            changed = [{**row, what: value} if (row["kind"], row["step"]) == (kind, step) else row for row in rows]
            metrics.write_text("".join(json.dumps(row) + "\n" for row in changed))
            found = self.reproduced("copy", code=1)
            self.assertEqual(found["verdict"], "differs")
            self.assertEqual([found["difference"][key] for key in ("step", "what", "then")], [step, what, value])
        metrics.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:-1], {"kind": "eval", "step": 57, "val_loss": 2.0}]))
        self.assertEqual(self.reproduced("copy", code=1)["difference"], {"step": 57, "what": "val_loss", "then": 2.0, "now": None})
        metrics.write_text("[]\n")
        self.assertIn("contains no losses", self.fail_with(65, "reproduce", "copy"))

        damage(checkpoint(self.copy(), 20))
        self.assertRegex(self.fail_with(65, "reproduce", "copy"), rf"{name_of(20)}\S* is damaged")
        self.assertFalse([path for path in self.folder.glob("runs/*") if not (path / "checkpoints").exists()])

    def test_weights_of_another_training_are_found_though_the_losses_are_right(self):
        self.train("other", "default", 60, *SIZE, "--keep", "9", "--eval_interval", "20", "--seed", "3")
        replaced = checkpoint(self.copy(), 20)
        shutil.copy(checkpoint(self.folder / "other", 20), replaced)
        answer = self.reproduced("copy", code=1)
        self.assertEqual((answer["verdict"], answer["difference"]), ("differs", {"step": 20, "what": "weights", "then": None, "now": None}))
        self.assertIn("copy: different: the weights of step 20\n", self.run_program("reproduce", "copy", "--quiet").out)

    def test_a_length_in_seconds_is_replayed_and_a_stopped_run_ends_where_it_did(self):
        self.train("timed", "default", 0, *SIZE, "--max_iters", "100000", "--max_seconds", "2")
        answer = self.reproduced("timed")
        self.assertEqual((answer["verdict"], answer["conditions"]), ("bits", []))
        process = self.started("train", "default", *SIZE, "--text", SAMPLE_TEXT, "--max_iters", "100000", "--eval_interval", "50000",
                               "--patience", "0", "--run", "stopped", "--quiet")
        self.wait_for(lambda: (self.folder / "stopped/metrics.jsonl").exists() and len(metrics(self.folder / "stopped", "train")) >= 5, process)
        self.ended_by(process, signal.SIGINT)
        answer = self.reproduced("stopped")
        self.assertEqual((answer["verdict"], answer["same_weights"][-1]), ("bits", self.last_step("stopped")))

    def test_an_interrupt_leaves_nothing_behind(self):
        self.train("long", "default", 3000, *SIZE, "--patience", "0", "--eval_interval", "1000")
        process = self.started("reproduce", "long")
        self.assertTrue(any(" 0 of 3,000" in line for line in process.stderr))
        self.assertIn("stopped: no verdict yet", self.ended_by(process, signal.SIGINT))
        self.assertFalse((self.folder / "runs").exists())

    def test_runs_that_began_elsewhere_cannot_be_repeated(self):
        self.train("tuned", "default", 20, *SIZE, "--init_from", "run", "--keep", "9")
        outcome = self.run_program("reproduce", "tuned")
        self.assertEqual(outcome.code, 1)
        self.assertRegex(outcome.out, r"^tuned: different: step 0, train_loss ")
        self.assertIn("a run that began from other weights (--init_from), or was resumed with other options, cannot be repeated", outcome.err)
        self.succeed("export", "run", "--out", "out")
        self.succeed("import", "out", "--run", "imported")
        self.assertIn("imported without its text", self.fail_with(65, "reproduce", "imported"))
