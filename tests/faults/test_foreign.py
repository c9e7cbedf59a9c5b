"""Files that no run wrote, anywhere in a folder and in every layout: whatever command meets them, they are the same afterwards.

The layouts are drawn anew each time; CHARGPT_SEED=N draws those of seed N again. CHARGPT_SWEEP=1: many more of them.
"""

import random
import shutil

from harness import SAVES, SEED, SWEEP, FaultTest, digests

NOBODYS = [  # names that no run writes
    "report.html", "notes.txt", ".notes", ".letter.tmp-1-2", "config.json~", "events.out.tfevents.1700000000.host.4711.0", "photos/1.jpg",
    "lost/found/2.jpg", "samples/recording.wav", "samples/step-2.txt", "samples/.letter.tmp-1-2", "samples/deep/step-00000002.txt",
    "checkpoints/mine.pt", "checkpoints/mine.safetensors", "checkpoints/step-2.safetensors", "checkpoints/step-00000002.safetensors~",
    "checkpoints/step-00000002/model.safetensors", "checkpoints/step-00000006/notes/1.txt", "checkpoints/LATEST", "text.safetensors.old"]
RUNS_NAMES = [  # names that runs write, in a folder that is none
    "config.json", "metrics.jsonl", "text.safetensors", "run.json", ".config.json.tmp-1-2", "events.out.tfevents.1700000000.host",
    "samples/step-00000002.txt", "text.safetensors",
    "checkpoints/step-00000002.safetensors", "checkpoints/step-00000002.safetensors.partial"]
LINKS = ["samples", "checkpoints", "metrics.jsonl", "config.json", "samples/step-00000002.txt", "run.json"]


class ForeignTest(FaultTest):
    def draw(self, source, folder, names):
        """Some of these files, with content of their own, and their digests."""
        mine = {}
        for name in source.sample(names, source.randint(1, min(5, len(names)))):
            if not any(parent.is_file() for parent in (folder / name).parents) and not (folder / name).exists():
                self.write(folder / name, source.choice([b"", b"mine\n", source.randbytes(100)]))
                mine[name] = digests(folder)[name]
        return mine

    def layouts(self, quick):
        count = 20 * quick if SWEEP else quick
        print(f"{self.id()}: {count} layouts, CHARGPT_SEED={SEED}")
        for number in range(count):
            yield self.folder / f"layout-{number}", random.Random(f"{SEED} {self.id()} {number}")

    def test_a_folder_that_is_no_run_is_refused_by_every_command_and_stays_as_it_is(self):
        for out, source in self.layouts(6):
            with self.subTest(out.name):
                folder = out / "nanogpt-cpu-seed1337"
                self.draw(source, folder, NOBODYS + 2 * RUNS_NAMES)
                self.write(folder / "notes.txt", "mine\n")  # an interrupted start may leave nothing but empty files
                before = digests(out)
                compare = ["compare", "nanogpt-cpu", "--seeds", "1", "--out", out, *self.training("unused", 4, *SAVES)[4:]]
                for arguments, codes in ((self.training(folder, 4, *SAVES), [65, 75]), (self.training(folder, 4, *SAVES, "--overwrite"), [65, 75]),
                                         (self.resuming(folder, 6), [65, 66]), (compare, [65, 75])):  # 65: it looks like a damaged run
                    outcome = self.run_program(*arguments)
                    self.assertIn(outcome.code, codes, outcome.err)
                    self.assertEqual(digests(out), before)

    def test_a_run_is_gone_on_with_around_foreign_files_which_move_with_it(self):
        base, whole = self.whole_run("base", 4, *SAVES), self.whole_run("whole", 8, *SAVES)
        for run, source in self.layouts(6):
            with self.subTest(run.name):
                self.copy(base, run)
                mine = self.draw(source, run, NOBODYS)
                before = digests(run)
                self.assertIn("is now", self.succeed(*self.training(run, 4, *SAVES, "--overwrite")).err)
                old = run.with_name(run.name + ".old-1")
                self.assertEqual(digests(old), before)
                shutil.rmtree(run)
                old.rename(run)
                self.fail_with(75, *self.training(run, 4, *SAVES))
                for step in (6, 8):
                    self.succeed(*self.resuming(run, step))
                    self.assertLessEqual(mine.items(), digests(run).items())
                self.assert_same_training(whole, run, 8)

    def test_nothing_is_followed_out_of_a_run_by_a_link(self):
        base = self.whole_run("base", 4, *SAVES)
        for (run, source), name in zip(self.layouts(len(LINKS)), 20 * LINKS):
            with self.subTest(run.name):
                self.copy(base, run)
                outside = run.with_name(run.name + "-outside")
                target = outside / source.choice(["there", ".x.tmp-1-2"])
                outside.mkdir()
                (run / name).rename(target) if (run / name).exists() else target.write_text("elsewhere")
                (run / name).symlink_to(target)
                before = digests(outside)
                for arguments in (self.training(run, 4, *SAVES), self.resuming(run, 6)):
                    outcome = self.run_program(*arguments)
                    self.assertEqual(outcome.code, 75, f"{name}: {outcome.err}")
                    self.assertEqual(digests(outside), before)
                    self.assertTrue((run / name).is_symlink())
