"""export and import: models of other programs' formats, there and back."""

import json
import math
import shutil
import struct

from checkpoints import safetensors
from exchange import DOCUMENTS, MODELS, OWN_MODELS, SIZE, ExchangeTest
from program import SAMPLE_TEXT, SOURCE


class RoundTripTest(ExchangeTest):
    def test_what_is_exported_comes_back_with_the_same_weights_and_losses(self):
        for name in [*MODELS, *OWN_MODELS, *DOCUMENTS]:
            with self.subTest(name):
                self.model(name)
                self.export(name, f"{name}.out")
                self.assertEqual(self.json("import", f"{name}.out", "--run", f"{name}.back")["notices"], [])
                self.assertEqual(self.loss(f"{name}.back"), self.loss(name))
                scores = [self.json("score", run, "text.txt", "--quiet")["loss"] for run in (name, f"{name}.back")]
                self.assertEqual(*scores)  # of the first character too, which follows the end of a line
                self.export(f"{name}.back", f"{name}.again")
                before, after = self.contents(f"{name}.out"), self.contents(f"{name}.again")
                for file in ("config.json", "model.safetensors", "tokenizer.json"):
                    self.assertEqual(before[file], after[file], file)
                self.assertNotRegex(after["README.md"], rb"\binf\b|this model")  # nobody has evaluated it

    def test_an_imported_run_samples_trains_on_and_says_what_it_cannot_do(self):
        self.model("qwen3")
        self.export("qwen3", "out")
        shown = self.succeed("import", "out", "--run", "back").out
        self.assertIn("chargpt train back/config.json --init_from back --text FILE", shown)
        greedy = ["--prompt", "The ", "--tokens", "40", "--greedy", "--quiet"]
        self.assertEqual(self.succeed("sample", "back", *greedy).out, self.succeed("sample", "qwen3", *greedy).out)
        self.succeed("inspect", "back", "--verify")
        for command, nothing in ((["inspect", "back"], r"best_step +–\s"), (["runs", "."], r" 0 +unknown +–"), (["inspect", "back", "qwen3"], r"best_step +–\s")):
            shown = self.succeed(*command).out
            self.assertNotRegex(shown, r"\binf\b|(^|\s)-1(\s|$)")
            self.assertRegex(shown, nothing)
        for row in (self.json("inspect", "back"), *(row for row in self.json("runs", ".") if row["run"] == "back")):
            self.assertEqual((row["best_val_loss"], row["best_step"]), (None, None))
        self.assertIn("--text FILE", self.fail_with(66, "eval", "back"))
        self.assertIn("without optimizer state", self.fail_with(65, "resume", "back", "--text", SAMPLE_TEXT))
        self.train("tuned", "back/config.json", 40, "--init_from", "back")
        self.assertLess(self.loss("tuned"), self.loss("back"))
        self.change("out", "config.json", rope_parameters=None)  # transformers 4 has rope_theta alone
        self.succeed("import", "out", "--run", "older", "--quiet")
        self.assertEqual(self.json_of("older/config.json")["model"]["rope_base"], 500)

    def test_rotations_that_are_scaled_are_refused_in_every_spelling(self):
        self.model("llama", 3)
        self.export("llama", "out")
        for name, kind in (("rope_scaling", "type"), ("rope_scaling", "rope_type"), ("rope_parameters", "rope_type")):
            with self.subTest(name=name, kind=kind):
                scaled = {"rope_scaling": None, "rope_parameters": None, name: {kind: "linear", "factor": 2.0}}
                self.change("out", "config.json", **scaled)
                self.assertIn("no RoPE scaling", self.fail_with(65, "import", "out", "--run", "back"))
        self.change("out", "config.json", rope_scaling=None, rope_parameters={"partial_rotary_factor": 0.5})
        self.assertIn("without partial rotation", self.fail_with(65, "import", "out", "--run", "back"))

    def test_buffers_that_older_versions_of_transformers_saved_are_passed_over(self):
        self.model("gpt2", 3)
        self.export("gpt2", "out")
        weights = self.contents("out")["model.safetensors"]
        header, begin = safetensors(weights)
        for name in ("attn.bias", "attn.masked_bias"):
            for layer in (0, 1):
                end = max(tensor["data_offsets"][1] for key, tensor in header.items() if key != "__metadata__")
                header[f"transformer.h.{layer}.{name}"] = {"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]}
        text = json.dumps(header).encode()
        self.write("out/model.safetensors", struct.pack("<Q", len(text)) + text + weights[begin:] + bytes(4 * 4))
        self.succeed("import", "out", "--run", "back", "--quiet")
        self.assertEqual(self.loss("back"), self.loss("gpt2"))

    def test_an_export_goes_to_a_path_that_does_not_exist(self):
        self.model("gpt2", 3)
        self.assertEqual(sorted(self.export("gpt2", "out/deep/")["files"]), sorted(self.contents("out/deep")))
        self.write("file", "text")
        for name in ("empty", "killed.partial"):
            (self.folder / name).mkdir()
        (self.folder / "link").symlink_to("nowhere")
        before = self.contents(".")
        for out, taken in (("out/deep", "out/deep"), ("file", "file"), ("empty", "empty"), ("link", "link"), ("killed", "killed.partial")):
            self.assertEqual(self.fail_with(75, "export", "gpt2", "--out", out), f"{taken} already exists; choose another path or remove it")
        self.assertEqual(self.contents("."), before)

    def test_a_folder_of_texts_leaves_out_an_export(self):
        self.model("gpt2", 3)
        (self.folder / "texts").mkdir()
        shutil.copy(SAMPLE_TEXT, self.folder / "texts")
        self.export("gpt2", "texts/out")
        self.assertIn("out (a model of transformers)", self.succeed("train", "quick", "--text", "texts", "--dry-run").err)

    def test_each_place_that_drops_in_a_gpt2_has_its_rate_there(self):
        rates = ("embd_pdrop", "attn_pdrop", "resid_pdrop")
        for place, name in (("embedding", "embd_pdrop"), ("attention", "attn_pdrop"), ("attention_output", "resid_pdrop"), ("mlp", "resid_pdrop")):
            self.train("run", "nanogpt-cpu", 1, *SIZE, "--dropout", "0.2", "--dropout_places", place, "--overwrite")
            self.export("run", f"out-{place}")
            config = self.json_of(f"out-{place}/config.json")
            self.assertEqual({rate: config[rate] for rate in rates}, {**dict.fromkeys(rates, 0), name: 0.2})

    def test_a_model_that_transformers_cannot_compute_is_refused_with_the_option_in_the_way(self):
        self.train("bigram", "ladder/bigram", 1)
        self.assertIn("model.type = \"bigram\"", self.fail_with(2, "export", "bigram", "--out", "out"))

    def test_the_card_names_license_text_and_losses(self):
        (self.folder / "texts").mkdir()
        shutil.copy(SAMPLE_TEXT, self.folder / "texts")
        self.train("teacher", "default", 2, *SIZE)
        sample = {"temperature": 0.5, "top_k": 7, "top_p": 0.9, "min_p": 0.05}
        options = [word for name, value in sample.items() for word in (f"--{name}", value)]
        self.train("mine", "default", 20, *SIZE, "--text", "texts/", "--teacher", "teacher", *options)
        self.assertIn("trust_remote_code=True", self.export("mine", "out", "--license", "mit")["notices"][0])
        card = (self.folder / "out/README.md").read_text()
        figures = self.figures_of("mine")
        counted = figures["baselines"]["ngram"]
        for part in ("\nlicense: mit\n", "`texts`, 29,049 characters (CRC-64 of the ids ",
                     f"| this model | {figures['loss']:.4f} | {figures['loss'] / math.log(2):.3f} |",
                     f"| ngram (order {counted['order']}) | {counted['loss']:.4f} |", "max_new_tokens=100)"):
            self.assertIn(part, card)
        self.assertNotRegex(card, r"\|\s*\w+_tokens")  # counts of tokens are not losses
        for name, content in self.contents("out").items():
            self.assertNotIn(bytes(self.folder), content, name)
        generation, tokenizer = (self.json_of(f"out/{name}.json") for name in ("generation_config", "tokenizer_config"))
        self.assertEqual({name: generation[name] for name in sample}, sample)
        self.assertEqual(tokenizer["model_max_length"], 48)
        self.set_figures("mine", {"checkpoint": {"step": 20}, "loss": "low", "baselines": [1], "part_in_training_text": 0.25})
        self.export("mine", "other")
        card = (self.folder / "other/README.md").read_text()
        self.assertNotIn("ngram", card)
        self.assertIn("Of the validation split, 25.0 % also occurs in the training text.", card)

    def test_the_card_says_how_many_steps_the_checkpoint_has_not_how_many_the_run(self):
        self.train("mine", "nanogpt-cpu", 20, *SIZE, "--keep", "3")
        self.export("mine", "out", "--checkpoint", "step-10")
        self.assertIn(", 10 steps.", (self.folder / "out/README.md").read_text())

    def test_the_card_names_every_text_whole(self):
        names = [f"a_rather_long_name_of_a_file_{i}.txt" for i in range(6)]
        for name in names:
            shutil.copy(SAMPLE_TEXT, self.folder / name)
        self.train("mine", "nanogpt-cpu", 1, *SIZE, "--text", *names)
        self.export("mine", "out")
        self.assertIn("`, `".join(names), (self.folder / "out/README.md").read_text())

    def test_the_card_has_the_loss_of_the_weights_that_were_chosen(self):
        self.train("mine", "nanogpt-cpu", 20, *SIZE, "--ema", "0.9")
        for weights in ("trained", "averaged"):
            self.export("mine", weights, "--weights", weights)
            loss = self.json("eval", "mine", "--weights", weights)["loss"]
            self.assertIn(f"| this model | {loss:.4f} | {loss / math.log(2):.3f} |\n", (self.folder / weights / "README.md").read_text())


class HostileTest(ExchangeTest):
    """One line, at once, and no run."""

    def setUp(self):
        super().setUp()
        self.start_from("gpt2")

    def start_from(self, name):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        self.export(self.model(name, 3), "out")
        self.good = self.contents("out")

    def refused(self, *parts, code=65):
        line = self.fail_with(code, "import", "out", "--run", "back")
        for part in parts:
            self.assertIn(part, line)
        self.assertFalse((self.folder / "back").exists())
        for name, content in self.good.items():
            self.write(f"out/{name}", content)

    def check_changes(self, name, *cases):
        """Each: other values in a file, and what is said of them."""
        for values, *parts in cases:
            with self.subTest(values=values):
                self.change("out", name, **values)
                self.refused(*parts)

    def test_sizes_that_are_absurd_or_not_those_of_the_tensors(self):
        sizes = {"n_embd": 1 << 16, "n_layer": 1000, "n_head": 3, "n_positions": 1 << 20, "vocab_size": 1 << 40, "n_inner": 1 << 20}
        self.check_changes("config.json", *(({key: value},) for key, value in sizes.items()),
                           *(({"vocab_size": value}, "vocab_size") for value in (-1, 0, 1.5, "4", [4], 1 << 62, 1e300, None)),
                           ({"model_type": "bert"}, "'model_type' is \"bert\", not gpt2, llama, qwen3 or chargpt"),
                           ({"activation_function": "mish"}, "'activation_function' is \"mish\""))
        self.write("out/config.json", "[" * 100000)
        self.refused("config.json")

    def test_options_of_our_own_that_do_not_fit(self):
        self.start_from("default")
        self.check_changes(
            "config.json", ({"position": "spiral"}, "position", "spiral"), ({"conv_places": 3}, "conv_places"), ({"conv_width": 5}, "conv_2.weight"),
            ({"n_layer": 1 << 40}, "n_layer"), ({"n_layer": 900}, "has no tensor"), ({"norm_eps": "small"}, "norm_eps"),
            ({"tie_word_embeddings": True}, "lm_head"), ({"mlp_size": -1}, "mlp_size"))

    def test_documents_of_an_unknown_kind(self):
        self.start_from("documents")
        self.check_changes("config.json", ({"documents": None}, "documents = null"), ({"documents": "pages"}, "pages"),
                           ({"documents": "none"}, "'documents' is \"none\", not that of its tokenizer"))

    def test_weights_that_are_no_numbers_overlap_or_are_cut(self):
        weights = self.good["model.safetensors"]
        header, begin = safetensors(weights)
        data = weights[begin:]

        def put(new_header, new_data=data):
            text = json.dumps(new_header).encode()
            self.write("out/model.safetensors", struct.pack("<Q", len(text)) + text + new_data)
        self.write("out/model.safetensors", struct.pack("<Q", 1 << 60) + weights[8:])
        self.refused("header")
        self.write("out/model.safetensors", weights[:-4])
        self.refused("model.safetensors")
        for value, word in ((math.nan, "NaN"), (-math.inf, "infinity")):
            put(header, struct.pack("<f", value) + data[4:])
            self.refused(f"holds {word} at place 0, so the model cannot be used", code=80)
        names = [name for name in header if name != "__metadata__"]
        put({**header, names[1]: header[names[0]]})
        self.refused("overlaps")
        put({**header, names[0]: {**header[names[0]], "dtype": "I32"}})
        self.refused("F32, F16 and BF16")
        (self.folder / "out" / "model.safetensors").unlink()
        self.write("out/pytorch_model.bin", "")
        self.refused("not as a pickle", code=66)

    def test_tokenizers_of_other_than_characters(self):
        model = json.loads(self.good["tokenizer.json"])["model"]
        vocab = model["vocab"]
        word = {**{token: id for token, id in vocab.items() if token != "a"}, "ab": vocab["a"]}
        self.check_changes(
            "tokenizer.json",
            ({"model": {**model, "vocab": word}}, "'ab'", "is not a single character"),
            ({"model": {**model, "vocab": {**vocab, "\u263a": vocab["a"]}}}, "id "),
            ({"model": {**model, "vocab": {**vocab, "\u263a": len(vocab)}}}, "from 0 to"),
            ({"model": {**model, "type": "Unigram"}}, "Unigram"),
            ({"model": {**model, "type": "BPE", "merges": ["a b"]}}, "merges"),
            ({"model": None}, "tokenizer.json"),
            ({"model": {**model, "vocab": [1]}}, "no vocabulary"),
            ({"normalizer": {"type": "Lowercase"}}, "Lowercase"),
            ({"post_processor": 3}, "post_processor"),
            ({"pre_tokenizer": {"type": "Whitespace"}}, "Whitespace"),
            ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [3]}}, "pre_tokenizer"),
            ({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a"}}]}}, "TemplateProcessing"),
            ({"added_tokens": [{"id": 0, "content": "a"}]}, "'a'"),
            ({"added_tokens": [{"id": "0"}]}, "added_tokens"))
        text = self.good["tokenizer.json"].decode()
        self.write("out/tokenizer.json", text.replace('"a":', '"b":', 1))
        self.refused("tokenizer.json")

    def test_special_tokens_keep_their_place_as_characters_of_private_use(self):
        good = json.loads(self.good["tokenizer.json"])
        vocab = {("[UNK]" if token == "Q" else token): id for token, id in good["model"]["vocab"].items()}
        self.change("out", "tokenizer.json", model={**good["model"], "vocab": vocab, "unk_token": "[UNK]"}, padding="of a large file" * 9999)
        imported = self.json("import", "out", "--run", "back", "--quiet")
        self.assertEqual(imported["notices"], ["tokens that are not characters became private-use characters: '[UNK]' is U+F0000"])
        self.assertAlmostEqual(self.loss("back"), self.loss("gpt2"), places=6)

    def test_dropout_rates_become_one_rate_and_the_places_where_it_acts(self):
        for name, places in (("embd_pdrop", ["embedding"]), ("attn_pdrop", ["attention"]), ("resid_pdrop", ["attention_output", "mlp"])):
            self.change("out", "config.json", **{"embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0, name: 0.2})
            self.succeed("import", "out", "--run", name, "--quiet")
            model = self.json_of(f"{name}/config.json")["model"]
            self.assertEqual((model["dropout"], model["dropout_places"]), (0.2, places))
        self.change("out", "config.json", embd_pdrop=0.1, attn_pdrop=0, resid_pdrop=0.3)
        self.succeed("import", "out", "--run", "several", "--quiet")
        model = self.json_of("several/config.json")["model"]
        self.assertEqual((model["dropout"], model["dropout_places"]), (0.1, ["embedding", "attention_output", "mlp"]))  # of several the first
