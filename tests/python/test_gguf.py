"""chargpt.gguf without the program: files read back as docs/gguf.md describes them."""

import contextlib
import io
import math
import os
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/python"))

from chargpt import Error, _checkpoint, gguf  # noqa: E402 (found by the line above)
from chargpt._checkpoint import Tensor  # noqa: E402

FORMATS = {4: "<I", 6: "<f", 7: "<?"}
SIZES = {"n_layer": 2, "n_head": 2, "n_embd": 16, "block_size": 48}
ROPE = {"position": "rope", "norm": "rmsnorm", "activation": "swiglu"}
NOT_EVALUATED = {"val_loss": "inf", "averaged_val_loss": "inf", "best_val_loss": "inf"}
CHARACTERS = "\t\n a\\b\u00e9\u2028\U0001f469"


class File:
    """A GGUF file: `values`, and `tensors` as (dimensions, bytes)."""

    def __init__(self, data):
        self.data, self.at = data, 4
        assert data[:4] == b"GGUF"
        self.version, tensors, values = self.number("<I"), self.number("<Q"), self.number("<Q")
        self.values = {self.text(): self.value(self.number("<I")) for _ in range(values)}
        found = [(self.text(), [self.number("<Q") for _ in range(self.number("<I"))], self.number("<I"), self.number("<Q")) for _ in range(tensors)]
        begin = (self.at + 31) // 32 * 32
        self.tensors = {}
        for name, dimensions, kind, offset in found:
            size = 4 * math.prod(dimensions)
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
            return [self.value(inner) for inner in [self.number("<I")] for _ in range(self.number("<Q"))]
        return self.number(FORMATS[kind])


