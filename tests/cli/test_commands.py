"""Help, versions and the refusal of what is not understood."""


from program import SAMPLE_TEXT, ProgramTest


class HelpTest(ProgramTest):
    def test_every_option_of_a_config_is_in_the_help_of_train_with_default_and_range(self):
        out = self.succeed("train", "--help").out
        sections = self.succeed("configs", "--schema").json["properties"]
        for section in ("data", "model", "train", "eval", "sample"):
            for key in sections[section]["properties"]:
                self.assertIn("--" + key.replace("_", "-"), out)

    def test_help_of_train_begins_with_what_is_used_most_and_shows_the_defaults_that_would_run(self):
        out = self.succeed("train", "--help").out
        self.assertLess(out.index("Most used options of a config:"), out.index("Machine:"))
        self.assertLess(out.index("Output:"), out.index("Config: data:"))
        self.assertLess(out[:out.index("Machine:")].count("\n"), 50)
        self.assertIn("those of default, used if no CONFIG is given", " ".join(out.split()))
        for config in ("default", "nanogpt-gpu"):
            values = self.json("inspect", config)["config"]
            out = " ".join(self.succeed("train", *([] if config == "default" else [config]), "--help").out.split())
            self.assertIn(f"transformer blocks (L) [1 to 1000] (default {values['model']['n_layer']})", out)
            self.assertIn(f"(default {values['train']['lr_schedule']})", out)
            self.assertIn(f"windows per micro-batch (B) [1 to 1048576] (default {values['train']['batch_size']})", out)


class UsageTest(ProgramTest):
    def test_h_is_a_screen_with_a_line_for_each_of_a_dozen_options(self):
        for command in ("train", "resume", "compare", "sample", "eval"):
            screen = self.lines_at(80, command, "-h")
            self.assertLess(len(screen), 40, command)
            self.assertLessEqual(sum(line.startswith("  -") for line in screen), 12)
            self.assertTrue(screen[3].startswith("Example: "), screen)
            for line, after in zip(screen, screen[1:]):  # a name that is too long has its words below it
                if line.startswith("  -"):
                    self.assertRegex(line if len(line) > 28 and line[27] == " " else after, r"^.{28}[A-Za-z].{2,}")
            self.assertIn(f"chargpt {command} --help", screen[-1])
        self.assertIn("  --steps INT               train: steps measured", self.lines_at(80, "bench", "-h"))
        self.assertIn("  --temperature FLOAT       temperature of the samples", self.lines_at(80, "audit", "-h"))

    def test_screens_break_between_words_and_never_within_a_command(self):
        self.train("run", "ladder/bigram", 5)
        commands = [["-h"], ["doctor"], ["runs", "."], ["attention", "-h"], ["train", "--help"], ["train", "default", "--dry-run", "--text", SAMPLE_TEXT],
                    ["bench", "sample", "run", "--repeats", "1", "--tokens", "3"]]
        for columns in (60, 80, 120):
            for command in commands:
                for line in self.lines_at(columns, *command):
                    if "chargpt " not in line:
                        self.assertLessEqual(len(line), columns, command)
            shown = self.fitting_screen(columns, "train", "ladder/bigram", "--run", f"r{columns}", "--text", SAMPLE_TEXT,
                                        "--max_iters", "30", "--sample_tokens", "0", "--tokens", "9")
            self.assertIn(f"\nchargpt: → chargpt resume r{columns} --max_iters 60\r", shown)


class ConfigTest(ProgramTest):
    def test_the_list_of_presets_says_what_each_is_for_and_breaks_no_name(self):
        rows = self.json("configs")
        self.assertTrue(all(row["purpose"].endswith((".", "Muon.")) and len(row["purpose"]) > 20 for row in rows))
        for columns in (60, 80, 120):
            lines = self.fitting_lines(columns, "configs")
            shown = [line.split()[0] for line in lines[1:lines.index("")] if not line.startswith(" ")]
            self.assertEqual(shown, [row["name"] for row in rows])
            words = " ".join(" ".join(lines).split())
            for row in rows:
                self.assertIn(" ".join(row["purpose"].split()), words)
        table = self.succeed("configs").out
        for expected in (row["expected"] for row in rows if row["expected"] and row["expected"].get("ci95")):
            low, high = expected["ci95"]
            self.assertIn(f" {expected['loss']:.3f} ± {(high - low) / 2:.3f}", table)
        train = self.json("inspect", "default")["config"]["train"]
        length, = (row["length"] for row in rows if row["name"] == "default")
        self.assertEqual(length, f"{train['max_iters']:,} steps or {train['max_epochs']:g} epochs")


class RateTest(ProgramTest):
    def test_a_learning_rate_of_zero_stops_what_has_no_group(self):
        self.write("mine.json", {"extends": "ladder/bigram", "train": {"groups": [{"match": "lm_head", "learning_rate": 0.1}]}})
        self.train("r", "mine.json", 4, "--learning_rate", "0", "--eval_interval", "2", "--keep", "9")
        self.succeed("eval", "r")
        before, after = (self.weights("r", step) for step in (2, 4))
        for name in before:
            self.assertEqual(before[name] == after[name], "lm_head" not in name, name)
