"""nanoGPT's checkpoints: by way of a folder without pickles, and the scripts that make it and take it apart."""

import json
import os
import pickle

from exchange import SIZE, ExchangeTest, needs
from program import SAMPLE_TEXT, metrics

MORE = ["--warmup_iters", "5", "--lr_decay_iters", "60", "--beta2", "0.97"]


class NanoGptTest(ExchangeTest):
    def trained(self, *options, iters=20):
        self.train("ours", "nanogpt-cpu", iters, *SIZE, *MORE, *options)

    def rows(self, run):
        return [row for row in metrics(self.folder / run) if row.get("step", 0) > 20]

    def test_a_run_goes_there_and_back_and_on_to_the_same_bits(self):
        for bias in ("false", "true"):
            with self.subTest(bias=bias):
                self.trained("--bias", bias, "--overwrite")
                self.assertEqual(self.export("ours", f"there-{bias}", "--checkpoint", "last", form="nanogpt")["notices"], [])
                self.assertTrue(self.json("import", f"there-{bias}", "--text", SAMPLE_TEXT, "--run", f"back-{bias}", "--quiet")["resumable"])
                self.assertEqual(self.json_of(f"back-{bias}/config.json")["origin"]["data.text"], "--text")
                for run in ("ours", f"back-{bias}"):
                    self.succeed("resume", run, "--max_iters", "30", "--log_interval", "1", "--quiet")
                losses = [[(row["step"], row["loss"]) for row in self.rows(run) if "loss" in row] for run in ("ours", f"back-{bias}")]
                self.assertEqual(len(losses[0]), 10)
                self.assertEqual(*losses)

    def test_what_came_without_text_or_moments_says_what_is_missing(self):
        self.trained()
        self.export("ours", "there", form="nanogpt")
        self.assertIn("--text FILE", self.succeed("import", "there", "--run", "back").err)
        self.assertIn("import it again with --text FILE", self.fail_with(65, "resume", "back"))
        (self.folder / "there" / "optimizer.safetensors").unlink()
        self.assertFalse(self.json("import", "there", "--run", "bare", "--text", SAMPLE_TEXT, "--quiet")["resumable"])
        self.assertIn("without optimizer state", self.fail_with(65, "resume", "bare"))
        self.assertEqual(self.json("eval", "bare", "--quiet")["loss"], self.json("eval", "ours", "--quiet")["loss"])
        config = self.json_of("there/nanogpt.json")["config"]
        self.change("there", "nanogpt.json", config={**config, "decay_lr": False})
        self.succeed("import", "there", "--run", "constant", "--quiet")
        train = self.json_of("constant/config.json")["train"]
        self.assertEqual((train["lr_schedule"], train["warmup_iters"]), ("constant", 0))
        self.change("there", "nanogpt.json", config={**config, "learning_rate": 5e-5, "min_lr": 1e-4})
        notices = self.json("import", "there", "--run", "rising", "--quiet")["notices"]
        self.assertTrue(any("min_lr = 0.0001 is above learning_rate = 5e-05" in notice for notice in notices), notices)
        train = self.json_of("rising/config.json")["train"]
        self.assertEqual((train["learning_rate"], train["min_lr"]), (5e-5, 5e-5))

    def test_models_that_nanogpt_cannot_hold_are_refused(self):
        self.check_refused("nanogpt", "out", {
                "model.norm": ["standard"], "model.activation": ["nanogpt-cpu", "--activation", "relu"],
                "model.norm_gain": ["nanogpt-cpu", "--norm_gain", "false"], "model.tie_weights": ["nanogpt-cpu", "--tie_weights", "false"],
                "data.units": ["nanogpt-cpu", "--units", "bytes"], "model.norm_eps": ["nanogpt-cpu", "--norm_eps", "1e-6"],
                "model.mlp_size": ["nanogpt-cpu", "--mlp_size", "24"], "model.attention_scale": ["nanogpt-cpu", "--attention_scale", "none"],
                "model.bias_places": ["nanogpt-cpu", "--bias", "true", "--bias_places", "mlp"],
                "model.dropout_places": ["nanogpt-cpu", "--dropout", "0.1", "--dropout_places", "mlp"]})

    def test_what_train_py_does_otherwise_is_said_and_moments_that_it_cannot_go_on_with_are_left_out(self):
        self.train("teacher", "nanogpt-cpu", 2, *SIZE)
        self.trained("--groups", '[{"match": "wte", "learning_rate": 0.01}]', "--lr_schedule", "wsd", "--lr_decay_iters", "0", "--decay_steps", "[15, 20]",
                     "--windows", "shuffled", "--teacher", "teacher")
        notices = self.export("ours", "there", form="nanogpt")["notices"]
        for said, part in zip(notices, ("schedule is wsd", "from step 15 on", "windows at random", "no teacher", "train.groups"), strict=True):
            self.assertIn(part, said)
        self.assertFalse((self.folder / "there" / "optimizer.safetensors").exists())
        config = self.json_of("there/nanogpt.json")["config"]
        self.assertEqual((config["lr_decay_iters"], config["eval_iters"]), (20, 200))  # a mean of no batches is none: as many as by default
        self.train("decays", "nanogpt-cpu", 2, *SIZE, "--decay", "all", "--eval_iters", "7")
        self.assertIn("model.decay is \"all\"", self.export("decays", "other", form="nanogpt")["notices"][-1])
        self.assertFalse((self.folder / "other" / "optimizer.safetensors").exists())
        self.assertEqual(self.json_of("other/nanogpt.json")["config"]["eval_iters"], 7)

    def test_a_hostile_folder_is_refused_in_one_line(self):
        self.trained(iters=2)
        self.export("ours", "there", form="nanogpt")
        good = (self.folder / "there" / "nanogpt.json").read_text()
        about = json.loads(good)
        symbols = about["symbols"]
        for values, part in [
                ({"format": "gpt"}, "format"), ({"version": 2}, "version"), ({"iter_num": -1}, "iter_num"), ({"iter_num": 1.5}, "iter_num"),
                ({"symbols": symbols[:-1]}, "vocab_size"), ({"symbols": [symbols[1], *symbols[1:]]}, "twice"), ({"symbols": ["ab", *symbols[1:]]}, "single"),
                ({"symbols": [3, *symbols[1:]]}, "single"), ({"symbols": {}}, "symbols"), ({"config": []}, "config"), ({"config": {"batch_size": "many"}}, "batch_size"),
                ({"config": {"learning_rate": -1}}, "learning_rate"), ({"model_args": {**about["model_args"], "n_layer": 1 << 60}}, "n_layer"),
                ({"model_args": {**about["model_args"], "n_head": 3}}, "n_head"), ({"model_args": {**about["model_args"], "bias": "yes"}}, "bias"),
                ({"model_args": {**about["model_args"], "bias": True}}, "which its nanogpt.json asks for"),
                ({"model_args": {**about["model_args"], "n_layer": 1}}, "model.safetensors"), ({"model_args": 3}, "model_args")]:
            with self.subTest(values=str(values)[:60]):
                self.change("there", "nanogpt.json", **values)
                self.assertIn(part, self.fail_with(65, "import", "there", "--run", "back"))
                self.assertFalse((self.folder / "back").exists())
                self.write("there/nanogpt.json", good)
        self.write("there/nanogpt.json", "[" * 100000)
        self.fail_with(65, "import", "there", "--run", "back")
        self.write("there/nanogpt.json", good)
        moments = self.folder / "there" / "optimizer.safetensors"
        moments.write_bytes(moments.read_bytes()[:-8])
        self.assertIn("optimizer.safetensors", self.fail_with(65, "import", "there", "--run", "back"))


