"""The program on what chargpt.nanogpt converts, beside nanoGPT's model and optimizer in PyTorch."""

import json
import math
import os
import subprocess
import sys

from exchange import SIZE, ExchangeTest, needs
from program import SAMPLE_TEXT, SOURCE, TEXT, metrics

MORE = ["--warmup_iters", "5", "--lr_decay_iters", "60", "--beta2", "0.97"]
BLOCK, HEADS = 48, 2  # as in SIZE


def logits_of(model, ids):
    """nanoGPT's forward on its own state dict."""
    import torch
    from torch.nn import functional as F

    def linear(x, name):
        return F.linear(x, model[f"{name}.weight"], model.get(f"{name}.bias"))

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], model[f"{name}.weight"], model.get(f"{name}.bias"), 1e-5)

    B, T = ids.shape
    x = model["transformer.wte.weight"][ids] + model["transformer.wpe.weight"][:T]  # (B, T, C)
    for layer in range(2):
        block = f"transformer.h.{layer}."
        qkv = linear(norm(x, block + "ln_1"), block + "attn.c_attn").view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)  # (3, B, nh, T, hs)
        attended = F.scaled_dot_product_attention(*qkv, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + linear(attended, block + "attn.c_proj")
        x = x + linear(F.gelu(linear(norm(x, block + "ln_2"), block + "mlp.c_fc")), block + "mlp.c_proj")
    return F.linear(norm(x, "transformer.ln_f"), model["transformer.wte.weight"])


def rate_at(config, step):
    """get_lr of train.py."""
    if step < config["warmup_iters"]:
        return config["learning_rate"] * (step + 1) / (config["warmup_iters"] + 1)
    done = min(1, (step - config["warmup_iters"]) / (config["lr_decay_iters"] - config["warmup_iters"]))
    return config["min_lr"] + 0.5 * (1 + math.cos(math.pi * done)) * (config["learning_rate"] - config["min_lr"])


@needs("torch")
class ConvertedTest(ExchangeTest):
    def convert(self, *words):
        path = os.pathsep.join([str(SOURCE / "scripts/python"), *sys.path])
        return subprocess.run([sys.executable, "-m", "chargpt.nanogpt", *map(str, words)], cwd=self.folder, env={**os.environ, "PYTHONPATH": path},
                              capture_output=True, text=True, check=True).stdout

    def losses(self, run):
        """Of ten more steps."""
        self.succeed("resume", run, "--max_iters", "30", "--log_interval", "1", "--quiet")
        return [row["loss"] for row in metrics(self.folder / run, "train") if row["step"] > 20]

    def test_a_run_goes_there_and_back_and_on_to_the_same_bits(self):
        for bias in ("false", "true"):
            with self.subTest(bias=bias):
                self.train("ours", "nanogpt-cpu", 20, *SIZE, *MORE, "--bias", bias, "--overwrite")
                self.convert("from-run", "ours", f"there-{bias}")
                self.convert("to-run", f"there-{bias}/ckpt.pt", f"there-{bias}/meta.pkl", f"back-{bias}", "--text", SAMPLE_TEXT)
                self.assertEqual(self.loss(f"back-{bias}"), self.loss("ours"))
                losses = [self.losses(run) for run in ("ours", f"back-{bias}")]
                self.assertEqual(len(losses[0]), 10)
                self.assertEqual(*losses)

    def test_a_run_without_its_text_takes_it_from_the_command_line(self):
        self.train("ours", "nanogpt-cpu", 20, *SIZE, *MORE)
        self.convert("from-run", "ours", "there")
        self.convert("to-run", "there/ckpt.pt", "there/meta.pkl", "back")
        self.succeed("sample", "back", "--tokens", "5", "--quiet")
        self.succeed("inspect", "back", "--verify")
        self.assertIn("--text FILE", self.run_program("eval", "back").error)
        self.succeed("resume", "back", "--text", SAMPLE_TEXT, "--max_iters", "30", "--quiet")

    def test_ten_more_steps_are_those_of_pytorch(self):
        import torch
        text = TEXT[3000: 3000 + 2 * (BLOCK + 1)]  # each half is one window, so that all windows are the same
        self.train("ours", "nanogpt-cpu", 20, *SIZE, *MORE, "--bias", "true", "--val_fraction", "0.5", text=text)
        self.convert("from-run", "ours", "there")
        saved = torch.load(self.folder / "there/ckpt.pt", weights_only=True)
        symbols, config = sorted(set(text)), saved["config"]
        halves = torch.tensor([symbols.index(symbol) for symbol in text]).view(2, BLOCK + 1)
        model = {name: torch.nn.Parameter(tensor) for name, tensor in saved["model"].items() if name != "lm_head.weight"}

        def loss(ids):
            return torch.nn.functional.cross_entropy(logits_of(model, ids[None, :-1])[0], ids[1:])
        with torch.no_grad():
            self.assertAlmostEqual(json.loads(self.succeed("eval", "ours", "--checkpoint", "last", "--json", "--quiet").out)["loss"], loss(halves[1]).item(), delta=1e-5)
        optimizer = torch.optim.AdamW([{"params": [p for p in model.values() if (p.dim() > 1) is matrices]} for matrices in (True, False)])
        optimizer.load_state_dict(saved["optimizer"])
        losses = []
        for step in range(20, 30):
            for group in optimizer.param_groups:
                group["lr"] = rate_at(config, step)
            losses.append(loss(halves[0]))
            losses[-1].backward()
            torch.nn.utils.clip_grad_norm_(model.values(), config["grad_clip"])
            optimizer.step()
            optimizer.zero_grad()
        for ours, theirs in zip(self.losses("ours"), losses, strict=True):
            self.assertAlmostEqual(ours, theirs.item(), delta=1e-6)
