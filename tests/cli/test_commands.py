"""Help, versions and the refusal of what is not understood."""

import json

from program import SAMPLE_TEXT, ProgramTest, named_tensors

COMMANDS = ("train", "resume", "eval", "compare", "tune", "configs", "inspect", "runs", "bench", "doctor")


class HelpTest(ProgramTest):
    def test_overview_lists_every_command_and_each_shows_an_example(self):
        out = self.succeed("--help").out
        for name in (*COMMANDS, "sample"):
            self.assertRegex(out, rf"(?m)^  {name} ")
            self.assertIn(f"Example: chargpt {name}", self.succeed(name, "--help").out)

    def test_every_option_of_a_config_is_in_the_help_of_train_with_default_and_range(self):
        out = self.succeed("train", "--help").out
        sections = self.succeed("configs", "--schema").json["properties"]
        for section in ("data", "model", "train", "eval", "sample"):
            for key in sections[section]["properties"]:
                self.assertIn("--" + key.replace("_", "-"), out)

    def test_help_names_the_command_once_and_fits_a_terminal(self):
        self.assertIn("\nUsage: chargpt bench WHAT [SUBJECT] [OPTIONS]\n", self.succeed("bench", "--help").out)
        self.assertIn("\nUsage: chargpt sample [RUN...] [OPTIONS]\n", self.succeed("sample", "--help").out)
        for name in ("train", "sample", "bench", "compare", "tune"):
            for line in self.succeed(name, "--help").out.splitlines():
                if not line.startswith("Example: "):
                    self.assertLessEqual(len(line), 100, line)

    def test_help_shows_what_a_value_may_be_and_its_default(self):
        out = " ".join(self.succeed("tune", "--help").out.split())
        self.assertIn("--color {always,auto,never}", out.replace("{auto,always,never}", "{always,auto,never}"))
        self.assertIn("--threads INT CPU threads; 0: one per physical core [0 to 1024] (default 0)", out)
        self.assertIn("time for the whole search [above 0] (default 10)", out)

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

    def test_help_shows_the_defaults_of_a_file_and_of_a_run(self):
        self.write("mine.json", '{"extends": "ladder/bigram", "train": {"batch_size": 77}, "sample": {"tokens": 33}}')
        for name in (["train"], ["compare"], ["tune"], ["bench", "train"]):
            out = " ".join(self.succeed(*name, "mine.json", "--help").out.split())
            self.assertIn("Defaults below: those of mine.json", out)
            self.assertIn("(default 77)", out)
        self.train("r", "mine.json", 3)
        self.assertIn("windows per micro-batch (B) [1 to 1048576] (default 8)", " ".join(self.succeed("resume", "r", "--help").out.split()))
        self.assertIn("characters to generate after the prompt [0 to 1e12] (default 40)", " ".join(self.succeed("sample", "r", "--help").out.split()))
        self.assertIn("no-such is neither a preset nor a file", " ".join(self.succeed("train", "no-such", "--help").out.split()))

    def test_help_says_what_json_is_of_each_command(self):
        self.assertIn("one JSON object per line, one per sample", self.succeed("sample", "--help").out)
        for name in COMMANDS:
            self.assertIn("stdout is exactly one JSON document", self.succeed(name, "--help").out)
        self.assertEqual(self.json("configs", "--show", "default")["sample"], {"temperature": 0.8, "top_k": 200})

    def test_version_names_program_libtorch_cuda_and_processor(self):
        out = self.succeed("--version").out
        self.assertRegex(out, r"^chargpt \d+\.\d+\.\d+ \(.+\)\nLibTorch \d+\.\d+.*\nCUDA (yes|no)\nCPU capability \S+")


