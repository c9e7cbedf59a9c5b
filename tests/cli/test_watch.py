"""watch: the curves of a run in the terminal, while it trains and afterwards."""

import signal
import subprocess

from program import QUICK, ProgramTest, Terminal, metrics


class WatchTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("run", "ladder/bigram", 60)

    def watch_on_a_terminal(self, *arguments, columns=80, rows=24):
        """A watching process, and the terminal it draws on."""
        terminal = Terminal(columns, rows)
        process = self.started("watch", *arguments, stdin=subprocess.DEVNULL, stdout=terminal.theirs, stderr=terminal.theirs)
        return process, terminal

    def endless(self, run):
        process = self.started("train", "ladder/bigram", "--run", run, "--max_iters", 10**7, *QUICK, "--quiet", stderr=subprocess.DEVNULL)
        path = self.folder / run / "metrics.jsonl"
        self.wait_for(lambda: path.exists() and '"eval"' in path.read_text())
        return process

    def test_a_baselines_name_sends_nothing_to_the_terminal(self):
        losses = [row.get("val_loss", row.get("loss")) for row in metrics(self.folder / "run") if row["kind"] in ("train", "eval")]
        below = min(losses) - 0.3 * (max(losses) - min(losses))  # in a row of its own
        self.set_figures("run", {"baselines": {"ngram": {"order": "\x1b]0;owned\x07", "loss_in_windows": below}}})
        shown = self.succeed("watch", "run").out
        self.assertIn("-grams", shown)
        self.assertNotIn("\x1b", shown)

    def test_on_a_terminal_a_running_run_is_repainted_until_ctrl_c_and_the_screen_is_given_back(self):
        self.endless("going")
        process, terminal = self.watch_on_a_terminal("going", columns=60, rows=20)
        shown = terminal.read_until("● val".encode())
        shown += terminal.read_until("● val".encode())  # painted anew
        self.assertIn(b"going: running", shown)
        self.assertIn(b"Ctrl-C ends this view; the run continues\x1b[K\x1b[J", shown)
        process.send_signal(signal.SIGINT)
        shown = (shown + terminal.read_to_the_end_of(process)).decode()
        self.assertEqual(process.returncode, 130)
        self.assertTrue(shown.startswith("\x1b[?1049h\x1b[?25l"))
        self.assertTrue(shown.endswith("\x1b[?25h\x1b[?1049l"), shown[-200:])

    def test_once_prints_a_running_run_and_when_that_ends_its_last_picture_stays(self):
        trainer = self.endless("going")
        process, terminal = self.watch_on_a_terminal("going")
        shown = terminal.read_until(b"running")
        self.assertIn("going: running", self.succeed("watch", "going", "--once").out)
        trainer.terminate()
        shown = (shown + terminal.read_to_the_end_of(process)).decode()
        self.assertEqual(process.returncode, 0)
        left = shown.split("\x1b[?1049l")[1]
        self.assertIn("going: stopped after", left)
        self.assertIn("● val", left)
        self.assertNotIn("Ctrl-C", left)
