"""Files that no run wrote, anywhere in a folder and in every layout: whatever command meets them, they are the same afterwards.

The layouts are drawn anew each time; CHARGPT_SEED=N draws those of seed N again. CHARGPT_SWEEP=1: many more of them.
"""

import random
import shutil

from harness import SAVES, SEED, SWEEP, FaultTest, rows, tensors

NOBODYS = [  # names that no run writes
    "report.html", "notes.txt", ".notes", ".letter.tmp-1-2", "config.json~", "events.out.tfevents.1700000000.host.4711.0", "photos/1.jpg",
    "lost/found/2.jpg", "samples/recording.wav", "samples/step-2.txt", "samples/.letter.tmp-1-2", "samples/deep/step-00000002.txt",
    "checkpoints/mine.pt", "checkpoints/.mine.tmp-backup/model.safetensors", "checkpoints/.LATEST.tmp-old", "checkpoints/step-2/model.safetensors",
    "checkpoints/.tmp-mine/x", "checkpoints/.tmp-step-00000002/notes.txt", "checkpoints/.tmp-step-00000006/notes.txt",
    "checkpoints/.tmp-step-00000008/notes/1.txt",
    "checkpoints/.old-step-00000004/notes.txt", "checkpoints/step-00000002/notes.txt", "checkpoints/step-00000004/model.pt",
    "checkpoints/step-00000006/notes/1.txt", "checkpoints/step-00000008/notes.txt"]
RUNS_NAMES = [  # names that runs write, in a folder that is none
    "config.json", "metrics.jsonl", "figures.json", "run.json", ".lock", ".config.json.tmp-1-2", "events.out.tfevents.1700000000.host",
    "val_losses.json", "val_losses.f32", "samples/step-00000002.txt", "checkpoints/LATEST", "checkpoints/BEST",
    "checkpoints/step-00000002/model.safetensors", "checkpoints/step-00000002/MANIFEST.json", "checkpoints/.tmp-step-00000002/state.json"]
LINKS = ["samples", "checkpoints", "metrics.jsonl", "config.json", ".lock", "samples/step-00000002.txt", "checkpoints/LATEST", "run.json"]


class ForeignTest(FaultTest):
    def put(self, folder, name, content):
        self.mine[self.write(folder / name, content)] = content

    def draw(self, source, folder, names):
        """Some of these files, with content of their own."""
        for name in source.sample(names, source.randint(1, min(5, len(names)))):
            if not any(parent.is_file() for parent in (folder / name).parents) and not (folder / name).exists():
                self.put(folder, name, source.choice([b"", b"mine\n", source.randbytes(100)]))

    def assert_untouched(self, what):
        for path, content in self.mine.items():
            self.assertTrue(path.is_file(), f"{what}: {path} is gone")
            self.assertEqual(path.read_bytes(), content, f"{what}: {path}")

    def names_in(self, folder):
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    def commands(self, folder):
        """Every command that writes into a folder, and the exit codes where that is no run (65: what looks like a damaged one)."""
        return {"train": (self.training(folder, 4, *SAVES), [75]), "overwrite": (self.training(folder, 4, *SAVES, "--overwrite"), [75]),
                "resume": (self.resuming(folder, 6), [65, 66])}

    def each_draw(self, quick):
        count = 20 * quick if SWEEP else quick
        print(f"{self.id()}: {count} layouts, CHARGPT_SEED={SEED}")
        for number in range(count):
            self.mine = {}
            yield number, random.Random(f"{SEED} {self.id()} {number}"), f"CHARGPT_SEED={SEED}, layout {number}"

    def test_a_folder_that_is_no_run_is_refused_by_every_command_and_stays_as_it_is(self):
        for number, source, layout in self.each_draw(6):
            folder = self.folder / f"folder-{number}"
            self.draw(source, folder, NOBODYS + 2 * RUNS_NAMES)
            if not any(self.mine.values()):  # an interrupted start may leave nothing but empty files
                self.put(folder, "notes.txt", b"mine\n")
            before = self.names_in(folder)
            for command, (arguments, codes) in self.commands(folder).items():
                with self.subTest(layout, command=command):
                    outcome = self.run_program(*arguments)
                    self.assertIn(outcome.code, codes, outcome.err)
                    self.assert_untouched(f"{layout}, {command}")
                    self.assertEqual(self.names_in(folder), before)

    def test_a_run_is_gone_on_with_around_foreign_files_which_move_with_it(self):
        base, whole = self.whole_run("base", 4, *SAVES), self.whole_run("whole", 8, *SAVES)
        for number, source, layout in self.each_draw(6):
            run = self.copy(base, f"run-{number}")
            self.draw(source, run, NOBODYS)
            with self.subTest(layout):
                names = self.names_in(run)
                self.assertIn("is now", self.succeed(*self.training(run, 4, *SAVES, "--overwrite")).err)
                old = run.with_name(run.name + ".old-1")
                self.assertEqual(self.names_in(old), names)
                shutil.rmtree(run)
                old.rename(run)
                self.fail_with(75, *self.training(run, 4, *SAVES))
                self.assert_untouched(f"{layout}, train")
                self.succeed(*self.resuming(run, 6))
                self.assert_untouched(f"{layout}, resume")
                self.succeed(*self.resuming(run, 8))
                self.assert_untouched(f"{layout}, resume further")
                self.assertEqual(tensors(run, 8), tensors(whole, 8))
                self.assertEqual(rows(run), rows(whole))

    def test_nothing_is_followed_out_of_a_run_by_a_link(self):
        base = self.whole_run("base", 4, *SAVES)
        for number, source, layout in self.each_draw(4):
            run, outside = self.copy(base, f"run-{number}"), self.folder / f"outside-{number}"
            name = source.choice(LINKS)
            with self.subTest(layout, link=name):
                target = outside / source.choice(["there", ".x.tmp-1-2"])
                outside.mkdir()
                (run / name).rename(target) if (run / name).exists() else target.write_text("elsewhere")
                (run / name).symlink_to(target)
                self.mine = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
                for command, (arguments, _) in self.commands(run).items():
                    if command == "overwrite":
                        continue  # the link moves with the run
                    outcome = self.run_program(*arguments)
                    self.assertEqual(outcome.code, 75, f"{layout}, {command}: {outcome.err}")
                    self.assert_untouched(f"{layout}, {command}")
                    self.assertTrue((run / name).is_symlink())
                (run / name).unlink()
                target.rename(run / name)
                self.succeed(*self.resuming(run, 6))

    def comparison(self, out):
        return ["compare", "nanogpt-cpu", "--seeds", "1", "--out", out, *self.training("unused", 4, *SAVES)[4:]]

    def test_a_comparison_refuses_folders_of_others_and_goes_on_around_foreign_files(self):
        for number, source, layout in self.each_draw(3):
            out = self.folder / f"out-{number}"
            run = out / "nanogpt-cpu-seed1337"
            with self.subTest(layout):
                self.draw(source, run, NOBODYS + RUNS_NAMES)
                self.put(out, "thesis.txt", b"years of work")
                self.fail_with(75, *self.comparison(out))
                self.assert_untouched(layout)
                shutil.rmtree(run)
                self.mine = {}
                self.succeed(*self.comparison(out))
                self.draw(source, run, NOBODYS)
                self.succeed(*self.comparison(out))
                self.assert_untouched(layout)