class UsageTest(ProgramTest):
    def test_no_command_prints_the_overview(self):
        overview = self.succeed("--help").out
        for words in ([], ["help"], ["-h"]):
            self.assertEqual(self.succeed(*words).out, overview)

    def test_help_of_a_command_is_its_long_help(self):
        self.assertEqual(self.succeed("help", "sample").out, self.succeed("sample", "--help").out)
        self.assertEqual(self.succeed("help", "train").out, self.succeed("train", "--help").out)
        for words in (["help", "trian"], ["trian"]):
            self.assertEqual(self.fail_with(2, *words), "unknown command 'trian'; did you mean train?", words)

    def test_other_programs_options_are_answered_with_those_of_this_one(self):
        for flag, here in (("--out_dir=x", "--run DIR"), ("--dataset=x", "--text"), ("--eval_only", "chargpt eval RUN"), ("--compile=False", "leave it out"),
                           ("--wandb-log", "leave it out"), ("--lr=1", "--learning_rate"), ("--epochs=1", "--max_epochs"), ("--iters=1", "--max_iters"),
                           ("--steps=1", "--max_iters"), ("--decay_lr=0", "--lr_schedule")):
            error = self.fail_with(2, "train", flag)
            self.assertTrue(error.startswith(f"unknown option {flag.split('=')[0]}: "), error)
            self.assertIn(here, error)
        self.assertNotIn("--run DIR", self.fail_with(2, "score", "--run", "x"))
        for word, here in (("resume", "chargpt resume RUN"), ("scratch", "leave --init_from out"), ("gpt2-xl", "subword tokens")):
            self.assertIn(here, self.fail_with(2, "train", f"--init_from={word}", "--text", SAMPLE_TEXT, "--max_iters", "1"))
        self.assertIn("nanogpt-cpu", self.fail_with(2, "train", "config/train_shakespeare_char.py"))
        self.assertIn("--init_from RUN", self.fail_with(2, "train", "out/ckpt.pt"))

    def test_models_of_other_programs_in_the_place_of_a_run_are_answered_with_import(self):
        self.write("model/config.json", "{}")
        self.write("model/tokenizer.json", "{}")
        self.assertIn("chargpt import model", self.fail_with(2, "sample", "model"))
        self.assertIn("nanogpt_to_chargpt.py", self.fail_with(2, "eval", "out/ckpt.pt"))
        self.assertIn("chargpt import", self.fail_with(2, "resume", "model.gguf"))

    def test_with_json_an_error_is_an_object_on_stderr(self):
        for code, arguments in [(66, ["eval", "nothing"]), (66, ["sample"]), (2, ["sample", "r", "--seed", "x"]), (2, ["train", "--n_lyer", "3"])]:
            outcome = self.run_program(*arguments, "--json")
            self.assertEqual((outcome.code, outcome.out), (code, ""))
            error = json.loads(outcome.err.splitlines()[-1])["error"]
            self.assertEqual(error["code"], code)
            self.assertEqual(error["message"], self.fail_with(code, *arguments))

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

    def test_complete_offers_what_may_stand_for_the_last_word(self):
        for run in ("mine", "the_second"):
            (self.folder / f"runs/{run}/checkpoints").mkdir(parents=True)
        for words, candidates in ((["tra"], ["train"]), (["help", "tr"], ["train"]), (["train", "--max_it"], ["--max-iters"]), (["resume", "m"], ["mine"]),
                                  (["sample", "--color", ""], ["auto", "always", "never"]), (["sample", "--color", "=", "al"], ["always"]),
                                  (["train", "nanogpt-c"], ["nanogpt-cpu"]), (["train", "--text", ""], []), (["nothing", ""], None),
                                  (["eval", "the_"], ["the_second"]), (["train", "--init-from", "m"], ["mine"]), (["compare", "--planned"], [])):
            with self.subTest(words=words):
                outcome = self.run_program("complete", *words)
                self.assertEqual(outcome.code, 2 if candidates is None else 0, outcome.err)
                self.assertEqual([line.split("\t")[0] for line in outcome.out.splitlines()], candidates or [])

    def test_a_rung_of_the_ladder_is_known_by_its_name(self):
        self.assertEqual(self.json("inspect", "bigram"), self.json("inspect", "ladder/bigram"))

    def test_dashes_and_underscores_are_the_same_in_every_option(self):
        self.assertIn("5", self.fail_with(2, "train", "--n-head", "5", "--n_embd", "128"))
        self.assertIn("5", self.fail_with(2, "train", "--n_head", "5", "--n-embd", "128"))

    def test_an_unknown_preset_names_the_nearest(self):
        self.assertIn("nanogpt-cpu", self.fail_with(66, "train", "nanogpt-cpi"))

    def test_a_scalar_option_given_twice_names_both_values(self):
        for command, first, second in (("train", "--learning_rate", "--learning-rate"), ("sample", "--seed", "--seed"),
                                       ("sample", "--tokens", "--tokens"), ("train", "--run", "--run"), ("eval", "--stride", "--stride"),
                                       ("compare", "--seeds", "--seeds"), ("bench", "--steps", "--steps"), ("inspect", "--checkpoint", "--checkpoint")):
            config = ["train"] if command == "bench" else [] if command == "train" else ["quick"]
            error = self.fail_with(2, command, *([self.trained()] if command in ("sample", "eval") else config), first, "1", second, "2")
            self.assertRegex(error, r"is given twice, (as|by .*) 1 and (as|by .*) 2; give it once")
        error = self.fail_with(2, "train", "--learning_rate", "1e-3", "--set", "train.learning_rate=2e-3")
        self.assertEqual(error, "train.learning_rate is given twice, by --set train.learning_rate=2e-3 and by --learning_rate 1e-3; give it once")
        self.assertIn("given twice", self.fail_with(2, "train", "--set", "n_layer=1", "--set", "model.n_layer=1"))

    def trained(self):
        if not (self.folder / "r").exists():
            self.train("r", "ladder/bigram", 1)
        return "r"

    def test_options_that_exclude_each_other(self):
        self.assertIn("--verbose", self.fail_with(2, "runs", "--quiet", "--verbose"))
        self.assertIn("--schema", self.fail_with(2, "configs", "--schema", "--show", "quick"))
        self.assertIn("--overwrite needs --run DIR", self.fail_with(2, "train", "--overwrite"))
        self.assertEqual(self.fail_with(2, "bench", "train", "ladder/bigram", "--batch", "2"), "--batch is an option of bench sample, not of bench train")
        self.assertEqual(self.fail_with(2, "bench", "train", "ladder/bigram", "--context", "full"),
                         "--context is an option of bench sample, not of bench train")
        self.assertEqual(self.fail_with(2, "bench", "sample", self.trained(), "--engine", "autograd"),
                         "--engine is an option of bench train, not of bench sample")

    def test_a_value_that_is_refused_names_it_and_what_is_allowed(self):
        for arguments, error in ((["doctor", "--threads", "5000"], "--threads: 5000 is above 1024, the largest allowed; see chargpt doctor --help"),
                                 (["tune", "default", "--minutes", "0"], "--minutes: 0 is not above 0; see chargpt tune --help"),
                                 (["tune", "default", "--memory", "1e11"], "--memory: 1e11 is above 1000000, the largest allowed; see chargpt tune --help"),
                                 (["train", "--minutes", "1e308"], "--minutes: 1e308 is above 1000000, the largest allowed; see chargpt train --help"),
                                 (["sample", "r", "--seed", "x"], "--seed: x is not understood; it takes a whole number, at least 0; see chargpt sample --help"),
                                 (["sample", "r", "--seed"], "--seed needs a value: a whole number, at least 0; see chargpt sample --help"),
                                 (["train", "--set"], "--set needs a value: KEY=VALUE; see chargpt train --help"),
                                 (["bench", "trian"], "WHAT: trian is not one of train, sample; did you mean train?")):
            self.assertEqual(self.fail_with(2, *arguments), error)

    def test_an_option_takes_one_value_and_the_next_word_is_an_argument(self):
        self.assertIn("Defaults below: those of quick", self.succeed("train", "--set", "max_iters=5", "quick", "--help").out)
        self.assertIn("Defaults below: those of quick", self.succeed("train", f"--text={SAMPLE_TEXT}", "quick", "--help").out)
        plan = self.succeed("train", "--text", SAMPLE_TEXT, "--conv_places", "[\"mlp\"]", "--dropout", "0.1", "--dropout_places", "[\"mlp\"]", "--dry-run", "--", "quick")
        self.assertNotIn("given twice", plan.err)
        self.assertEqual(self.fail_with(2, "train", "--run=", "--overwrite", "quick"),
                         "--run: an empty value is not understood; it takes text; see chargpt train --help")

    def test_presets_and_options_of_earlier_versions(self):
        for command in (["train", "quick-plain", "--dry-run", "--text", SAMPLE_TEXT], ["inspect", "quick-plain"], ["configs", "--show", "quick-plain"]):
            self.assertEqual(self.succeed(*command).err.count("quick-plain is called quick now"), 1, command)
        self.assertEqual(self.json("train", "quick-plain", "--dry-run", "--text", SAMPLE_TEXT)["config"], "quick")
        for preset, instead in (("second", "quick"), ("minute-tables", "default")):
            self.assertEqual(self.fail_with(2, "train", preset), f"the preset {preset} is gone with the tables of n-grams; use {instead}, and eval --counts")
        run, at_each_rate = self.trained(), "is gone; use --vary train.learning_rate=…,… --score-on train"
        for words, line in (
                (["train", "quick", "--ngram-orders", "2"],
                 "--ngram-orders is gone; use eval --counts and sample --counts, which mix counted n-grams into the predictions"),
                (["train", "quick", "--attention", "manual"], "--attention is gone; leave it out: attention is fused wherever it can be"),
                (["sample", run, "--storage", "bfloat16"], "--storage is gone; weights are kept as float32; leave it out"),
                (["sample", run, "--no-cache"], "--no-cache is gone; keys and values are always kept; --context full runs the whole context again"),
                (["eval", run, "--engine", "autograd"],
                 "--engine is gone; eval computes on the CPU, whatever engine trained the model; leave it out"),
                (["score", run, "--csv"], "--csv is gone; use --json"), (["compare", "ladder/bigram", "--csv"], "--csv is gone; use --json"),
                (["compare", "ladder/bigram", "--equal", "tokens"], "--equal is gone; give all configs one length: --max_iters or --max_seconds"),
                (["compare", "ladder/bigram", "--tune-rate=3"], f"--tune-rate {at_each_rate}"),
                (["compare", "ladder/bigram", "--tune_rate", "3"], f"--tune_rate {at_each_rate}"),
                (["watch", run, "--json"], "--json is gone; RUN/metrics.jsonl has the figures, one JSON object a line"),
                (["bench", "learn", "ladder/bigram", "--target", "2"], "bench learn is gone; use compare CONFIG… --target LOSS"),
                (["bench", "kernels", "--rounds", "2"], "bench kernels is gone; bench train measures the share of this machine's peak"),
                (["bench", "sample", run, "--decoding", "cached"], "--decoding is gone; bench sample decodes as sample does; leave it out")):
            self.assertEqual(self.fail_with(2, *words), line)

    def test_set_needs_key_and_value(self):
        self.assertIn("--set max_iters is not KEY=VALUE", self.fail_with(2, "train", "--set", "max_iters"))


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
        shown = self.succeed("configs", "--show", "bigram").out
        self.assertIn('"type": "bigram"', shown)
        self.assertEqual(shown, self.succeed("configs", "--show", "ladder/bigram").out)


