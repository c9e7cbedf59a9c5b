"""Files that no run wrote, anywhere in a folder and in every layout: whatever command meets them, they are the same afterwards.

The layouts are drawn anew each time; CHARGPT_SEED=N draws those of seed N again. CHARGPT_SWEEP=1: many more of them.
"""

import random
import shutil

from harness import SAVES, SEED, SWEEP, FaultTest, drawn, rows, tensors

NOBODYS = [  # names that no run writes
    "report.html", "notes.txt", ".notes", ".letter.tmp-1-2", "config.json~", "events.out.tfevents.1700000000.host.4711.0", "photos/1.jpg",
    "lost/found/2.jpg", "samples/recording.wav", "samples/step-2.txt", "samples/.letter.tmp-1-2", "samples/deep/step-00000002.txt",
    "checkpoints/mine.pt", "checkpoints/.mine.tmp-backup/model.safetensors", "checkpoints/.LATEST.tmp-old", "checkpoints/step-2/model.safetensors",
    "checkpoints/.tmp-mine/x", "checkpoints/.tmp-step-00000002/notes.txt", "checkpoints/.tmp-step-00000006/notes.txt",
    "checkpoints/.tmp-step-00000008/notes/1.txt",
    "checkpoints/.old-step-00000004/notes.txt", "checkpoints/step-00000002/notes.txt", "checkpoints/step-00000004/model.pt",
    "checkpoints/step-00000006/notes/1.txt", "checkpoints/step-00000008/notes.txt"]
