"""What is shown on a terminal fits it: lines break between words, and never within a command or a number."""

from program import QUICK, SAMPLE_TEXT, TEXT, ProgramTest

WIDTHS = (60, 80, 120)


class ScreenTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "ladder/attention", 60, "--learning_rate", "0.01", "--n_embd", "16", "--n_head", "2")
        self.train("other", "nanogpt-cpu", 10, *QUICK[2:4], "--n_layer", "1", "--n_head", "2", "--n_embd", "16", text=TEXT[:5000])
        self.train("leaking", "ladder/average", 60)
        group = {"match": "wte|" + "a-very-long-name-of-a-parameter-" * 4, "learning_rate": 0.5}
        self.write("mine.json", {"data": {"text": SAMPLE_TEXT}, "train": {"groups": [group]}})

    def test_no_line_is_wider_than_the_terminal(self):
        for columns in WIDTHS:
            for words in ("-h", "sample -h", "doctor", "runs .", "configs", "attention -h", "train --help", f"train default --dry-run --text {SAMPLE_TEXT}",
                          "bench sample run --repeats 1 --tokens 3", "eval run", "inspect mine.json", "inspect mine.json --all", "inspect five-minutes --all",
                          f"inspect {SAMPLE_TEXT}", "inspect leaking other", "audit run --samples 4 --tokens 400"):
                for line in self.lines_at(columns, *words.split()):
                    if "chargpt " not in line:  # a command to copy
                        self.assertLessEqual(len(line), columns, words)
            shown = self.fitting_screen(columns, "train", "nanogpt-cpu", "--run", f"r{columns}", "--text", SAMPLE_TEXT, "--n_layer", "1", "--n_embd", "16",
                                        "--max_iters", "30", "--sample_tokens", "0", "--tokens", "9")
            self.assertIn(f"\nchargpt: → chargpt resume r{columns} --max_iters 60\r", shown)

    def test_a_narrow_terminal_shows_all_words(self):
        elsewhere = self.succeed("eval", "run").out.split()
        for columns in WIDTHS:
            self.assertEqual(" ".join(self.lines_at(columns, "eval", "run")).split(), elsewhere)
            words = " ".join(" ".join(self.lines_at(columns, "configs")).split())
            for row in self.json("configs"):
                self.assertIn(" ".join(row["purpose"].split()), words)
                self.assertIn(row["name"], words)
        table = self.succeed("configs").out
        for expected in (row["expected"] for row in self.json("configs") if row["expected"] and row["expected"].get("ci95")):
            low, high = expected["ci95"]
            self.assertIn(f" {expected['loss']:.3f} ± {(high - low) / 2:.3f}", table)