class GgufTest(unittest.TestCase):
    def setUp(self):
        self.enterContext(contextlib.chdir(self.enterContext(tempfile.TemporaryDirectory())))

    def write(self, options, vocabulary=None, drop=(), state=None, step=3, averaged=False):
        """A checkpoint whose numbers are all different; returns the bytes of its tensors."""
        vocabulary = vocabulary or {"kind": "characters", "symbols": list(CHARACTERS)}
        config = {"name": "mine", "model": {**SIZES, **options}}
        symbols = (256 if vocabulary["kind"] == "bytes" else len(vocabulary["symbols"])) + ("document" in vocabulary)
        resolved = _checkpoint.Checkpoint(None, {str(i): None for i in range(9)}, config, vocabulary, NOT_EVALUATED).model()
        tensors, place = {}, step
        for ours, _, shape, _ in gguf.layout(resolved, symbols, "gpt2" if resolved["position"] != "rope" else "llama"):
            count = shape[0] * (shape + (1,))[1]
            if not any(part in ours for part in drop):
                tensors[ours] = Tensor("F32", shape, struct.pack(f"<{count}f", *range(place, place + count)))
            place += count
        if averaged:
            tensors.update({f"averaged.{name}": tensor._replace(data=tensor.data[::-1]) for name, tensor in list(tensors.items()) if name.endswith("wte.weight")})
        pathlib.Path("run/checkpoints").mkdir(parents=True, exist_ok=True)
        _checkpoint.write(pathlib.Path(f"run/checkpoints/step-{step:08}.safetensors"), tensors, config=config, vocabulary=vocabulary,
                          state={"step": step, "max_iters": step, **NOT_EVALUATED, **(state or {})})
        return {name: tensor.data for name, tensor in tensors.items()}

    def convert(self, run="run"):
        pathlib.Path("file.gguf").unlink(missing_ok=True)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            gguf.convert(run, "file.gguf")
        return File(pathlib.Path("file.gguf").read_bytes())

    def test_the_file_has_the_options_symbols_and_tensors(self):
        ours = self.write({}, drop=("bias", "ln_f"))
        file = self.convert()
        self.assertEqual((file.version, file.values["general.architecture"], file.values["general.name"]), (3, "gpt2", "mine"))
        self.assertEqual([file.values[f"gpt2.{key}"] for key in ("context_length", "embedding_length", "block_count", "feed_forward_length")], [48, 16, 2, 64])
        self.assertEqual(file.values["tokenizer.ggml.tokens"], ["\\x09", "\\x0a", " ", "a", "\\\\", "b", "\u00e9", "\u2028", "\U0001f469"])
        self.assertEqual(file.tensors["token_embd.weight"], ([16, 9], ours["transformer.wte.weight"]))
        self.assertEqual(file.tensors["blk.1.attn_qkv.weight"], ([16, 48], ours["transformer.h.1.attn.c_attn.weight"]))
        self.assertEqual(file.tensors["blk.0.ffn_up.bias"], ([64], bytes(256)))
        self.assertEqual(file.tensors["output_norm.weight"], ([16], struct.pack("<16f", *[1] * 16)))  # a model without gains
        self.assertNotIn("output.weight", file.tensors)
        self.assertNotIn("tokenizer.ggml.bos_token_id", file.values)

    def test_rotary_models_keep_their_base_and_odd_tensors_their_place(self):
        ours = self.write({**ROPE, "qk_norm": True, "head_size": 10, "rope_base": 500, "tie_weights": False})
        file = self.convert()
        self.assertEqual(file.values["qwen3.rope.freq_base"], 500)
        widths = ("attention.key_length", "attention.value_length", "rope.dimension_count")
        self.assertEqual([file.values[f"qwen3.{width}"] for width in widths], [10] * 3)  # head_size, where 16 features have 2 heads
        self.assertEqual(file.tensors["blk.0.attn_q_norm.weight"], ([10], struct.pack("<10f", *[1] * 10)))  # 40 bytes, filled up to 64
        self.assertEqual(file.tensors["output.weight"][1], ours["lm_head.weight"])

    def test_llama_has_the_pairs_of_a_head_as_neighbours_and_its_own_epsilon(self):
        ours, row = self.write({**ROPE, "norm_eps": 0.01, "bias": True}), 16 * 4  # bytes of a row
        file = self.convert()
        joined, theirs = ours["transformer.h.0.attn.c_attn.weight"], file.tensors["blk.0.attn_q.weight"][1]
        self.assertEqual([theirs[at * row: (at + 1) * row] for at in range(3)], [joined[at * row: (at + 1) * row] for at in (0, 4, 1)])  # heads have 8 rows
        self.assertEqual(file.tensors["blk.0.attn_v.bias"][1], ours["transformer.h.0.attn.c_attn.bias"][32 * 4:])
        self.assertEqual(file.tensors["blk.0.ffn_gate.weight"][1], ours["transformer.h.0.mlp.c_gate.weight"])
        self.assertAlmostEqual(file.values["llama.attention.layer_norm_rms_epsilon"], 0.01)

    def test_bytes_are_spelled_as_bytes_and_no_text_spells_the_end_of_a_document(self):
        self.write({}, {"kind": "bytes", "document": 256})
        values = self.convert().values
        tokens = values["tokenizer.ggml.tokens"]
        self.assertEqual(len(tokens), 257)
        self.assertEqual([tokens[i] for i in (0, 65, 92, 127, 200)], ["\\x00", "A", "\\\\", "\\x7f", "\\xc8"])
        self.assertEqual(tokens[-1], "\\x")  # an escape cut off, which llama.cpp reads as no bytes
        self.assertEqual([values[f"tokenizer.ggml.{end}_token_id"] for end in ("bos", "eos")], [len(tokens) - 1] * 2)
        self.assertNotIn("tokenizer.ggml.token_type", values)  # a control token would be found by its name in a text

    def test_the_better_weights_of_the_best_checkpoint_are_written(self):
        first = self.write({}, state={"val_loss": 2.5, "averaged_val_loss": 2.0}, averaged=True)
        later = self.write({}, state={"val_loss": 2.2}, step=4)
        self.assertEqual(self.convert().tensors["token_embd.weight"][1], first["averaged.transformer.wte.weight"])
        self.assertEqual(self.convert("run/checkpoints/step-00000004.safetensors").tensors["token_embd.weight"][1], later["transformer.wte.weight"])

    def test_what_llama_cpp_does_not_compute_is_refused_and_nothing_written(self):
        for options, name in (({"conv_places": ["mlp"]}, "conv_places"), ({"norm_place": "post"}, "norm_place"), ({"position": "sinusoidal"}, "position"),
                              ({**ROPE, "activation": "gelu"}, "activation"), ({**ROPE, "activation": "relu2"}, "activation"), ({"head_size": 10}, "head_size"),
                              ({"norm": "rmsnorm"}, "norm"), ({"attention_scale": "none"}, "attention_scale"), ({"type": "bigram"}, "type"),
                              ({**ROPE, "qk_norm": True, "bias": True, "bias_places": ["attention_output"]}, "bias_places")):
            with self.subTest(name=name):
                self.write(options)
                with self.assertRaisesRegex(Error, rf"^model\.{name} = .* cannot be stored as \w+ of llama.cpp \(it would become .+\)$") as caught:
                    self.convert()
                self.assertEqual((caught.exception.code, os.listdir()), (2, ["run"]))
        self.write({}, drop=("c_fc",))
        with self.assertRaisesRegex(Error, "c_fc.weight is missing"):
            self.convert()
