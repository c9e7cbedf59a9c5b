"""Sampling with trained runs, comparing, tuning and measuring."""

import fcntl
import json
import resource
import signal
import subprocess

from program import PROGRAM, QUICK, SAMPLE_TEXT, SMALL, ProgramTest, UsingTest, last_wins


class SampleTest(UsingTest):
    def sample(self, *arguments, **keywords):
        return self.succeed("sample", self.run_folder, "--quiet", *arguments, **keywords).out

    def test_prints_the_prompt_and_its_continuation(self):
        out = self.sample("--prompt", "The ", "--tokens", "30")
        self.assertTrue(out.startswith("The "))
        self.assertEqual(len(out), 4 + 30 + 1)

    def test_the_same_seed_prints_the_same_bytes_and_another_does_not(self):
        one, same, other = (self.sample("--prompt", "The ", "--tokens", "60", "--seed", seed) for seed in ("5", "5", "6"))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_several_samples_stand_apart_and_do_not_depend_on_their_number(self):
        one = self.sample("--prompt", "The ", "--tokens", "30")
        parts = self.sample("--prompt", "The ", "--tokens", "30", "--num-samples", "4").split("\n---\n")
        self.assertEqual(len(parts), 4)
        self.assertEqual(parts[0] + "\n", one)
        self.assertEqual(len(set(parts)), 4)

    def test_temperature_zero_is_greedy(self):
        self.assertEqual(self.sample("--prompt", "The ", "--tokens", "30", "--temperature", "0"),
                         self.sample("--prompt", "The ", "--tokens", "30", "--greedy", "--seed", "99"))

    def test_a_context_slides_where_positions_are_told_apart_by_distance(self):
        self.assertIn("position rope or none", self.fail_with(2, "sample", self.run_folder, "--context", "slide"))
        self.train("rope", "nanogpt-cpu", 5, *SMALL, "--position", "rope")
        sample = ["sample", self.folder / "rope", "--greedy", "--tokens", "60"]
        self.assertEqual(self.succeed(*sample).out, self.succeed(*sample, "--context", "slide").out)

    def test_a_prompt_is_given_once(self):
        self.write("prompt.txt", "The")
        for twice in (["-", "--prompt", "a"], ["-", "--prompt-file", "prompt.txt"], ["--prompt", "a", "--prompt-file", "prompt.txt"]):
            self.assertIn("a prompt is given twice", self.fail_with(2, "sample", self.run_folder, *twice))

    def test_greedy_contradicts_a_temperature_and_says_what_changes_nothing(self):
        self.assertEqual(self.fail_with(2, "sample", self.run_folder, "--greedy", "--temperature", "0.5"),
                         "--greedy is --temperature 0, and --temperature 0.5 is given too; give one")
        self.succeed("sample", self.run_folder, "--greedy", "--temperature", "0", "--tokens", "3")
        err = self.succeed("sample", self.run_folder, "--greedy", "--top-k", "3", "--seed", "4", "--num-samples", "2", "--tokens", "3").err
        self.assertIn("(temperature 0): --top_k and --seed have no effect", err)
        self.assertIn("all 2 samples are alike", err)
        self.assertEqual(self.succeed("sample", self.run_folder, "--greedy", "--tokens", "3").err, "chargpt: checkpoint: step 40, the best and the last\n")

    def test_the_beginning_of_an_option_is_told_its_end(self):
        self.assertIn("unknown option --temp; did you mean --temperature?", self.fail_with(2, "sample", self.run_folder, "--temp", "0.5"))

    def test_the_folder_of_a_checkpoint_says_which_one(self):
        checkpoint = self.run_folder / "checkpoints/step-00000040"
        for name in ("sample", "eval", "inspect", "resume"):
            self.assertIn("is one checkpoint, and --checkpoint last is given too", self.fail_with(2, name, checkpoint, "--checkpoint", "last"))
        self.assertIn("is one checkpoint, and --at step-40 is given too", self.fail_with(2, "reproduce", checkpoint, "--at", "step-40"))
        self.succeed("sample", checkpoint, "--tokens", "3")

    def test_a_model_that_leaks_says_so(self):
        self.train("leaks", "ladder/average", 3)
        self.assertIn("this model leaks", self.succeed("sample", "leaks", "--tokens", "3").err)
        self.assertEqual(self.succeed("sample", "leaks", "--tokens", "3", "--quiet").err, "")

    def test_prompts_from_file_and_standard_input(self):
        self.write("prompt.txt", "The\n")
        by_file = self.sample("--prompt-file", "prompt.txt", "--tokens", "20")
        self.assertEqual(by_file, self.sample("-", "--tokens", "20", stdin=b"The\n"))
        self.assertTrue(by_file.startswith("The\n"))

    def test_a_stop_string_ends_the_sample_and_is_not_printed(self):
        whole = self.sample("--prompt", "The ", "--tokens", "200")[:-1]
        stop = whole[60:63]
        self.assertEqual(self.sample("--prompt", "The ", "--tokens", "200", "--stop", stop)[:-1], "The " + whole[4:].split(stop)[0])

    def test_escapes_of_a_stop_string_are_what_they_stand_for(self):
        whole = self.sample("--prompt", "The ", "--tokens", "400", "--seed", "2")[:-1]
        self.assertIn("\n", whole)
        self.assertEqual(self.sample("--prompt", "The ", "--tokens", "400", "--seed", "2", "--stop", r"\n")[:-1], whole.split("\n")[0])
        self.train("tabs", "ladder/bigram", 3, text="a\tb\\c\n" * 99)
        for stop, at in ((r"\t", "\t"), (r"\\", "\\")):
            whole = self.succeed("sample", "tabs", "--prompt", "a", "--tokens", "90", "--quiet").out[:-1]
            self.assertIn(at, whole)
            self.assertEqual(self.succeed("sample", "tabs", "--prompt", "a", "--tokens", "90", "--stop", stop, "--quiet").out[:-1], whole.split(at)[0])
        for wrong in (r"\x", "a\\"):
            self.assertIn(r"a backslash begins \n, \t or \\", self.fail_with(2, "sample", self.run_folder, "--stop", wrong))
        self.assertIn("would end every sample at once", self.fail_with(2, "sample", self.run_folder, "--stop", ""))
        self.assertIn(r"\n is a newline", " ".join(self.succeed("sample", "--help").out.split()))

    def test_json_is_one_object_a_line(self):
        lines = self.sample("--prompt", "The ", "--tokens", "20", "--num-samples", "2", "--json").splitlines()
        self.assertEqual([json.loads(line)["tokens"] for line in lines], [20, 20])
        self.assertEqual(json.loads(lines[0])["prompt"], "The ")

    def test_a_prompt_with_unknown_characters_names_them(self):
        error = self.fail_with(65, "sample", self.run_folder, "--prompt", "The ☺ é")
        self.assertEqual(error, "--prompt has 2 characters that the model has never seen: '☺' (U+263A) at 4, 'é' (U+00E9) at 6; "
                                "leave them out, or --unknown skip")
        self.assertTrue(self.sample("--prompt", "The☺", "--unknown", "skip", "--tokens", "5").startswith("The"))

    def test_what_becomes_of_unknown_characters_is_said(self):
        for policy, said in [("skip", "they are left out"), ("replace", "each is read as '?' (U+003F)")]:
            outcome = self.succeed("sample", self.run_folder, "--prompt", "a\u263ab\u263a", "--unknown", policy, "--tokens", "3")
            self.assertIn(f"'\u263a' (U+263A) at 1 (2 times); {said}", outcome.err)

    def test_a_prompt_longer_than_the_context_is_cropped_with_a_notice(self):
        outcome = self.succeed("sample", self.run_folder, "--prompt", "The " * 30, "--tokens", "5")
        self.assertIn("only the last 16 are used", outcome.err)
        self.assertTrue(outcome.out.startswith("The " * 30))

    def test_a_closed_pipe_ends_quietly(self):
        process = subprocess.run(f"'{PROGRAM}' sample '{self.run_folder}' --tokens 20000 --quiet | head -c 10", shell=True,
                                 capture_output=True, check=False)
        self.assertEqual((len(process.stdout), process.stderr), (10, b""))

    def test_a_full_device_is_an_input_output_error(self):
        process = subprocess.run(f"'{PROGRAM}' sample '{self.run_folder}' --tokens 50 --quiet > /dev/full", shell=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(process.returncode, 74, process.stderr)

    def test_sampling_needs_no_text_file(self):
        self.train("r", "ladder/bigram", 3, text="some words of my own that will be gone soon. " * 100)
        (self.folder / "r.txt").unlink()
        self.succeed("sample", "r", "--tokens", "10")

    def test_a_byte_model_prints_whole_characters(self):
        self.train("r", "ladder/bigram", 30, "--units", "bytes", text="μῆνιν ἄειδε θεὰ " * 200)
        self.assertTrue(self.succeed("sample", "r", "--prompt", "μ", "--tokens", "40", "--quiet").out.startswith("μ"))


class CompareTest(ProgramTest):
    def test_ranks_configs_over_seeds_with_paired_statistics(self):
        self.write("small.json", {"extends": "ladder/bigram", "model": {"n_embd": 4}})
        outcome = self.succeed("compare", "ladder/bigram", "small.json", "--seeds", "2", "--max-iters", "30", "--out", "out", *QUICK, "--json")
        results = outcome.json["results"]
        self.assertEqual([row["rank"] for row in results], [1, 2])
        self.assertLessEqual(results[0]["mean"], results[1]["mean"])
        for row in results:
            self.assertEqual(len(row["seeds"]), 2)
            for key in ("config", "params", "mean", "ci95", "versus_best"):
                self.assertIn(key, row)
            self.assertLess(row["ci95"][0], row["mean"])
            self.assertEqual({seed["scored"] for seed in row["seeds"]}, {"end"})
        self.assertLess(results[1]["versus_best"]["ci95"][0], results[1]["versus_best"]["difference"])
        self.assertEqual(self.json_of("out/compare.json")["results"], results)

    def test_needs_a_config(self):
        self.fail_with(2, "compare")

    def test_several_at_once_give_the_losses_of_one_after_the_other(self):
        command = ["compare", "ladder/bigram", "ladder/masked", "--seeds", "2", "--max-iters", "20", *QUICK, "--json"]
        alone = self.succeed(*command, "--out", "alone").json
        at_once = self.succeed(*command, "--out", "out", "--jobs", "3", "--learning_rate", "1e-3")
        for one, other in zip(alone["results"], at_once.json["results"]):
            self.assertEqual((one["config"], one["mean"], one["ci95"]), (other["config"], other["mean"], other["ci95"]))
            self.assertEqual([run["jobs"] for run in other["seeds"]], [3, 3])
        self.assertIn("run 4 of 4: ladder/masked, seed 1338", at_once.err)
        self.assertIn("* up to 3 trainings shared the machine", at_once.err)
        few = self.json("compare", "ladder/bigram", "--seeds", "2", "--max-iters", "2", *QUICK, "--out", "few", "--jobs", "9")
        self.assertEqual([run["jobs"] for run in few["results"][0]["seeds"]], [2, 2])  # as many as share the threads

    def test_the_seconds_of_a_run_are_those_of_all_of_it(self):
        self.train("other", "ladder/bigram", 2)
        self.train("run", "ladder/bigram", 20, "--learning_rate", "0.05", "--keep", "9")
        self.succeed("resume", "run", "--max_iters", "30", "--learning_rate", "50", "--quiet")  # its best checkpoint is not its last
        best, last = (self.json("inspect", "run", "--checkpoint", which) for which in ("best", "last"))
        rows = self.json("compare", "run", "other")["results"]
        compared, = [seed for row in rows for seed in row["seeds"] if seed["run"] == "run"]
        self.assertLess(best["step"], 30)
        self.assertEqual((compared["step"], compared["seconds"]), (best["step"], last["seconds"]))

    def test_later_seeds_make_as_many_steps_as_the_first_made_in_its_seconds(self):
        command = last_wins(["compare", "ladder/bigram", "--seeds", "2", "--max_seconds", "1", "--out", "out", *QUICK, "--eval_interval", "1000"])
        first, second = self.json(*command)["results"][0]["seeds"]
        self.assertEqual(first["updates"], second["updates"])

    def test_several_at_once_exclude_seconds(self):
        error = self.fail_with(2, "compare", "ladder/bigram", "--max_seconds", "3", "--jobs", "2", "--text", SAMPLE_TEXT)
        self.assertIn("--jobs 2 excludes a length in seconds", error)

    def test_a_failing_run_among_several_is_named(self):
        limit = 20_000  # bytes of a file: less than a checkpoint's weights
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        error = self.fail_with(74, "compare", "ladder/bigram", "--seeds", "2", "--max-iters", "3", "--jobs", "2", "--out", "out", *QUICK)
        self.assertRegex(error, "ladder/bigram with seed 133[78]: ")

    def test_stopped_among_several_at_once_each_saves_and_the_same_command_goes_on(self):
        command = last_wins(["compare", "ladder/bigram", "--seeds", "2", "--max-iters", "4000", "--jobs", "2", "--out", "out", *QUICK,
                             "--eval_interval", "100"])
        process = self.started(*command)
        runs = [self.folder / f"out/ladder-bigram-seed{seed}" for seed in (1337, 1338)]
        self.wait_for(lambda: all(map(self.last_step, runs)))
        self.assertIn("stopped; to continue, give the same command with --out out", self.ended_by(process, signal.SIGINT))
        for run in runs:
            with open(run / ".lock", "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its process has ended
        stopped_at = [self.last_step(run) for run in runs]
        self.assertEqual(len(self.json(*command)["results"][0]["seeds"]), 2)
        for run, step in zip(runs, stopped_at):
            self.assertGreater(step, 0)
            self.assertEqual(self.last_step(run), 4000)


class TuneTest(ProgramTest):
    def test_leaves_a_config_that_trains_and_a_table(self):
        self.write("slow.json", {"extends": "ladder/masked", "train": {"learning_rate": 1e-6, "max_iters": 200}})
        outcome = self.succeed("tune", "slow.json", "--minutes", "0.1", "--out", "out", "--text", SAMPLE_TEXT, "--batch_size", "8",
                               "--threads", "1")
        self.assertIn("as it is", outcome.out)
        self.assertIn("the search did not use the validation split", outcome.out)
        found = self.json_of("out/tune.json")
        self.assertIn("held out", found["scored_on"])
        tuned = self.json("inspect", "out/tuned.json")["config"]
        self.assertEqual(tuned, found["best"]["config"])
        self.assertGreater(tuned["train"]["learning_rate"], 1e-6)
        self.succeed("train", "out/tuned.json", "--run", "r", "--max_iters", "3", "--quiet")


class LookTest(UsingTest):
    def test_inspect_verifies_nothing_that_has_no_manifest(self):
        self.write("t.txt", "abcabc")
        self.assertIn("--verify is for runs and checkpoints, and t.txt is a text", self.fail_with(2, "inspect", "t.txt", "--verify"))
        self.assertIn("--checkpoint is for runs and checkpoints, and quick is a config", self.fail_with(2, "inspect", "quick", "--checkpoint", "best"))

    def test_bench_train_reports_milliseconds(self):
        figures = self.json("bench", "train", "nanogpt-cpu", *SMALL, "--text", SAMPLE_TEXT, "--warmup", "2", "--steps", "5", "--batch_size", "4",
                            "--gradient_accumulation_steps", "3")
        self.assertGreater(figures["ms_per_step"]["median"], 0)
        self.assertAlmostEqual(figures["tokens_per_second"] * figures["ms_per_step"]["median"] / 1000, 3 * 4 * 16)
        self.assertAlmostEqual(figures["gflops"], figures["gflop_per_step"] / figures["ms_per_step"]["median"] * 1e3, places=6)
        self.assertAlmostEqual(figures["fraction_of_peak"], figures["gflops"] / figures["peak_gflops"])

    def test_bench_train_measures_several_counts_of_threads_in_turns(self):
        command = ["bench", "train", "nanogpt-cpu", *SMALL, "--text", SAMPLE_TEXT, "--warmup", "1", "--steps", "5", "--batch_size", "4"]
        figures = self.json(*command, "--threads", "1,2")
        self.assertEqual([(each["threads"], each["steps"]) for each in figures["by_threads"]], [(1, 5), (2, 5)])
        one, two = (each["ms_per_step"]["median"] for each in figures["by_threads"])
        self.assertAlmostEqual(figures["unshared_ms"], min(max(2 * two - one, 0), one))
        paper = {each["threads"]: each["ms_per_step"] for each in figures["on_paper"]}
        self.assertEqual(paper[4], paper[16])  # there are four windows
        self.assertAlmostEqual(paper[4], figures["unshared_ms"] + (one - figures["unshared_ms"]) / 4)
        said = self.succeed(*command, "--threads", "1,2").out
        self.assertIn("nanogpt-cpu, measured in turns:", said)
        self.assertIn("ms of a step do not run in parallel", said)
        for wrong in ("1,", "two", "1,-1", "1025"):
            self.assertIn("--threads: '%s' is not a number from 0 to 1024" % wrong, self.fail_with(2, *command, "--threads=" + wrong))
        self.assertIn("several --threads are measured with the cpu engine", self.fail_with(2, *command, "--threads", "1,2", "--engine", "libtorch"))
        self.assertIn("give bench sample one", self.fail_with(2, "bench", "sample", self.run_folder, "--threads", "0,1024"))

    def test_bench_sample_measures_a_run(self):
        figures = self.json("bench", "sample", self.run_folder, "--batch", "3", "--tokens", "40", "--repeats", "1")
        self.assertEqual((figures["batch"], figures["tokens"]), (3, 40))
        self.assertGreater(figures["tokens_per_second"], 0)
        self.assertGreater(figures["first_token_from_process_start_ms"], figures["first_token_ms"])
        within = figures["block_size"]
        self.assertLess(within, 40)
        parts = [figures["first_token_ms"] / 1e3, 3 * (within - 1) / figures["tokens_per_second_within_block"],
                 3 * (40 - within) / figures["tokens_per_second_past_block"]]
        self.assertGreater(min(parts), 0)
        self.assertLessEqual(sum(parts), 3 * 40 / figures["tokens_per_second"] * (1 + 1e-9))  # parts of one and the same time
        for tokens in (16, 17):  # the context is 16: before the last of 16 stand the start symbol and 15
            short = self.json("bench", "sample", self.run_folder, "--tokens", tokens, "--repeats", "1")
            self.assertEqual("tokens_per_second_past_block" in short, tokens > 16)
        alone = self.json("bench", "sample", self.run_folder, "--tokens", "1", "--repeats", "1")
        self.assertNotIn("tokens_per_second_within_block", alone)  # the first has a figure of its own
        for words, option in ((["bench", "sample", self.run_folder, "--n_layer", "9"], "--n_layer: model.n_layer = 9"),
                              (["sample", self.run_folder, "--set", "max_iters=7"], "--set: max_iters = 7")):
            self.assertEqual(self.fail_with(2, *words), option + " has no effect on a trained model; leave it out")
        self.assertEqual(self.fail_with(2, "bench", "sample", "nanogpt-cpu"),
                         "bench sample measures a trained model; give a run's folder in place of 'nanogpt-cpu'")

    def test_doctor_says_what_it_found(self):
        figures = self.json("doctor")
        for key in ("libtorch", "device", "threads", "cpu_capability", "memory"):
            self.assertIn(key, figures)
        self.assertEqual(any("less than 1 GB of memory" in line for line in figures["advice"]), figures["memory_free"] < 1 << 30)
        for threads in (figures["processors"], figures["processors"] + 1):
            advice = self.json("doctor", "--threads", threads)["advice"]
            self.assertEqual(any("more threads than processors" in line for line in advice), threads > figures["processors"])