RUNS_NAMES = [  # names that runs write, in a folder that is none
    "adapt.json", "config.json", "metrics.jsonl", "figures.json", "run.json", ".lock", ".config.json.tmp-1-2", "events.out.tfevents.1700000000.host",
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
        short = [*self.training("unused", 4, *SAVES)[4:]]
        return {"train": (self.training(folder, 4, *SAVES), [75]), "overwrite": (self.training(folder, 4, *SAVES, "--overwrite"), [75]),
                "resume": (self.resuming(folder, 6), [65, 66]),
                "tune": (["tune", "nanogpt-cpu", "--minutes", "0.01", "--out", folder, *short], [75])}

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
                self.succeed(*self.resuming(run, 6, "--checkpoint", source.choice(["step-4", "step-6"])))
                self.assert_untouched(f"{layout}, resume from before")
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

    def test_a_checkpoint_that_was_moved_elsewhere_and_linked_is_neither_read_nor_written_to(self):
        run, archive = self.whole_run("run", 4, *SAVES), self.folder / "archive"
        (run / "checkpoints/step-00000002").rename(archive)
        (run / "checkpoints/step-00000002").symlink_to(archive)
        self.mine = {path: path.read_bytes() for path in archive.iterdir()}
        self.assertIn("is a symbolic link", self.fail_with(65, "sample", "run", "--checkpoint", "step-2", "--tokens", "5"))
        self.succeed("sample", archive, "--tokens", "5")  # where it is
        error = self.fail_with(75, *self.resuming("run", 8))
        self.assertIn("run holds something else where a run's own files go (checkpoints/step-00000002): a symbolic link", error)
        self.assert_untouched("archive")
        self.assertTrue((run / "checkpoints/step-00000002").is_symlink())

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

    def test_a_comparison_replaces_only_its_own_results(self):
        self.mine = {}
        out = self.folder / "out"
        for content in (b"", b"mine", b"[]", b'{"rank": 1}'):
            self.put(out, "compare.json", content)
            self.assertEqual(self.fail_with(75, *self.comparison("out")),
                             "out/compare.json was not written by a comparison; choose another folder with --out DIR")
            self.assert_untouched("compare.json")
        (out / "compare.json").unlink()
        self.succeed(*self.comparison("out"))
        self.succeed(*self.comparison("out"))

    def test_a_comparison_and_the_like_do_not_go_into_a_run(self):
        self.whole_run("run", 2, *SAVES)
        self.assertEqual(self.fail_with(75, *self.comparison("run")), "run holds a run; choose another folder with --out DIR")

    def test_the_files_of_a_home_folder_are_named_and_not_one_is_touched(self):
        self.mine = {}
        for name in ("metrics.jsonl", "report.html", "samples/recording.wav", "thesis.tex"):
            self.put(self.folder / "home", name, b"mine")
        for more in ([], ["--overwrite"]):
            self.assertEqual(self.fail_with(75, *self.training("home", 2, *more)),
                             "home holds files that no run wrote (metrics.jsonl, report.html, samples and 1 more); choose another folder with "
                             "--run DIR")
        self.assert_untouched("home")
        self.assertEqual(len(self.names_in(self.folder / "home")), 5)

    def test_a_run_of_an_earlier_version_is_known_by_its_checkpoint_and_marked_when_it_goes_on(self):
        run = self.whole_run("run", 2, *SAVES)
        (run / "run.json").unlink()
        self.assertEqual(self.fail_with(75, *self.training("run", 2)),
                         "run already holds a run: go on with `chargpt resume run`, choose another folder with --run DIR, or start over "
                         "with --overwrite")
        self.assertEqual([row["run"] for row in self.json("runs", ".")], ["run"])
        self.succeed(*self.resuming("run", 4))
        self.assertEqual((run / "run.json").read_text(), '{"format": "chargpt run", "version": 1}\n')
        (run / "run.json").unlink()
        self.succeed(*self.training("run", 2, "--overwrite"))
        self.assertFalse((run / "checkpoints/step-00000004").exists())
        self.assertTrue((run / "run.json").exists())

    def test_a_folder_with_a_foreign_config_or_checkpoint_is_no_run(self):
        self.mine = {}
        self.put(self.folder / "a", "config.json", b"{}")
        self.put(self.folder / "b", "checkpoints/mine.pt", b"weights")
        self.put(self.folder / "c", "checkpoints/step-00000002/MANIFEST.json", b'{"format": "chargpt checkpoint", "version": 1, "files": {}}')
        for name in "abc":
            self.assertIn("holds files that no run wrote", self.fail_with(75, *self.training(name, 2, "--overwrite")))
        self.assertEqual(self.json("runs", "."), [])
        self.assert_untouched("no run")


class CrashTest(FaultTest):
    def test_a_start_that_is_killed_anywhere_can_be_made_again(self):
        """Refused at most for a run that ended before it saved, and never once it is to be overwritten."""
        training = self.training("run", 2, *SAVES)
        run = self.folder / "run"
        self.spoiled(training, run, "change")
        operations = [operation for operation in self.operations() if operation.number]
        before_training = next(i for i, operation in enumerate(operations) if "metrics.jsonl" in operation.path)
        self.assertGreater(before_training, 5)
        places = range(1, before_training + 10)
        places = places if SWEEP else sorted(drawn(self.id()).sample(places, 5)) + [before_training]
        print(f"{self.id()}: killed before operations {[*places]} of {len(operations)}")
        marked = 0
        for at in places:
            with self.subTest(at=at, operation=operations[at - 1]):
                shutil.rmtree(run)
                self.assertEqual(self.spoiled(training, run, "change", at, "kill").code, -9)
                again = self.run_program(*training)
                if again.code != 0:
                    marked += 1
                    self.assertEqual(self.error_of(again, 75), "run already holds a run, which ended before it saved a checkpoint: choose "
                                                               "another folder with --run DIR, or start over with --overwrite")
                    self.succeed(*training, "--overwrite")
        self.assertGreater(marked, 0)

    def test_a_mark_that_cannot_be_written_leaves_nothing(self):
        run = self.folder / "run"
        self.spoiled(self.training("run", 2, *SAVES), run, "change")
        places = [operation.number for operation in self.operations() if "run.json" in operation.path]
        self.assertGreaterEqual(len(places), 4)  # opened, written, waited for, renamed
        shutil.rmtree(run)
        for at in [*places, places[-1] + 1]:  # the last: the folder is waited for
            with self.subTest(at=at):
                outcome = self.spoiled(self.training("run", 2, *SAVES), run, "change", at, "once", 28)
                if outcome.code != 0:
                    self.assertEqual(outcome.code, 74, outcome.err)
                    self.assertFalse(run.exists(), outcome.err)
                shutil.rmtree(run, ignore_errors=True)
