"""chargpt.nanogpt without the program: checkpoints of nanoGPT as runs and back, and files that nobody should trust."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import pickle
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/python"))

from chargpt import Error, _checkpoint, nanogpt  # noqa: E402 (found by the line above)

SYMBOLS = "ba\nc\u00e9"  # nanoGPT's are in any order
SORTED = "\nabc\u00e9"
ARGS = {"n_layer": 2, "n_head": 2, "n_embd": 8, "block_size": 6, "bias": False, "vocab_size": len(SYMBOLS), "dropout": 0.1}
CONFIG = {"learning_rate": 1e-3, "min_lr": 1e-4, "max_iters": 10, "batch_size": 4, "warmup_iters": 2, "lr_decay_iters": 10, "decay_lr": True,
          "weight_decay": 0.5, "dataset": "x", "eval_interval": 5, "grad_clip": 1.0, "compile": True}


def checkpoint_of(**changed):
    """A ckpt.pt after three steps, as train.py saves it."""
    import torch
    args = {**ARGS, **changed}
    torch.manual_seed(1)
    parameters = {name: torch.nn.Parameter(torch.randn(shape)) for name, shape in nanogpt.shapes(args).items()}
    optimizer = torch.optim.AdamW([{"params": [p for p in parameters.values() if (p.dim() > 1) is matrices], "weight_decay": 0.05 * matrices}
                                   for matrices in (True, False)], lr=1e-3, betas=(0.8, 0.95))
    for _ in range(3):
        for parameter in parameters.values():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
    model = {f"_orig_mod.{name}": parameter.detach() for name, parameter in parameters.items()}  # as torch.compile names them
    model["_orig_mod.lm_head.weight"] = model["_orig_mod.transformer.wte.weight"]
    return {"model": model, "optimizer": optimizer.state_dict(), "model_args": args, "iter_num": 3, "best_val_loss": torch.tensor(2.5), "config": dict(CONFIG)}


def tensors_of(checkpoint):
    """Weights, moments and steps in the order of their names."""
    named = {name.removeprefix("_orig_mod."): tensor for name, tensor in checkpoint["model"].items()}
    for index, entry in checkpoint["optimizer"]["state"].items():
        named.update({f"{index} {name}": tensor for name, tensor in entry.items()})
    return sorted(named.items(), key=lambda item: item[0])


@unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not here")
class NanoGptTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(contextlib.chdir(self.folder))
        self.save(checkpoint_of())
        pathlib.Path("meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(SYMBOLS), "itos": dict(enumerate(SYMBOLS))}))
        pathlib.Path("text.txt").write_bytes("\ufeffab\nc\u00e9".encode())

    def save(self, checkpoint):
        import torch
        torch.save(checkpoint, "ckpt.pt")

    def said(self, function, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            function(*words)
        return out.getvalue(), err.getvalue()

    def to_run(self, run="run", text=None):
        return self.said(nanogpt.to_run, "ckpt.pt", "meta.pkl", run, text)

    def from_run(self, run="run", out="out"):
        """What is said, and the checkpoint."""
        import torch
        return self.said(nanogpt.from_run, run, out), torch.load(f"{out}/ckpt.pt", weights_only=True)

    def refused(self, code, part, function, *words):
        before = sorted(map(str, pathlib.Path().rglob("*")))
        with self.assertRaises(Error) as caught:
            self.said(function, *words)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(sorted(map(str, pathlib.Path().rglob("*"))), before)

    def rewrite(self, section="train", drop="nothing", vocabulary=None, **options):
        """The run with these options in its checkpoint."""
        path, tensors, config, known, state = _checkpoint.find("run", best=False)
        config[section].update(options)
        _checkpoint.write(path, {name: tensor for name, tensor in tensors.items() if drop not in name}, config=config, state=state,
                          vocabulary=vocabulary or known)

    def test_there_and_back_all_numbers_are_the_same(self):
        import torch
        for bias in (False, True):
            with self.subTest(bias=bias):
                before = checkpoint_of(bias=bias)
                self.save(before)
                self.to_run(f"run-{bias}", "text.txt")
                (said, notices), after = self.from_run(f"run-{bias}", f"out-{bias}")
                self.assertEqual(notices, "")
                self.assertIn(f"train.py {self.folder.resolve()}/out-{bias}/train_out_{bias}.py\n", said)
                rows = [SYMBOLS.index(symbol) for symbol in SORTED]
                for then, now in zip(tensors_of(before), tensors_of(after), strict=True):
                    self.assertEqual(then[0], now[0])
                    self.assertTrue(torch.equal(then[1][rows] if then[1].dim() and len(then[1]) == len(SYMBOLS) else then[1], now[1]), then[0])
                self.assertEqual(after["optimizer"]["param_groups"], before["optimizer"]["param_groups"])
                self.assertEqual((after["model_args"], after["iter_num"]), (before["model_args"], 3))
                self.assertEqual(pickle.loads(pathlib.Path(f"out-{bias}/meta.pkl").read_bytes())["itos"], dict(enumerate(SORTED)))
                settings = {}
                exec(pathlib.Path(f"out-{bias}/train_out_{bias}.py").read_text(), settings)
                self.assertEqual(settings["out_dir"], str(self.folder.resolve() / f"out-{bias}"))
                for name in ("learning_rate", "min_lr", "max_iters", "batch_size", "warmup_iters", "lr_decay_iters", "decay_lr", "eval_interval"):
                    self.assertEqual((settings[name], after["config"][name]), (CONFIG[name], CONFIG[name]))
                self.assertEqual((settings["weight_decay"], settings["beta2"]), (0.05, 0.95))  # with which train.py goes on, whatever its config says

    def test_a_run_has_its_text_and_its_checkpoint_no_path(self):
        self.to_run(text=str(self.folder / "text.txt"))
        checkpoint = _checkpoint.find("run", best=False)
        self.assertEqual(json.loads(pathlib.Path("run/config.json").read_text())["data"]["text"], [str(self.folder / "text.txt")])
        self.assertEqual(checkpoint.config["data"]["text"], ["text.txt"])
        self.assertEqual(checkpoint.state["data"], {"tokens": 5, "crc64": "2afff8318320cef7"})  # of 01 02 00 03 04; the C++ program agrees
        self.assertTrue(pathlib.Path("run/text.safetensors").read_bytes().endswith(bytes([1, 2, 0, 3, 4])))
        pathlib.Path("text.txt").write_text("abd")
        self.refused(65, "'d'", nanogpt.to_run, "ckpt.pt", "meta.pkl", "other", "text.txt")

    def test_a_checkpoint_without_optimizer_gives_the_model_and_a_constant_or_rising_rate_is_kept_from_rising(self):
        whole = checkpoint_of()
        self.save({key: whole[key] for key in ("model", "model_args")})
        self.assertIn("cannot be resumed", self.to_run()[1])
        (said, notices), after = self.from_run()
        self.assertIn("sample.py", said)
        self.assertIn("the run has none", notices)
        self.assertNotIn("optimizer", after)
        for number, (values, train) in enumerate([({"decay_lr": False}, {"lr_schedule": "constant", "warmup_iters": 0, "learning_rate": 1e-3}),
                                                  ({"learning_rate": 5e-5}, {"learning_rate": 5e-5, "min_lr": 5e-5})]):
            self.save({**whole, "config": {**CONFIG, **values}})
            self.to_run(f"run-{number}")
            kept = _checkpoint.find(f"run-{number}", best=False).config["train"]
            self.assertEqual({name: kept[name] for name in train}, train)

    def test_what_train_py_cannot_do_is_said_or_refused(self):
        self.to_run()
        self.rewrite(groups=[{"match": "wte"}], lr_schedule="wsd", windows="shuffled", teacher=["other"])
        notices = self.from_run()[0][1]
        for part in ("lr_schedule is wsd", "windows at random", "no teacher", "train.groups"):
            self.assertIn(part, notices)
        for name, value, becomes in (("norm", "rmsnorm", '"layernorm"'), ("activation", "relu", '"gelu"'), ("norm_eps", 1e-6, "1e-05"), ("mlp_size", 24, "32"),
                                     ("dropout_places", ["mlp"], '["embedding'), ("tie_weights", False, "true"), ("type", "bigram", '"gpt"')):
            shutil.rmtree("run")
            self.to_run()
            self.rewrite("model", **{name: value})
            self.refused(2, f"model.{name} = {json.dumps(value)} cannot be stored as nanoGPT (it would become {becomes}", nanogpt.from_run, "run", "other")
        self.rewrite("model", type="gpt", vocabulary={"kind": "bytes"})
        self.refused(2, "are bytes", nanogpt.from_run, "run", "other")

    def test_files_that_lie_are_refused_in_one_line(self):
        import torch
        good = checkpoint_of()
        args, optimizer, model = good["model_args"], good["optimizer"], good["model"]
        name = "_orig_mod.transformer.h.0.ln_1.weight"
        step = {index: {**entry, "step": torch.tensor(float(index))} for index, entry in optimizer["state"].items()}
        squares = {index: {**entry, "exp_avg_sq": -entry["exp_avg_sq"]} for index, entry in optimizer["state"].items()}
        for changed, part in [
                ({"iter_num": -1}, "iter_num"), ({"iter_num": 1.5}, "iter_num"), ({"model_args": 3}, "model_args"), ({"model_args": {**args, "n_layer": 1 << 60}}, "n_layer"),
                ({"model_args": {**args, "n_layer": 1}}, "h.1."), ({"model_args": {**args, "n_head": 3}}, "n_head"), ({"model_args": {**args, "bias": "yes"}}, "bias"),
                ({"model_args": {**args, "bias": True}}, "missing"), ({"model_args": {**args, "vocab_size": 9}}, "vocab_size"), ({"model": None}, "model"),
                ({"model": {**model, name: torch.ones(8, dtype=torch.int32)}}, "floating"), ({"model": {**model, name: torch.ones(8).to_sparse()}}, "missing"),
                ({"model": {**model, name: torch.ones(1).expand(8)}}, "each element"), ({"model": {**model, name: torch.ones(8, device="meta")}}, "missing"),
                ({"model": {**model, "_orig_mod.lm_head.weight": torch.ones(5, 8)}}, "ties"), ({"model": {**model, "other": torch.ones(1)}}, "'other'"),
                ({"optimizer": 3}, "groups"), ({"optimizer": {**optimizer, "param_groups": [{}]}}, "groups"), ({"optimizer": {**optimizer, "state": step}}, "one step"),
                ({"optimizer": {**optimizer, "state": squares}}, "negative"), ({"config": {"batch_size": "many"}}, "batch_size"), ({"config": {"grad_clip": -1}}, "grad_clip")]:
            with self.subTest(part=part, changed=list(changed)):
                self.save({**good, **changed})
                self.refused(65, part, nanogpt.to_run, "ckpt.pt", "meta.pkl", "run", None)
        self.save({**good, "model": {**model, name: torch.full((8,), float("nan"))}})
        self.refused(80, "NaN", nanogpt.to_run, "ckpt.pt", "meta.pkl", "run", None)
        self.save(good)
        for itos in (3, {0: "a"}, {0: "b", 2: "a"}, dict(enumerate("baa\nc")), dict(enumerate(["ab", *"cdef"])), dict(enumerate(["\ud800", *"cdef"])), {}):
            pathlib.Path("meta.pkl").write_bytes(pickle.dumps({"itos": itos}))
            self.refused(65, "meta.pkl", nanogpt.to_run, "ckpt.pt", "meta.pkl", "run", None)

    def test_pickles_that_run_code_are_refused(self):
        class Attack:
            def __reduce__(self):
                return os.mkdir, ("attacked",)
        pathlib.Path("attack").write_bytes(pickle.dumps(Attack()))
        pathlib.Path("zip").write_bytes(b"PK")
        for checkpoint, meta in (("ckpt.pt", "attack"), ("attack", "meta.pkl"), ("zip", "meta.pkl"), ("ckpt.pt", "zip")):
            self.refused(65, "", nanogpt.to_run, checkpoint, meta, "run", None)
        with self.assertRaises(FileNotFoundError):
            nanogpt.to_run("none.pt", "meta.pkl", "run", None)

    def test_every_damaged_byte_of_a_checkpoint_is_noticed_and_a_newer_one_named(self):
        self.to_run()
        path = next(pathlib.Path("run/checkpoints").iterdir())
        good = path.read_bytes()
        flipped = [(good[:place] + bytes([good[place] ^ 1]) + good[place + 1:], "step-00000003.safetensors")
                   for place in (*range(0, len(good), 61), *range(12), good.index(b'"crc_read":"') + 13, good.index(b'"crc_all":"') + 12, len(good) - 1)]
        for data, part in (*flipped, (good[:-4], "damaged"), (good.replace(b'"chargpt":"1"', b'"chargpt":"2"'), "newer")):
            path.write_bytes(data)
            self.refused(65, part, nanogpt.from_run, "run", "out")
        for changes, part in (({"drop": "moment2.transformer.ln_f"}, "exactly"), ({"section": "model", "n_layer": 1 << 40}, "sizes")):
            path.write_bytes(good)
            self.rewrite(**changes)
            self.refused(65, part, nanogpt.from_run, "run", "out")

    def test_nothing_that_exists_is_replaced(self):
        self.to_run()
        self.refused(75, "exists", nanogpt.to_run, "ckpt.pt", "meta.pkl", "run", None)
        pathlib.Path("out.partial").mkdir()
        self.refused(75, "out.partial", nanogpt.from_run, "run", "out")
        self.refused(66, "no checkpoint", nanogpt.from_run, ".", "other")
