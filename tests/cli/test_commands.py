"""Help, versions and the refusal of what is not understood."""

import unittest

from program import ProgramTest


class HelpTest(ProgramTest):
    def test_overview_lists_every_command_by_purpose(self):
        out = self.succeed("--help").out
        for name in ("train", "resume", "sample", "eval", "compare", "tune", "configs", "inspect", "runs", "bench", "doctor"):
            self.assertRegex(out, rf"(?m)^  {name} ")

    def test_every_command_shows_options_and_an_example(self):
        for name in ("train", "resume", "sample", "eval", "compare", "tune", "configs", "inspect", "runs", "bench", "doctor"):
            out = self.succeed(name, "--help").out
            self.assertIn(f"Example: chargpt {name}", out)

    def test_every_option_of_a_config_is_in_the_help_of_train_with_default_and_range(self):
        out = self.succeed("train", "--help").out
        schema = self.succeed("configs", "--schema").json
        for section in ("data", "model", "train", "eval", "sample"):
            for key in schema["properties"][section]["properties"]:
                self.assertIn(f"--{key}", out)

    def test_help_names_the_command_once_and_fits_a_terminal(self):
        self.assertIn("\nUsage: chargpt bench WHAT [CONFIG...] [OPTIONS]\n", self.succeed("bench", "--help").out)
        self.assertIn("\nUsage: chargpt sample RUN [DASH] [OPTIONS]\n", self.succeed("sample", "--help").out)
        for name in ("train", "sample", "bench", "compare", "tune"):
            for line in self.succeed(name, "--help").out.splitlines():
                if not line.startswith("Example: "):
                    self.assertLessEqual(len(line), 100, line)

    def test_help_shows_what_a_value_may_be_and_its_default(self):
        out = " ".join(self.succeed("tune", "--help").out.split())
        self.assertIn("--color {always,auto,never}", out.replace("{auto,always,never}", "{always,auto,never}"))
        self.assertIn("--threads INT CPU threads; 0: one per physical core [0 to 4096] (default 0)", out)
        self.assertIn("time for all of the search [above 0] (default 10)", out)

    def test_version_names_program_libtorch_cuda_and_processor(self):
        out = self.succeed("--version").out
        self.assertRegex(out, r"^chargpt \d+\.\d+\.\d+ \(.+\)\nLibTorch \d+\.\d+.*\nCUDA (yes|no)\nCPU capability \S+")


class UsageTest(ProgramTest):
    def test_no_command(self):
        self.assertEqual(self.fail_with(2), "no command given; chargpt --help lists them")

    def test_unknown_command_names_the_nearest(self):
        self.assertEqual(self.fail_with(2, "trian"), "unknown command 'trian'; did you mean train?")

    def test_unknown_option_names_the_nearest(self):
        self.assertEqual(self.fail_with(2, "train", "--learning_rat", "1"),
                         "unknown option --learning_rat; did you mean --learning_rate?")

    def test_dashes_and_underscores_are_the_same_in_every_option(self):
        self.assertIn("5", self.fail_with(2, "train", "--n-head", "5", "--n_embd", "128"))
        self.assertIn("5", self.fail_with(2, "train", "--n_head", "5", "--n-embd", "128"))

    def test_a_surplus_argument_is_refused(self):
        self.assertIn("is one argument too many", self.fail_with(2, "train", "default", "surplus"))

    def test_an_unknown_preset_names_the_nearest(self):
        error = self.fail_with(66, "train", "nanogpt-cpi")
        self.assertIn("nanogpt-cpu", error)

    def test_set_needs_key_and_value(self):
        self.assertIn("--set max_iters is not KEY=VALUE", self.fail_with(2, "train", "--set", "max_iters"))


class ConfigTest(ProgramTest):
    def test_unknown_key_names_file_line_and_the_nearest_key(self):
        self.write("mine.json", '{\n  "model": {\n    "n_layers": 2\n  }\n}\n')
        error = self.fail_with(2, "train", "mine.json")
        self.assertTrue(error.startswith("mine.json:3: "), error)
        self.assertIn("n_layer", error)

    def test_heads_that_do_not_divide_the_width(self):
        error = self.fail_with(2, "train", "--n_head", "5")
        self.assertIn("n_head = 5", error)

    def test_inspect_shows_each_value_with_its_origin(self):
        self.write("mine.json", '{"extends": "nanogpt-cpu", "train": {\n"max_iters": 7}}')
        json = self.succeed("inspect", "mine.json", "--json").json
        self.assertEqual(json["config"]["train"]["max_iters"], 7)
        self.assertEqual(json["origin"]["train.max_iters"], "mine.json:2")

    def test_configs_lists_every_preset(self):
        names = {row["name"] for row in self.succeed("configs", "--json").json}
        self.assertLessEqual({"default", "nanogpt-cpu", "nanogpt-gpu", "ladder/bigram", "ladder/average", "ladder/masked",
                              "ladder/attention", "ladder/transformer"}, names)


if __name__ == "__main__":
    unittest.main()