class PlanTest(ProgramTest):
    """What `train --dry-run` says of options that do less than one would think."""

    def plan(self, *arguments):
        outcome = self.succeed("train", *arguments, "--dry-run", "--text", SAMPLE_TEXT, "--threads", "1")
        self.assertFalse((self.folder / "runs").exists())
        return outcome

    def refused(self, *arguments):
        return self.fail_with(2, *arguments, "--text", SAMPLE_TEXT, "--threads", "1")

    def test_rates_that_no_group_follows_are_refused_before_anything_trains(self):
        self.plan("default", "--learning_rate", "1e-3")
        old = {"extends": "default", "train": {"groups": [{"match": ".", "learning_rate": 0.01, "weight_decay": 0, "optimizer": "muon"}]}}
        self.write("old.json", old)
        self.plan("old.json")
        for command in (["train", "old.json"], ["compare", "old.json"], ["tune", "old.json", "--minutes", "0.01"]):
            self.assertIn("--learning_rate: train.learning_rate = 0.001 has no effect: every group of train.groups states its own learning_rate",
                          self.refused(*command, "--learning_rate", "1e-3"))
        self.assertIn("--vary: train.weight_decay = 0.2 has no effect", self.refused("compare", "old.json", "--vary", "weight_decay=0.2,0.3"))
        self.assertIn("--set: train.beta2 = 0.9 has no effect", self.refused("train", "old.json", "--set", "beta2=0.9"))
        self.assertFalse((self.folder / "runs").exists())
        old["train"]["learning_rate"] = 2e-3  # as files stated it before groups had lr_scale
        self.write("old.json", old)
        self.plan("old.json")

    def test_a_resumed_run_refuses_them_too(self):
        self.train("r", "ladder/bigram", 3)
        self.assertIn("--min_lr: train.min_lr = 0 has no effect: it needs train.lr_schedule != constant; train.lr_schedule = constant (preset ladder/bigram)",
                      self.fail_with(2, "resume", "r", "--min_lr", "0"))

    def test_a_learning_rate_of_zero_stops_what_has_no_group(self):
        self.write("mine.json", {"extends": "ladder/bigram", "train": {"groups": [{"match": "lm_head", "learning_rate": 0.1}]}})
        self.train("r", "mine.json", 4, "--learning_rate", "0", "--eval_interval", "2", "--keep", "9")
        self.succeed("eval", "r")
        before, after = (named_tensors(self.weights("r", step)) for step in (2, 4))
        for name in before:
            self.assertEqual(before[name] == after[name], "lm_head" not in name, name)

    def test_options_that_change_nothing_are_named(self):
        for preset, option, value, needs in (
                ("nanogpt-cpu", "model.rope_base", "5", "model.position = rope; model.position = learned (preset nanogpt-cpu)"),
                ("nanogpt-cpu", "train.wsd_decay_fraction", "0.3", "train.lr_schedule = wsd; train.lr_schedule = cosine (preset nanogpt-cpu)"),
                ("nanogpt-cpu", "model.dropout_places", '["mlp"]', "model.dropout != 0; model.dropout = 0 (preset nanogpt-cpu)"),
                ("ladder/bigram", "model.n_layer", "7", "model.type = gpt; model.type = bigram (preset ladder/bigram)"),
                ("ladder/bigram", "model.n_head", "3", "model.type = gpt|attention; model.type = bigram (preset ladder/bigram)")):
            err = self.refused("train", preset, "--set", f"{option}={value}")
            self.assertIn(f"--set: {option} = {value} has no effect: it needs ", err)
            self.assertIn(needs, err)

    def test_it_looks_at_what_the_run_would_start_from(self):
        self.assertIn("nowhere", self.fail_with(66, "train", "ladder/bigram", "--dry-run", "--init_from", "nowhere", "--text", SAMPLE_TEXT))
        self.train("r", "ladder/bigram", 3)
        self.assertIn("weights from r/checkpoints/step-00000003, which knows ", self.plan("ladder/bigram", "--init_from", "r").err)
        self.assertIn("--init_from needs the same model", self.fail_with(65, "train", "nanogpt-cpu", "--dry-run", "--init_from", "r", "--text", SAMPLE_TEXT))
        notices = self.json("train", "ladder/bigram", "--init_from", "r", "--dry-run", "--text", SAMPLE_TEXT)["notices"]
        self.assertIn("weights from r/checkpoints/step-00000003", notices[0])

    def test_without_a_config_it_starts_by_that_of_the_run(self):
        self.train("r", "ladder/bigram", 3, "--n_embd", "8")
        self.write("other.txt", "to be or not to be " * 400)
        for run in ("r", "r/checkpoints/step-00000003"):
            with self.subTest(run):
                tuned = self.succeed("train", "--init_from", run, "--text", "other.txt", "--run", "tuned", "--overwrite", "--json")
                self.assertIn("weights from r/checkpoints/step-00000003, which knows 7 of the text's 7 symbols; ", tuned.err)
                config = self.json_of("tuned/config.json")
                self.assertEqual((config["name"], config["model"]["type"], config["model"]["n_embd"]), ("ladder/bigram", "bigram", 8))
        self.fail_with(66, "train", "--init_from", "nowhere", "--text", "other.txt")