@needs("torch")
class ScriptsTest(ExchangeTest):
    def converted(self, iters):
        """A run as nanoGPT's checkpoint: pt/ckpt.pt and pt/meta.pkl."""
        self.train("ours", "nanogpt-cpu", iters, *SIZE)
        self.export("ours", "there", form="nanogpt")
        self.script("chargpt_to_nanogpt.py", "there", "pt")

    def test_both_scripts_in_turn_give_the_same_files(self):
        self.train("ours", "nanogpt-cpu", 5, *SIZE, "--bias", "true")
        self.export("ours", "there", form="nanogpt")
        for name, *arguments in [("chargpt_to_nanogpt.py", "there", "pt"), ("nanogpt_to_chargpt.py", "pt/ckpt.pt", "pt/meta.pkl", "again")]:
            self.script(name, *arguments)
        for run, folder in [("one", "there"), ("two", "again")]:
            self.succeed("import", folder, "--run", run, "--text", SAMPLE_TEXT, "--quiet")
        one, two = (self.contents(f"{run}/checkpoints/step-00000005") for run in ("one", "two"))
        for name in ("model.safetensors", "optimizer.safetensors", "vocab.json"):
            self.assertEqual(one[name], two[name], name)
        self.assertIn("exists already", self.script("chargpt_to_nanogpt.py", "there", "pt", code=65).stderr)

    def test_a_checkpoint_without_optimizer_and_step_gives_the_model_and_one_with_it_the_optimizers_options(self):
        import torch
        self.converted(5)
        whole = torch.load(self.folder / "pt/ckpt.pt", weights_only=True)
        for keys in (("model", "model_args"), ("model", "model_args", "iter_num", "best_val_loss", "config")):
            torch.save({key: whole[key] for key in keys}, self.folder / "shared.pt")
            self.script("nanogpt_to_chargpt.py", "shared.pt", "pt/meta.pkl", f"shared-{len(keys)}")
            imported = self.json("import", f"shared-{len(keys)}", "--run", f"run-{len(keys)}", "--quiet")
            self.assertEqual((imported["resumable"], imported["step"]), (False, whole["iter_num"] if "iter_num" in keys else 0))
            self.assertEqual(self.loss(f"run-{len(keys)}"), self.loss("ours"))
        whole["optimizer"]["param_groups"][0]["weight_decay"] = 0.03  # what train.py goes on with, whatever its config says
        torch.save(whole, self.folder / "other.pt")
        self.script("nanogpt_to_chargpt.py", "other.pt", "pt/meta.pkl", "other")
        self.assertEqual(self.json_of("other/nanogpt.json")["config"]["weight_decay"], 0.03)

    def test_pickles_that_run_code_are_refused(self):
        class Attack:
            def __reduce__(self):
                return os.mkdir, ("attacked",)
        self.converted(2)
        attack = pickle.dumps(Attack())
        for checkpoint, meta in [("pt/ckpt.pt", attack), (attack, "pt/meta.pkl"), ("pt/ckpt.pt", b"\x80\x04N."), (b"PK", "pt/meta.pkl")]:
            with self.subTest(checkpoint=checkpoint):
                paths = [self.write(name, content) if isinstance(content, bytes) else content
                         for name, content in (("c.pt", checkpoint), ("m.pkl", meta))]
                self.assertEqual(len(self.script("nanogpt_to_chargpt.py", *paths, "out", code=65).stderr.splitlines()), 1)
                self.assertFalse((self.folder / "out").exists())
        self.assertFalse((self.folder / "attacked").exists())
