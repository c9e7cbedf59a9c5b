"""Exports for llama.cpp."""

import struct

from exchange import MODELS, SIZE, ExchangeTest, needs
from program import named_tensors

FORMATS = {4: "<I", 5: "<i", 6: "<f", 7: "<?"}
HELD = {"gpt2": [*MODELS["gpt2"]], "gpt2-biases": [*MODELS["gpt2-biases"]], "llama": [*MODELS["llama"]],
        "qwen3": ["standard", "--activation", "swiglu", "--norm_gain", "true", "--head_size", "10"]}


class File:
    """A GGUF file as docs/gguf.md describes it: `values`, and `tensors` as (dimensions, bytes)."""

    def __init__(self, data):
        self.data, self.at = data, 4
        assert data[:4] == b"GGUF"
        self.version, tensors, values = self.number("<I"), self.number("<Q"), self.number("<Q")
        self.values = {self.text(): self.value(self.number("<I")) for _ in range(values)}
        found = [(self.text(), [self.number("<Q") for _ in range(self.number("<I"))], self.number("<I"), self.number("<Q")) for _ in range(tensors)]
        begin = (self.at + 31) // 32 * 32
        self.tensors = {}
        for name, dimensions, kind, offset in found:
            size = 4
            for dimension in dimensions:
                size *= dimension
            assert kind == 0 and offset % 32 == 0 and begin + offset + size <= len(data)
            self.tensors[name] = dimensions, data[begin + offset: begin + offset + size]

    def number(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self):
        length = self.number("<Q")
        self.at += length
        return self.data[self.at - length: self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, count = self.number("<I"), self.number("<Q")
            return [self.value(inner) for _ in range(count)]
        return self.number(FORMATS[kind])


class GgufTest(ExchangeTest):
    def exported(self, name, config, *options, text=None):
        self.train(name, config, 3, *SIZE, *options, text=text)
        self.export(name, f"{name}.gguf", form="gguf")
        return File((self.folder / f"{name}.gguf").read_bytes())

    def test_the_file_holds_the_options_symbols_and_tensors(self):
        file = self.exported("model", "nanogpt-cpu", text="\t\n a\\b\u00e9\u2028\U0001f469" * 500)
        self.assertEqual(file.values["general.architecture"], "gpt2")
        self.assertEqual([file.values[f"gpt2.{key}"] for key in ("context_length", "embedding_length", "block_count", "feed_forward_length")], [48, 16, 2, 64])
        self.assertEqual(file.values["tokenizer.ggml.tokens"], ["\\x09", "\\x0a", " ", "\\\\", "a", "b", "\u00e9", "\u2028", "\U0001f469"])
        self.assertEqual(file.tensors["token_embd.weight"][0], [16, 9])
        self.assertEqual(file.tensors["blk.1.attn_qkv.weight"][0], [16, 48])
        self.assertEqual(file.tensors["blk.0.ffn_up.bias"], ([64], bytes(256)))
        self.assertNotIn("output.weight", file.tensors)

    def test_rotary_models_keep_their_base_and_odd_tensors_their_place(self):
        file = self.exported("model", *HELD["qwen3"], "--rope_base", "500")
        self.assertEqual(file.values["qwen3.rope.freq_base"], 500)
        widths = ("attention.key_length", "attention.value_length", "rope.dimension_count")
        self.assertEqual([file.values[f"qwen3.{width}"] for width in widths], [10] * 3)  # --head_size, where 16 features have 2 heads
        self.assertEqual(file.tensors["blk.0.attn_q_norm.weight"], ([10], struct.pack("<10f", *[1] * 10)))  # 40 bytes, filled up to 64
        for name in ("output_norm.weight", "token_embd.weight"):
            self.assertIn(file.tensors[name][1], self.weights("model", 3), name)

    def test_llama_has_the_pairs_of_a_head_as_neighbours_and_its_own_epsilon(self):
        file = self.exported("model", *HELD["llama"], "--norm_eps", "0.01")
        saved, row = named_tensors(self.weights("model", 3)), 16 * 4  # bytes of a row
        queries, theirs = saved["transformer.h.0.attn.c_attn.weight"], file.tensors["blk.0.attn_q.weight"][1]
        self.assertEqual([theirs[at * row: (at + 1) * row] for at in range(3)], [queries[at * row: (at + 1) * row] for at in (0, 4, 1)])  # heads have 8 rows
        self.assertEqual(file.tensors["blk.0.ffn_gate.weight"][1], saved["transformer.h.0.mlp.c_gate.weight"])
        self.assertAlmostEqual(file.values["llama.attention.layer_norm_rms_epsilon"], 0.01)

    def test_bytes_are_spelled_as_bytes(self):
        tokens = self.exported("model", "nanogpt-cpu", "--units", "bytes").values["tokenizer.ggml.tokens"]
        self.assertEqual(len(tokens), 256)
        self.assertEqual([tokens[i] for i in (0, 65, 92, 127, 200)], ["\\x00", "A", "\\\\", "\\x7f", "\\xc8"])

    def test_the_end_of_a_document_begins_and_ends_texts_and_is_not_printed(self):
        plain = self.exported("plain", "nanogpt-cpu").values
        values = self.exported("model", "nanogpt-cpu", "--documents", "lines").values
        tokens = values["tokenizer.ggml.tokens"]
        self.assertEqual(tokens[-2:], [plain["tokenizer.ggml.tokens"][-1], "<|endoftext|>"])
        self.assertEqual([values[f"tokenizer.ggml.{end}_token_id"] for end in ("bos", "eos")], [len(tokens) - 1] * 2)
        self.assertEqual(values["tokenizer.ggml.token_type"], [1] * (len(tokens) - 1) + [3])
        self.assertNotIn("tokenizer.ggml.bos_token_id", plain)

    def test_what_llama_cpp_does_not_compute_is_refused(self):
        self.check_refused("gguf", "out.gguf", {"model.activation": ["standard"],
                                                "model.attention_scale": ["nanogpt-cpu", "--attention_scale", "none"]})
        self.assertIn(".gguf", self.fail_with(2, "export", "run-0", "--format", "gguf", "--out", "out"))

    @needs("llama_cpp", "numpy")
    def test_llama_cpp_computes_what_chargpt_does(self):
        for name, options in HELD.items():
            self.train(name, options[0], 30, *SIZE, *options[1:])
        self.script("check/exports.py", "--format", "gguf", "--windows", "2", *HELD)
