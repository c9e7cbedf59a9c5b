"""The module `chargpt` beside the command line of the same build: the same bits, sentences and codes; threads, forks, Ctrl-C."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODULE = SOURCE / "scripts/python"
PROGRAM = os.environ["CHARGPT"]
RUN = str(SOURCE / "tests/fixtures/run")
TEXT = str(SOURCE / "data/sample.txt")
SMALL = {"text": TEXT, "n_layer": 1, "n_embd": 16, "n_head": 2, "batch_size": 4, "tokens": 20, "threads": 1, "progress": False}
sys.path[:0] = [str(MODULE), str(SOURCE / "tests/cli")]
os.environ["PYTHONPATH"] = str(MODULE)
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts tests in the background has it ignored

import chargpt  # noqa: E402 (found by the lines above)
from chargpt import _program  # noqa: E402
from program import Terminal  # noqa: E402


def needs(package):
    """For a case that cannot run without the package."""
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not here")


def program(*words, stdin=None):
    return subprocess.run([PROGRAM, *map(str, words)], input=stdin, capture_output=True, text=True, timeout=100, check=False)


class ModuleTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)  # enterContext() is of Python 3.11, and wheels are for 3.9
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.model = chargpt.load(RUN)

    def refusal(self, call):
        with self.assertRaises(chargpt.Error) as caught:
            call()
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception), caught.exception.code

    def python(self, *words, timeout=100, **options):
        """What a script that succeeds writes."""
        process = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=timeout, check=False, **options)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return process.stdout

    def interrupted(self, code, say=b"begun\n"):
        """What a script writes to stderr that is interrupted once it has said so, and how many seconds it then takes."""
        process = subprocess.Popen([sys.executable, "-c", f"import chargpt\n{code}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while (line := process.stdout.readline()) not in (say, b""):
            pass
        self.assertEqual(line, say)
        time.sleep(0.2)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertIn(b"KeyboardInterrupt", err)
        self.assertEqual(process.returncode, -signal.SIGINT)
        return err.decode(), time.monotonic() - begin

    def test_it_writes_what_the_program_writes(self):
        whole = program("sample", RUN, "--prompt", "the ", "--tokens", 60, "--seed", 5, "--quiet").stdout
        pieces = list(self.model.generate("the ", tokens=60, seed=5))
        self.assertEqual("the " + "".join(pieces) + "\n", whole + ("" if whole.endswith("\n") else "\n"))
        self.assertGreater(len(pieces), 50)
        options = {"tokens": 40, "temperature": 0.7, "top_k": 9, "top_p": 0.9, "min_p": 0.01}
        self.assertEqual({*options, "num_samples"}, {*json.loads(program("configs", "--schema").stdout)["properties"]["sample"]["properties"]})
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        both = program("sample", RUN, "--prompt", "the ", *words, "--num-samples", 2, "--stop", "e", "--quiet").stdout
        ours = ["the " + "".join(self.model.generate("the ", **options, sample=sample, stop="e")) for sample in (0, 1)]
        self.assertEqual(both.rstrip("\n"), "\n---\n".join(ours))
        self.assertEqual(["the " + text for text in self.model.generate("the ", **options, stop="e", samples=2)], ours)
        self.assertEqual([*self.model.generate(tokens=5, sample=3, samples=9)][8], "".join(self.model.generate(tokens=5, sample=11)))

    @needs("numpy")
    def test_it_scores_what_the_program_scores(self):
        text = pathlib.Path(TEXT).read_text()[:500]
        scored = json.loads(program("score", RUN, "-", "--unknown", "skip", "--json", stdin=text).stdout)
        expected = scored["losses"]
        self.assertEqual(self.model.score(text, unknown="skip").tolist(), expected)
        self.assertEqual(self.model.score("").shape, (0,))
        for after, scored in (("the ", "end"), ("the end", ""), ("", "the")):
            self.assertEqual(self.model.score(scored, after=after).tolist(), self.model.score(after + scored).tolist()[max(0, len(after) - 1):])
        self.assertEqual(self.model.score("the ☺", unknown="skip").tolist(), self.model.score("the ").tolist())  # ☺ has three bytes

    @needs("numpy")
    def test_logits_are_those_of_each_place(self):
        logits = self.model.logits("of the ")
        self.assertEqual(logits.shape, (7, self.model.vocabulary_size))
        self.assertTrue((logits == self.model.logits(self.model.encode("of the "))).all())
        self.assertEqual(self.model.decode([logits[-1].argmax()]), "".join(self.model.generate("of the ", tokens=1, temperature=0)))
        self.assertLess(abs(self.model.logits("the ", after="of ") - logits[3:]).max(), 1e-5)
        import numpy
        losses = numpy.log(numpy.exp(logits).sum(1))[:-1] - logits[range(6), self.model.encode("f the ")]
        self.assertLess(abs(self.model.score("of the ") - losses).max(), 1e-5)
        for ids in (0.5, [0.5], [[1, 2]], None):
            with self.assertRaises(TypeError):
                self.model.logits(ids)
        for ids in ([], [-1], [self.model.vocabulary_size], [0] * (self.model.block_size + 1)):
            self.assertEqual(self.refusal(lambda ids=ids: self.model.logits(ids))[1], 2)

    @needs("numpy")
    def test_attention_and_figures_are_those_of_the_program(self):
        import numpy
        shown = json.loads(program("attention", RUN, "--prompt", "the end", "--json").stdout)
        self.assertEqual(self.model.attention("the end").tolist(), numpy.array(shown["attention_weights"], numpy.float32).tolist())
        run = chargpt.train(run="r", max_iters=2, **SMALL)
        for model, options in ((self.model, {"text": TEXT, "unknown": "skip"}), (run.load(), {"split": "train"}), (run.load(weights="trained"), {"counts": True})):
            words = [f"--{name}" if value is True else f"--{name}={value}" for name, value in options.items()]
            self.assertEqual(model.evaluate(**options)["loss"], json.loads(program("eval", model.checkpoint, *words, "--json").stdout)["loss"])

    def test_a_model_says_what_it_is(self):
        self.assertEqual((self.model.step, self.model.block_size, self.model.config["model"]["n_embd"]), (20, 24, 16))
        self.assertEqual(self.model.decode(self.model.encode("the end")), "the end")
        self.assertEqual(self.model.encode("☺", unknown="skip"), [])
        self.assertIn("7,152 parameters", repr(self.model))

    def test_failures_have_the_sentences_and_codes_of_the_program(self):
        negative = {**SMALL, "n_layer": -1}
        for call, *words in ((lambda: chargpt.load("nowhere"), "sample", "nowhere"),
                             (lambda: chargpt.load(RUN, checkpoint="step-7"), "sample", RUN, "--checkpoint", "step-7"),
                             (lambda: chargpt.train("nothing", progress=False), "train", "nothing"),
                             (lambda: chargpt.train(**negative), "train", "--text", TEXT, "--n_layer", -1),
                             (lambda: chargpt.resume("nowhere", progress=False), "resume", "nowhere"),
                             (lambda: chargpt.compare([], progress=False), "compare")):
            with self.subTest(words[0]):
                process = program(*words)
                self.assertIn(self.refusal(call), [(process.stderr.splitlines()[-1][16:].removesuffix(end), process.returncode) for end in ("", "; to list the runs in runs/: chargpt runs")])
        prompt = "has 1 character that the model has never seen: '☺' (U+263A) at 4; leave them out"
        self.assertEqual(self.refusal(lambda: list(self.model.generate("the ☺"))), (f"the prompt {prompt}", 65))
        self.assertIn(f"--prompt {prompt}", program("sample", RUN, "--prompt", "the ☺").stderr)
        self.assertEqual(pickle.loads(pickle.dumps(chargpt.Error("a line", 65))).code, 65)

    def test_wrong_types_and_closed_models_are_refused(self):
        for call in (lambda: self.model.generate(5), lambda: self.model.encode(None), lambda: self.model.generate(tokens="many"), lambda: chargpt.load(5),
                     lambda: chargpt.load(RUN, threads="2"), lambda: chargpt.load(RUN, checkpoint=None), lambda: self.model.decode([1.5]),
                     lambda: self.model.decode("12"), lambda: chargpt.train(overwrite="yes"), lambda: chargpt.train(dry_run=True),
                     lambda: chargpt.compare("quick", vary={"train.seed": 1}), lambda: chargpt.compare("quick", vary={"model.activation": "gelu"})):
            self.assertRaises(TypeError, call)
        self.assertEqual(self.refusal(lambda: self.model.encode("a", unknown="ask"))[1], 2)
        stream = self.model.generate(tokens=10**9)
        with self.model as model:
            next(stream)
        self.assertIn("closed", self.refusal(lambda: model.encode("a"))[0])
        self.assertTrue(next(stream))  # has the model until it ends
        stream.close()

    def test_nothing_is_cut_to_what_c_can_hold(self):
        for call in (lambda: self.model.generate(tokens=2**64), lambda: self.model.generate(seed=-1), lambda: self.model.decode([2**64]),
                     lambda: chargpt.load(RUN, threads=2**32 + 1)):
            self.assertRegex(self.refusal(call)[0], r" = -?\d+ is out of range")
        for value in ("nan", "inf"):
            self.assertIn(f"temperature = {value} is not between 0.0 and", self.refusal(lambda: list(self.model.generate(temperature=float(value))))[0])
        for call in (lambda: chargpt.load(RUN + "\0/x"), lambda: chargpt.load(RUN, checkpoint="best\0"), lambda: self.model.generate(stop="a\0b")):
            self.assertRaisesRegex(ValueError, "contains a null character", call)
        self.assertEqual("".join(self.model.generate("the ", tokens=9, stop=b"e")), "".join(self.model.generate("the ", tokens=9, stop=["e"])))

    def test_the_seed_of_a_text_is_by_default_that_of_sample_whatever_the_training_had(self):
        model = chargpt.train(run="r", max_iters=2, seed=7, **SMALL).load()
        default, asked = ("".join(model.generate(tokens=20, **seed)) for seed in ({}, {"seed": 1337}))
        self.assertEqual((model.config["train"]["seed"], default), (7, asked))

    def test_a_fork_opens_its_own(self):
        code = ("import os, chargpt\nmodel = chargpt.load(RUN, threads=2)\nlist(model.generate(tokens=3))\nif os.fork() == 0:\n"
                "    try:\n        model.encode('a')\n    except chargpt.Error as error:\n        print(error)\n"
                "    print(len(''.join(chargpt.load(RUN).generate(tokens=3))))\nelse:\n    os.wait()\n").replace("RUN", repr(RUN))
        self.assertEqual(self.python("-c", code), "this model was opened before a fork; open it in the new process with chargpt.load\n3\n")

    def test_a_fork_cannot_go_on_with_a_text_that_its_parent_began(self):
        code = (f"import os, chargpt\nstream = chargpt.load({RUN!r}).generate(tokens=5000)\nnext(stream)\nif os.fork() == 0:\n"
                "    try:\n        list(stream)\n    except chargpt.Error as error:\n        print(error, flush=True)\n    os._exit(0)\n"
                "os.wait()\nprint(len(''.join(stream)))\n")
        self.assertEqual(self.python("-c", code), "this model was opened before a fork; open it in the new process with chargpt.load\n4999\n")

    @needs("numpy")
    def test_a_model_closed_during_a_call_lasts_until_that_ends(self):
        code = (f"import chargpt, threading\nfrom chargpt import _library\nmodel = chargpt.load({RUN!r})\ntext = 'the end of it ' * 10000\n"
                "alone = model.score(text)\nbegun = threading.Event()\ncall = _library._call\n"
                "def announced(*arguments):\n    begun.set()\n    call(*arguments)\n_library._call = announced\n"
                "thread = threading.Thread(target=lambda: print((model.score(text) == alone).all()))\nthread.start()\nbegun.wait()\n"
                "model.close()\nthread.join()\n")
        self.assertEqual(self.python("-c", code), "True\n")

    def test_calls_end_when_they_are_interrupted(self):
        calls = ["for _ in model.generate(tokens=10**9): pass"]
        if importlib.util.find_spec("numpy"):
            calls.append("model.score('the end of it ' * 10**6)")
        for call in calls:
            with self.subTest(call):
                self.assertLess(self.interrupted(f"model = chargpt.load({RUN!r})\nprint('begun', flush=True)\n{call}")[1], 5)

    def test_an_interrupted_training_is_saved(self):
        code = ("import pathlib, threading, time\ndef watch():\n    while not pathlib.Path('r/checkpoints').exists():\n        time.sleep(0.01)\n"
                "    print('begun', flush=True)\nthreading.Thread(target=watch, daemon=True).start()\n"
                f"chargpt.train(text={TEXT!r}, run='r', n_layer=1, n_embd=16, n_head=2, max_iters=10**6, eval_interval=20)")
        said, _ = self.interrupted(code)
        self.assertIn("chargpt resume r", said)
        step = chargpt.Run("r").load(checkpoint="last").step
        self.assertEqual(chargpt.resume("r", max_iters=step + 5, progress=False).load(checkpoint="last").step, step + 5)

    def test_on_a_terminal_progress_is_one_repainted_line(self):
        terminal = Terminal(80, 24)
        code = f"import chargpt\nchargpt.train(text={TEXT!r}, run='r', n_layer=1, n_embd=16, n_head=2, max_iters=20)\nchargpt.train('nothing')"
        process = subprocess.Popen([sys.executable, "-c", code], stderr=terminal.theirs, env=dict(os.environ, TERM="xterm"))
        said = terminal.read_to_the_end_of(process)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(said, rb"\rstep \d+ of 20 [^\n]*\x1b\[K")
        self.assertEqual((said.count(b"is neither a preset nor a file"), said.count(b'{"error"')), (1, 0))

    def test_training_leaves_a_run_with_metrics_and_a_page(self):
        run = chargpt.train(run="r", max_iters=20, eval_interval=10, **SMALL)
        self.assertEqual((str(run.path), run.config["train"]["max_iters"]), ("r", 20))
        rows = run.metrics
        rows = rows if isinstance(rows, list) else rows.to_dict("records")
        self.assertEqual([row["step"] for row in rows if row["kind"] == "eval"], [0, 10, 20])
        self.assertLess(run.figures["loss"], rows[0]["val_loss"])
        page = run._repr_html_()
        self.assertTrue(page.startswith("<iframe srcdoc=") and len(page) < 200_000)
        self.assertEqual(self.refusal(lambda: chargpt.train(run="r", max_iters=20, **SMALL))[1], 75)
        self.assertEqual(chargpt.train(run="r", max_iters=2, overwrite=True, **SMALL).load().step, 2)
        self.assertEqual(self.refusal(lambda: chargpt.Run("nowhere").metrics)[1], 66)

    def test_a_program_that_is_killed_has_the_code_that_a_shell_gives_it(self):
        program = pathlib.Path("killed")
        program.write_text("#!/bin/sh\nkill -9 $$\n")
        program.chmod(0o755)
        with mock.patch.object(_program, "binary", lambda _: program.resolve()):
            self.assertEqual(self.refusal(lambda: chargpt.train(progress=False)), ("chargpt train ended with 137", 137))

    def test_a_row_that_is_half_written_is_left_out(self):
        shutil.copytree(RUN, "copy")
        pathlib.Path("copy/metrics.jsonl").write_text('{"kind":"train","step":1,"loss":3.5}\n{"kind":"train","st')
        self.assertEqual(len(chargpt.Run("copy").metrics), 1)

    def test_a_failure_is_told_from_text_that_looks_like_one(self):
        said = b'a sample: {"error": "none"}\nmore\n\x1b[K{"error":{"message":"gone"}}\n'
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            failure = _program._show(io.BytesIO(said))
        self.assertEqual(json.loads(failure), {"error": {"message": "gone"}})
        self.assertEqual(shown.getvalue(), 'a sample: {"error": "none"}\nmore\n\x1b[K')

    @needs("numpy")
    def test_documents_are_kept_apart_and_texts_end_with_them(self):
        pathlib.Path("names.txt").write_text("\n".join(f"{a}{b}{c}" for a in "abc" for b in "def" for c in "ghi"))
        options = dict(SMALL, text="names.txt", documents="lines", units="bytes", max_iters=5, block_size=8)
        model = chargpt.train("quick", run="names", **options).load()
        for seed in range(20):  # at a temperature where bytes are drawn evenly, some texts end within a character
            for sample in ({"tokens": 8, "temperature": 1000}, {"tokens": 200}):
                words = [word for name, value in {**sample, "seed": seed}.items() for word in (f"--{name}", str(value))]
                written = subprocess.run([PROGRAM, "sample", "names", "--prompt", "ad", "--quiet", *words], capture_output=True, check=True).stdout
                ours = "ad" + "".join(model.generate("ad", seed=seed, **sample))
                self.assertEqual(ours.rstrip("\n"), written.decode("utf-8", "replace").rstrip("\n"))
        document = model.vocabulary_size - 1
        together, alone = model.logits([document, 1, 4, document, 2]), model.logits([document, 2])
        self.assertLess(abs(together[3:] - alone).max(), 1e-5)

    def test_options_are_what_python_has_of_them(self):
        groups = [{"match": "wte", "lr_scale": 2}]
        run = chargpt.train(run="r", max_iters=2, conv_places=["attention", "mlp"], groups=groups, set=["eval.eval_interval=1", "train.keep=2"], **SMALL)
        self.assertEqual((run.config["model"]["conv_places"], run.config["eval"]["eval_interval"], run.config["train"]["keep"]), (["attention", "mlp"], 1, 2))
        self.assertEqual([group["match"] for group in run.config["train"]["groups"]], ["wte"])
        self.assertEqual(self.refusal(lambda: chargpt.train("-h", progress=False))[0], "-h is neither a preset nor a file; chargpt configs lists the presets")
        if importlib.util.find_spec("numpy"):
            import numpy
            config = chargpt.train(run="n", max_iters=numpy.int64(2), learning_rate=numpy.float64(0.5), **SMALL).config["train"]
            self.assertEqual((config["max_iters"], config["learning_rate"]), (2, 0.5))

    def test_a_comparison_is_a_table_best_first(self):
        table = chargpt.compare("default", vary={"train.learning_rate": [1e-2, 1e-5]}, seeds=1, max_iters=30, out="c", **SMALL)
        rows = table if isinstance(table, list) else table.to_dict("records")
        self.assertEqual([row["rank"] for row in rows], [1, 2])
        self.assertTrue(isinstance(table, list) or [*list(table)[:2], *list(table)[-2:]] == ["rank", "config", "versus_best.difference", "mean"])
        self.assertIn("0.01", rows[0]["config"])
        self.assertIn("0.01 has a lower loss", table.attrs["verdict"])

    @needs("numpy")
    def test_the_example_runs(self):
        (self.folder / "data").mkdir()
        shutil.copy(TEXT, "data")
        self.assertRegex(self.python(MODULE / "example.py"), r"(?s)kind.*The .*nats.*config.*mean")

    @needs("mypy")
    def test_types_hold(self):
        self.python("-m", "mypy", "--cache-dir", self.folder, "chargpt", "example.py", cwd=MODULE, timeout=None)
