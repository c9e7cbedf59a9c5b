"""Files of chargpt.gguf, loaded by llama.cpp."""

from exchange import MODELS, SIZE, ExchangeTest, needs

# Names of tokens, escapes and control characters are written out.
ODD = "The \\xff<|endoftext|> \\x \\x\x7f\\ \t\x01 {x} \\n\nThe river \\x0a\x1b[0m was low, and\n"


@needs("llama_cpp")
class LlamaCppTest(ExchangeTest):
    def test_llama_cpp_computes_what_chargpt_does(self):
        for units, text in (("characters", ODD + "\u00e9 \u2028\u00a0\U0001f469\U0010ffff\n"), ("bytes", ODD)):
            runs = [f"{model}_{units}_{documents}" for model in ("gpt2", "gpt2-biases", "llama", "qwen3-gates") for documents in ("none", "lines")]
            for run in runs:
                model, _, documents = run.split("_")
                self.train(run, MODELS[model][0], 60, *SIZE, *MODELS[model][1:], "--units", units, "--documents", documents, text=text * 40)
            self.write("odd.txt", text * 3)
            self.script("check/exports.py", "--format", "gguf", "--windows", "3", "--text", "odd.txt", *runs)
