"""Sampling, evaluating and comparing with trained runs."""

import fcntl
import json
import math
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile

from program import PROGRAM, QUICK, SAMPLE_TEXT, SMALL, TEXT, ProgramTest, last_wins, metrics, rewrite, safetensors


def poison(checkpoint):
    """Every weight becomes NaN, and the manifest says so."""
    data = bytearray((checkpoint / "model.safetensors").read_bytes())
    _, begin = safetensors(data)
    data[begin:] = struct.pack("<f", math.nan) * ((len(data) - begin) // 4)
    rewrite(checkpoint, "model.safetensors", data)


class UsingTest(ProgramTest):
    """Shares one small trained run."""

    @classmethod
    def setUpClass(cls):
        shared = pathlib.Path(tempfile.mkdtemp(prefix="chargpt-test-"))
        cls.addClassCleanup(shutil.rmtree, shared, ignore_errors=True)
        cls.run_folder = shared / "r"
        subprocess.run([PROGRAM, "train", "nanogpt-cpu", "--run", cls.run_folder, "--max_iters", "40", *SMALL, *QUICK, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)

    def sample(self, *arguments, **keywords):
        return self.succeed("sample", self.run_folder, "--quiet", *arguments, **keywords).out


class SampleTest(UsingTest):
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
        err = self.succeed("sample", self.run_folder, "--greedy", "--top-k", "3", "--seed", "4", "--num-samples", "2", "--tokens", "3").err
        self.assertIn("(temperature 0): --top_k and --seed have no effect", err)
        self.assertIn("all 2 samples are alike", err)
        self.assertEqual(self.succeed("sample", self.run_folder, "--greedy", "--tokens", "3").err, "chargpt: checkpoint: step 40, the best and the last\n")

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


class EvalTest(UsingTest):
    def test_json_has_every_figure_of_the_contract(self):
        figures = self.json("eval", self.run_folder)
        self.assertAlmostEqual(figures["bits_per_char"], figures["loss"] / math.log(2), places=9)
        self.assertAlmostEqual(figures["perplexity"], math.exp(figures["loss"]), places=6)
        self.assertEqual(len(figures["tenths"]), 10)
        self.assertAlmostEqual(sum(figures["tenths"]) / 10, figures["loss"], places=2)  # tenths differ by a character at most
        shown = self.succeed("eval", self.run_folder).out
        self.assertRegex(shown, r"by tenths of the text: [▁▂▃▄▅▆▇█]{10} from \d\.\d{4} to \d\.\d{4} nats\s+per character")
        self.assertIn(f"from {min(figures['tenths']):.4f} to {max(figures['tenths']):.4f} nats", shown)
        self.assertEqual(figures["tokens"], len(TEXT) - int(0.9 * len(TEXT)) - 1)
        self.assertEqual((figures["split"], figures["block_size"]), ("val", 16))
        self.assertIn("step", figures["checkpoint"])
        self.assertAlmostEqual(figures["baselines"]["uniform"], math.log(len(set(TEXT))), places=6)
        for key in ("unigram", "bigram", "trigram", "gzip", "xz"):
            self.assertGreater(figures["baselines"][key], 0)
        self.assertIn(figures["baselines"]["ngram"]["order"], range(1, 9))

    def test_a_given_text_is_scored_whole(self):
        figures = self.json("eval", self.run_folder, "--text", self.write("other.txt", "The same letters, another text. "))
        self.assertEqual((figures["split"], figures["tokens"]), ("all", 31))

    def test_unknown_characters_of_a_text_are_left_out_or_replaced(self):
        known, text = "It is the letter of the law. " * 20, "It is\u263a the let\u263ater of the law. " * 20
        self.write("known.txt", known)
        self.write("text.txt", text)
        self.write("replaced.txt", text.replace("\u263a", "?"))
        self.assertIn("--unknown", self.succeed("eval", "--help").out)
        refused = self.fail_with(65, "eval", self.run_folder, "--text", "text.txt")
        self.assertRegex(refused, "never seen: '\u263a' .* leave them out, or --unknown skip$")
        for policy, same in [("skip", "known.txt"), ("replace", "replaced.txt")]:
            ours = self.succeed("eval", self.run_folder, "--text", "text.txt", "--unknown", policy, "--json")
            self.assertIn("(40 times)", ours.err)
            self.assertEqual(ours.json["loss"], self.json("eval", self.run_folder, "--text", same)["loss"])
        self.write("foreign.txt", "\u263a\u263b" * 50)
        self.assertIn("no character that the model knows", self.fail_with(65, "eval", self.run_folder, "--text", "foreign.txt", "--unknown", "skip"))

    def test_evaluation_has_no_randomness(self):
        one, other = ({key: value for key, value in self.json("eval", self.run_folder).items()
                       if key not in ("seconds", "tokens_per_second")} for _ in range(2))
        self.assertEqual(one, other)

    def test_overlapping_windows_score_each_character_once(self):
        whole = self.json("eval", self.run_folder)
        self.assertEqual(whole["tokens"], self.json("eval", self.run_folder, "--stride", "4")["tokens"])


class NothingCountedOnWhatIsScoredTest(UsingTest):
    """A model of data/sample.txt on texts that it was trained on, in part or whole."""

    TRAIN_TEXT = TEXT[:int(0.9 * len(TEXT))]

    def assert_nothing_counted(self, *arguments):
        outcome = self.succeed("eval", self.run_folder, *arguments)
        for claim in ("counted unigrams", "xz", "beat"):
            self.assertNotIn(claim, outcome.out)
        self.assertIn("No counted baselines: scored text is not counted", outcome.out)
        figures = self.json("eval", self.run_folder, *arguments)
        self.assertEqual(set(figures["baselines"]), {"uniform", "gzip", "classes", "counted_tokens", "left_out_tokens", "measured_tokens"})
        self.assertEqual(figures["baselines"]["classes"], {"frozen": ["uniform"], "adaptive": ["gzip"]})
        self.assertEqual(figures["verdict"], [])
        self.assertEqual((figures["baselines"]["counted_tokens"], figures["baselines"]["left_out_tokens"]), (0, len(self.TRAIN_TEXT)))
        return outcome.out, figures

    def test_the_train_split_and_the_whole_text_have_no_counted_baseline(self):
        out, figures = self.assert_nothing_counted("--split", "train")
        self.assertIn("100 % of this text also appears in the training text", out)
        self.assertEqual(figures["part_in_training_text"], 1)
        out, figures = self.assert_nothing_counted("--split", "all")
        self.assertIn("90 % of this text also appears in the training text", out)
        self.assertAlmostEqual(figures["part_in_training_text"], 0.9, delta=0.01)

    def test_the_training_text_under_another_name_is_the_same_text(self):
        self.write("copy.txt", TEXT)
        out, _ = self.assert_nothing_counted("--text", "copy.txt")
        self.assertEqual(out, self.succeed("eval", self.run_folder, "--split", "all").out)

    def test_what_of_another_text_stands_in_the_training_text_is_told_and_not_counted(self):
        part = self.TRAIN_TEXT[3000:8000]
        self.write("mixed.txt", TEXT[-2500:] + part)
        out = self.succeed("eval", self.run_folder, "--text", "mixed.txt").out
        self.assertIn("67 % of this text also appears in the training text (in stretches of 64 characters or more)", out)
        self.assertIn("that are also scored.", out)
        self.assertIn("xz, knowing what is counted", out)
        self.assertNotIn("beat", out)
        figures = self.json("eval", self.run_folder, "--text", "mixed.txt")
        self.assertAlmostEqual(figures["part_in_training_text"], 2 / 3, delta=0.005)
        baselines = figures["baselines"]
        self.assertEqual(baselines["counted_tokens"] + baselines["left_out_tokens"], len(self.TRAIN_TEXT))
        self.assertAlmostEqual(baselines["left_out_tokens"], len(part), delta=10)
        self.assertGreater(baselines["ngram"]["loss"], 1.5)  # 0.6 where the part is counted
        self.assertGreater(baselines["xz"], 1.5)

    def test_the_validation_split_is_as_before(self):
        outcome = self.succeed("eval", self.run_folder)
        self.assertIn("xz, knowing the train split", outcome.out)
        self.assertNotIn("appears in", outcome.out)
        self.assertEqual(self.json("eval", self.run_folder)["part_in_training_text"], 0)


class WhatAFigureIsOfTest(ProgramTest):
    def test_a_part_of_what_is_held_out_is_called_a_part(self):
        self.train("r", "ladder/bigram", 3, "--max_val_tokens", "1000")
        held_out = len(TEXT) - int(0.9 * len(TEXT))
        outcome = self.succeed("eval", "r")
        self.assertIn(f"999 characters, each scored once, in windows of 8\nThey are only the first of {held_out:,} characters held out "
                      "(data.max_val_tokens).", outcome.out)
        self.assertEqual(self.json("eval", "r")["part"], {"tokens": 1000, "of": held_out})
        self.assertEqual(self.json_of("r/figures.json")["part"], {"tokens": 1000, "of": held_out})
        whole = self.succeed("eval", "r", "--split", "all", "--json")
        self.assertNotIn("part", whole.json)
        self.assertNotIn("max_val_tokens", whole.err)

    def test_overlap_is_named(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        out = self.succeed("eval", "r", "--stride", "4").out
        self.assertEqual(out.count("in windows of 16 that begin every 4"), 3)  # the model's loss, counting cut alike, and the verdict
        figures, apart = (self.json("eval", "r", "--stride", stride) for stride in ("4", "0"))
        self.assertEqual((figures["stride"], figures["units"]), (4, "characters"))
        self.assertLess(figures["baselines"]["ngram"]["loss_in_windows"], apart["baselines"]["ngram"]["loss_in_windows"])
        self.assertEqual(figures["baselines"]["ngram"]["loss"], apart["baselines"]["ngram"]["loss"])

    def test_bits_are_nats_by_the_logarithm_of_two(self):
        self.train("r", "ladder/bigram", 3)
        rows = re.findall(r"^ *(\S.*?) {2,}(\d+\.\d+) +(\d+\.\d+)$", self.succeed("eval", "r").out, re.MULTILINE)
        self.assertGreater(len(rows), 4)
        for name, nats, bits in rows:
            self.assertAlmostEqual(float(bits), float(nats) / math.log(2), delta=2e-4, msg=name)

    def test_a_byte_model_is_measured_in_bytes(self):
        self.train("r", "ladder/bigram", 3, "--units", "bytes")
        out = self.succeed("eval", "r").out
        self.assertIn("nats/byte  bits/byte", out)
        self.assertIn(" bytes, each scored once", out)
        self.assertNotIn("character", out)

    def test_the_bytes_of_a_character_are_shown_as_one(self):
        self.train("r", "ladder/bigram", 3, "--units", "bytes")
        self.write("text", "Πέτρος α < β".encode() + b"\xce")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", self.succeed("score", "r", "text", "--color", "always", "--html", "text.html").out)
        self.assertIn("Πέτρος α < β\\xce\n", shown)
        html = re.sub(r"</?b[^>]*>", "", (self.folder / "text.html").read_text(encoding="utf-8"))
        self.assertIn("Πέτρος α &lt; β\\xce</pre>", html)

    def test_weights_that_are_not_numbers_are_refused_by_every_command_that_reads_them(self):
        self.train("r", "nanogpt-cpu", 3, *SMALL)
        poison(self.folder / "r/checkpoints/step-00000003")
        for words in (["eval", "r"], ["sample", "r"], ["score", "r"], ["audit", "r"], ["attention", "r", "--prompt", "a"], ["explain", "r", "--prompt", "a"],
                      ["page", "r"], ["export", "r", "--format", "nanogpt", "--out", "x"], ["bench", "sample", "r"], ["resume", "r", "--max_iters", "9"],
                      ["train", "r/config.json", "--init_from", "r", "--run", "new"]):
            with self.subTest(words=words):
                outcome = self.run_program(*words)
                self.assertEqual(outcome.code, 80, outcome.err)
                self.assertRegex(outcome.error, r"r/checkpoints/step-00000003\S*: tensor (lm_head|transformer)\.\S+ holds NaN at place 0, so the model gives "
                                                r"no numbers; use another checkpoint")


class OneLossTest(ProgramTest):
    def test_a_checkpoint_of_a_bfloat16_run_has_the_loss_that_it_had_while_it_trained_by_either_engine(self):
        for run in ("auto", "libtorch"):
            self.succeed("train", "nanogpt-cpu", "--run", run, "--max_iters", "40", *SMALL, *QUICK, "--learning_rate", "0.03", "--dtype", "bfloat16",
                         "--engine", run, "--quiet")
            trained_by = metrics(self.folder / run)[0]["engine"]  # a processor without bfloat16 leaves both to LibTorch
            recorded = metrics(self.folder / run, "eval")[-1]["val_loss"]
            loss = self.json("eval", run, "--checkpoint", "last")["loss"]
            self.assertAlmostEqual(loss, recorded, delta=0 if trained_by == "cpu" else 1e-5)


class AveragedWeightsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.train("r", "ladder/bigram", 40, "--ema", "0.9", "--learning_rate", "0.05")

    def test_trained_and_averaged_weights_are_scored_apart_and_the_better_by_default(self):
        losses = {weights: self.json("eval", "r", "--checkpoint", "last", "--weights", weights)["loss"]
                  for weights in ("trained", "averaged", "better")}
        self.assertNotEqual(losses["trained"], losses["averaged"])
        self.assertEqual(losses["better"], min(losses["trained"], losses["averaged"]))
        last = metrics(self.folder / "r", "eval")[-1]
        self.assertAlmostEqual(last["val_loss"], losses["trained"], places=6)
        self.assertAlmostEqual(last["averaged_val_loss"], losses["averaged"], places=6)

    def test_the_choice_is_said_aloud(self):
        self.assertRegex(self.succeed("sample", "r", "--tokens", "3").err,
                         r"using the (averaged|trained) weights of step-0+\d+ \(validation loss: trained \d\.\d+, averaged \d\.\d+\)")
        self.assertIn("using the averaged weights", self.succeed("sample", "r", "--tokens", "3", "--weights", "averaged").err)

    def test_a_checkpoint_without_averaged_weights_says_so(self):
        self.train("plain", "ladder/bigram", 3)
        self.assertIn("has no averaged weights", self.fail_with(2, "eval", "plain", "--weights", "averaged"))
        self.assertNotIn("weights of", self.succeed("eval", "plain").err)

    def test_every_file_is_verified(self):
        averaged = self.folder / "r/checkpoints/step-00000040/averaged.safetensors"
        self.assertTrue(self.json("inspect", "r", "--verify")["verified"])
        data = bytearray(averaged.read_bytes())
        data[-1] ^= 1
        averaged.write_bytes(data)
        self.assertIn("averaged.safetensors", self.fail_with(65, "inspect", "r/checkpoints/step-00000040", "--verify"))


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
        self.assertIn("ms of a step are not shared out", said)
        for wrong in ("1,", "two", "1,-1", "1025"):
            self.assertIn("--threads: '%s' is not a number from 0 to 1024" % wrong, self.fail_with(2, *command, "--threads=" + wrong))
        self.assertIn("several --threads are measured with the cpu engine", self.fail_with(2, *command, "--threads", "1,2", "--engine", "libtorch"))
        self.assertIn("give bench sample one", self.fail_with(2, "bench", "sample", self.run_folder, "--threads", "1,2"))

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