class QuietTest(ProgramTest):
    def test_only_errors_reach_stderr(self):
        self.write("slow.json", {"extends": "ladder/average", "train": {"max_iters": 4, "warmup_iters": 9}})
        quick = ["--text", SAMPLE_TEXT, "--sample_tokens", "0", "--eval_interval", "2", "--quiet"]
        for command in (["train", "slow.json", "--run", "r", "--threads", "64", "--engine", "libtorch", "--dtype", "tf32", *quick],
                        ["resume", "r", "--max_iters", "6", "--quiet"],
                        ["train", "slow.json", "--dry-run", *quick],
                        ["train", "slow.json", "--init_from", "r", *quick],
                        ["sample", "r", "--tokens", "3", "--greedy", "--seed", "3", "--prompt", "The The The The", "--quiet"],
                        ["eval", "r", "--split", "all", "--quiet"],
                        ["compare", "slow.json", "--seeds", "2", "--jobs", "2", "--out", "c", *quick],
                        ["bench", "train", "slow.json", "--steps", "2", "--warmup", "1", *quick],
                        ["bench", "sample", "r", "--tokens", "3", "--repeats", "1", "--quiet"],
                        ["runs", "--quiet"], ["inspect", "r", "--quiet"], ["configs", "--quiet"], ["doctor", "--quiet"]):
            self.assertEqual(self.succeed(*command).err, "", command)
