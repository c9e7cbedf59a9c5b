"""What is said of the presets is of the presets as they are, and the script that says it measures and writes."""

import re
import shutil
import sys

from program import PROGRAM, QUICK, SAMPLE_TEXT, SOURCE, ProgramTest

sys.path.append(str(SOURCE / "scripts/measure"))
import presets  # noqa: E402 (found by the line above)

AGAIN = "run scripts/measure/presets.py --only {0} (all of them where a default has changed)"


class ExpectedFiguresTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.program, self.expected = presets.Presets(PROGRAM), presets.load(SOURCE / "configs")

    def test_no_preset_has_changed_since_it_was_measured(self):
        defaults = self.program.defaults()
        self.assertEqual(presets.changed_defaults(self.expected["defaults"], defaults), [], AGAIN.format("each"))
        for preset, row in self.expected["rows"].items():
            self.assertEqual(row["config"], self.program.config_digest(preset, defaults), f"{preset} has changed: {AGAIN.format(preset)}")

    def test_the_table_is_that_of_the_figures(self):
        text = (SOURCE / "configs" / "README.md").read_text(encoding="utf-8")
        self.assertIn("\n".join([presets.BEGIN, presets.table(self.expected), presets.END]), text, "run scripts/measure/presets.py --table")

    def test_every_measured_row_has_its_seeds_machine_and_date(self):
        for preset, row in self.expected["rows"].items():
            with self.subTest(preset):
                if "not_measured" in row:
                    continue
                self.assertGreaterEqual(len(row["runs"]), 3)
                self.assertIn(row["machine"], self.expected["machines"])
                self.assertRegex(row["date"], r"^\d{4}-\d\d-\d\d$")
                self.assertAlmostEqual(row["loss"], sum(run["loss"] for run in row["runs"]) / len(row["runs"]), places=6)

    def test_configs_prints_them(self):
        rows = {row["name"]: row["expected"] for row in self.json("configs")}
        self.assertEqual({preset for preset, row in rows.items() if row}, set(self.expected["rows"]))
        for preset, row in self.expected["rows"].items():
            self.assertEqual(rows[preset].get("loss"), row.get("loss"))
        self.assertIn("expected loss", self.succeed("configs").out)


class DigestTest(ProgramTest):
    def test_an_option_that_changes_changes_the_digest_and_one_that_is_spelled_out_does_not(self):
        program = presets.Presets(PROGRAM)
        defaults = program.defaults()
        digests = [program.config_digest(self.write(f"{n}.json", text), defaults) for n, text in enumerate(
            ['{"extends": "ladder/bigram"}', '{"extends": "ladder/bigram", "train": {"adam_eps": 1e-8}}',
             '{"extends": "ladder/bigram", "train": {"beta2": 0.95}}'])]
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_a_default_that_changes_is_named_and_a_new_option_is_not(self):
        then, now = {"train": {"beta1": 0.9, "beta2": 0.99}}, {"train": {"beta1": 0.9, "beta2": 0.95, "new": 1}}
        self.assertEqual(presets.changed_defaults(then, now), ["train.beta2"])


class MeasuringTest(ProgramTest):
    def measure(self, *arguments):
        self.script("measure/presets.py", "--program", PROGRAM, "--folder", self.folder, "--work", self.folder / "runs", *arguments,
                    "--", "--max_iters", "20", *QUICK)

    def setUp(self):
        super().setUp()
        shutil.copy(SOURCE / "configs" / "README.md", self.folder)

    def test_trains_every_seed_and_writes_figures_and_table(self):
        self.measure("--only", "ladder/bigram", "--seeds", "3")
        row = self.json_of("expected.json")["rows"]["ladder/bigram"]
        self.assertEqual([run["seed"] for run in row["runs"]], [1337, 1338, 1339])
        self.assertEqual([run["step"] for run in row["runs"]], [20] * 3)
        self.assertLess(row["ci95"][0], row["loss"])
        self.assertIn(f"{row['loss']:.4f} ±", (self.folder / "README.md").read_text())
        self.assertIn("processors", (self.folder / "README.md").read_text())
        # Again: the same figures from the runs that are there, and another preset's row beside it.
        self.measure("--only", "ladder/average", "--seeds", "2")
        self.assertEqual(self.json_of("expected.json")["rows"]["ladder/bigram"], row)
        self.assertIn("**leaks**", (self.folder / "README.md").read_text())

    def test_the_metrics_digest_is_that_of_the_losses(self):
        for run, seed in (("a", "4"), ("b", "4"), ("c", "5")):
            self.train(run, "ladder/bigram", 20, "--seed", seed)
        digests = [presets.metrics_digest(self.folder / run) for run in ("a", "b", "c")]
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_a_run_that_takes_too_long_is_not_measured_here(self):
        self.measure("--only", "ladder/transformer", "--hours", "0")
        self.assertIn("not measured here: about 0.0 hours a run", (self.folder / "README.md").read_text())

    def test_shortened_runs_are_refused_for_the_presets_own_folder(self):
        refused = self.script("measure/presets.py", "--program", PROGRAM, "--", "--max_iters", "1", code=2)
        self.assertIn("no measurement of the presets", refused.stderr)

    def of_own_text(self, name, *arguments):
        """What a script writes of a text of one's own."""
        return self.script(name, "--program", PROGRAM, "--threads", "1", "--text", f"own={SAMPLE_TEXT}",
                           "--work", self.folder / "work", *arguments).stdout

    def test_a_preset_is_measured_beside_nanogpt_on_a_text_of_ones_own(self):
        row = self.of_own_text("measure/texts.py", "--presets", "quick").splitlines()[2]
        about, preset, seconds, loss, same_loss, theirs = row.strip("| ").split(" | ")
        self.assertRegex(about, r"^own: 2\d,\d{3} characters, \d+ symbols$")
        self.assertEqual((preset, loss), ("`quick`", same_loss))  # it sees windows of 64
        self.assertGreater(float(theirs), float(loss))
        self.assertLess(int(seconds), 60)

    def test_default_is_set_beside_the_strongest_rival_of_each_class(self):
        written = self.of_own_text("measure/classes.py", "--seconds", "1")
        name, alone, *cells = written.strip("| \n").split(" | ")
        self.assertEqual((name, len(cells)), ("own", 3))
        self.assertGreater(float(alone), float(cells[0].strip("*")[:5]))
        for cell in cells:
            own, rival = (float(loss) for loss in re.findall(r"\d\.\d{3}", cell))
            self.assertEqual(cell.startswith("**"), own < rival, cell)
        self.assertEqual(written, self.of_own_text("measure/classes.py", "--seconds", "1"))  # measured once
