"""What the tests of export and import share: tiny models of every architecture that other programs know."""

import importlib.util
import json
import unittest

import program
from program import ProgramTest, files

TEXT = program.TEXT[3000:3500]
SIZE = ["--n_layer", "2", "--n_head", "2", "--n_embd", "16", "--block_size", "48", "--learning_rate", "0.01"]
# Options of models that no class of transformers computes: together every option of gpt.
OWN_MODELS = {
    "default": ["default"],
    "both-convolutions": ["default", "--conv_places", "attention,mlp", "--conv_width", "3", "--tie_weights", "true", "--activation", "swiglu"],
    "post-norm": ["nanogpt-cpu", "--norm_place", "post", "--bias", "true", "--bias_places", "attention,mlp,norm,head", "--activation", "gelu_tanh"],
    "sinusoidal": ["nanogpt-cpu", "--position", "sinusoidal", "--n_embd", "18", "--attention_scale", "width", "--activation", "relu"],
    "no-norm": ["nanogpt-cpu", "--position", "none", "--norm", "none", "--output_projection", "false", "--mlp_size", "24", "--activation", "gelu"],
    "no-mlp": ["standard", "--feed_forward", "false", "--final_norm", "false", "--norm_gain", "true", "--attention_scale", "none", "--units", "bytes"],
    "wide-heads": ["standard", "--norm", "layernorm", "--head_size", "10", "--rope_base", "500", "--dropout", "0.1", "--dropout_places", "mlp"],
}
# Options of models that other programs know, by the name of their architecture there.
MODELS = {
    "gpt2": ["nanogpt-cpu"],
    "gpt2-biases": ["nanogpt-cpu", "--bias", "true", "--tie_weights", "false", "--activation", "gelu_tanh", "--mlp_size", "24"],
    "gpt2-bytes": ["nanogpt-cpu", "--units", "bytes", "--activation", "relu2", "--attention_scale", "none", "--norm_gain", "false"],
    "llama": ["standard", "--qk_norm", "false", "--activation", "swiglu", "--bias", "true", "--norm_gain", "true"],
    "qwen3": ["standard", "--head_size", "10", "--rope_base", "500"],
    "qwen3-gates": ["standard", "--activation", "swiglu", "--norm_gain", "true", "--tie_weights", "true", "--norm_eps", "0.01"],
}
# Of a text whose lines are documents.
DOCUMENTS = {
    "documents": ["nanogpt-cpu", "--documents", "lines"],
    "documents-own": ["default", "--documents", "lines"],
    "documents-bytes": ["standard", "--documents", "lines", "--units", "bytes"],
}


def needs(*packages):
    """For cases that cannot run without the packages."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)} is not here")


class ExchangeTest(ProgramTest):
    def model(self, name, iters=30):
        config, *options = {**MODELS, **OWN_MODELS, **DOCUMENTS}[name]
        self.train(name, config, iters, *SIZE, *options)
        return name

    def export(self, run, out, *more):
        return self.json("export", run, "--out", out, "--quiet", *more)

    def loss(self, run):
        return self.json("eval", run, "--text", self.write("text.txt", TEXT), "--quiet")["loss"]

    def contents(self, folder):
        return files(self.folder / folder)

    def change(self, folder, name, **values):
        path = self.folder / folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
