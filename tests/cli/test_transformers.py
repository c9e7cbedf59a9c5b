"""Models that transformers loads, and models that it made."""

import contextlib
import io
import os
import tempfile

from exchange import DOCUMENTS, MODELS, OWN_MODELS, SIZE, TEXT, ExchangeTest, needs

MODULES = tempfile.TemporaryDirectory()  # where transformers copies the code of a folder
os.environ.update(HF_HUB_OFFLINE="1", HF_MODULES_CACHE=MODULES.name)


@needs("torch", "transformers", "tokenizers")
class TransformersTest(ExchangeTest):
    def setUp(self):
        super().setUp()
        from transformers.utils import logging
        logging.disable_progress_bar()

    def test_transformers_computes_what_chargpt_does(self):
        models = [*MODELS, *OWN_MODELS, *DOCUMENTS]
        for name in models:
            self.model(name)
        self.assertEqual(len(self.script("check/exports.py", "--windows", "2", *models).stdout.splitlines()), 1 + len(models))

    def test_the_code_of_a_card_writes_a_text(self):
        for name in [*MODELS, *OWN_MODELS, *DOCUMENTS]:
            with self.subTest(name):
                self.export(self.model(name, 3), name + "-out")
                code = (self.folder / (name + "-out") / "README.md").read_text().split("```python\n")[1].split("```")[0]
                with contextlib.redirect_stdout(io.StringIO()) as written:
                    exec(code, {"FOLDER": self.folder / (name + "-out"), "PROMPT": "the "})
                self.assertIn("the ", written.getvalue())

    def test_every_character_of_a_text_goes_through_the_tokenizer_and_back(self):
        odd = "\t\n\r \u00a0\u0301e\u0301\u2028\u3000\ufeff\U0001f469\U0001f3fd\u200d\U0001f52c\\\"'<s>[UNK] a  b .,!?\n\n"
        self.train("odd", "nanogpt-cpu", 2, *SIZE, text=odd * 60)
        self.export("odd", "out")
        from transformers import AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained(self.folder / "out")
        symbols = sorted(set(odd))
        self.assertEqual(tokenizer.encode(odd), [symbols.index(character) for character in odd])
        self.assertEqual(tokenizer.decode(tokenizer.encode(odd)), odd)
        for character in symbols:
            self.assertEqual(tokenizer.decode(tokenizer.encode(character)), character)
        with self.assertRaisesRegex(Exception, "Missing .* token"):
            tokenizer.encode("\u263a")

    def test_the_end_of_a_document_begins_and_ends_texts(self):
        self.model("documents")
        self.export("documents", "out")
        from transformers import AutoModelForCausalLM, AutoTokenizer
        tokenizer, model = AutoTokenizer.from_pretrained(self.folder / "out"), AutoModelForCausalLM.from_pretrained(self.folder / "out")
        document = len(tokenizer) - 1
        self.assertEqual({tokenizer.bos_token_id, tokenizer.eos_token_id, model.config.bos_token_id, model.generation_config.eos_token_id}, {document})
        self.assertEqual([id == document for id in tokenizer.encode("The ")], [True, False, False, False, False])
        self.assertEqual(tokenizer.decode(tokenizer.encode("The "), skip_special_tokens=True), "The ")
        self.assertEqual(tokenizer.decode(document), "<|endoftext|>")

    def test_a_text_that_spells_the_name_of_the_boundary_has_its_characters(self):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        line = "in <|endoftext|> out"
        for units in ("characters", "bytes"):
            with self.subTest(units):
                self.train(units, "nanogpt-cpu", 30, *SIZE, "--documents", "lines", "--units", units, text=f"{line}\n" * 90 + f"{line}{line}\n" * 90)
                self.export(units, units + "-out")
                tokenizer, model = (kind.from_pretrained(self.folder / (units + "-out")) for kind in (AutoTokenizer, AutoModelForCausalLM))
                ids = tokenizer.encode(line)
                self.assertEqual([id == tokenizer.eos_token_id for id in ids], [True] + [False] * len(line))
                ids = torch.tensor([[*ids, tokenizer.eos_token_id]])
                self.assertAlmostEqual(model(ids, labels=ids).loss.item(), self.json("score", units, self.write("line.txt", line))["loss"], places=4)

    def test_padding_changes_nothing_and_dropout_acts_in_its_places(self):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        self.train("own", "default", 30, *SIZE, "--dropout", "0.1", "--dropout_places", "attention")
        self.export("own", "out")
        tokenizer, model = (kind.from_pretrained(self.folder / "out", trust_remote_code=True) for kind in (AutoTokenizer, AutoModelForCausalLM))
        attention = model.transformer["h"][0].attn
        self.assertEqual((attention.weights_dropout, attention.output_dropout), (0.1, 0))
        texts = [torch.tensor(tokenizer.encode(text)) for text in ("The ", "some of it")]
        there = [torch.ones_like(text) for text in texts]
        ids, mask = (torch.nn.utils.rnn.pad_sequence(each, batch_first=True, padding_side="left") for each in (texts, there))
        with torch.no_grad():
            padded = model(ids, attention_mask=mask, position_ids=(mask.cumsum(1) - 1).clamp(min=0)).logits
            for row, text in zip(padded, texts, strict=True):
                self.assertLess((row[-len(text):] - model(text[None]).logits[0]).abs().max().item(), 1e-4)

    def tokenizer(self, characters, special):
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast
        words = special + characters
        tokenizer = Tokenizer(models.WordLevel({word: id for id, word in enumerate(words)}, unk_token=special[0] if special else ""))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        tokenizer.decoder = decoders.Fuse()
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]" if special else None, pad_token="[PAD]" if "[PAD]" in special else None)

    def test_models_that_transformers_made_have_its_losses(self):
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM
        characters = sorted(set(TEXT), key=lambda character: ord(character) * 37 % 97)  # not in the order of code points
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40, "max_position_embeddings": 64}
        torch.manual_seed(0)
        for name, special, dtype, make in [
                ("gpt2", [], torch.float32, lambda size: GPT2LMHeadModel(GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=64,
                                                                                    bos_token_id=None, eos_token_id=None))),
                ("llama", ["[UNK]", "[PAD]"], torch.float16, lambda size: LlamaForCausalLM(LlamaConfig(
                    vocab_size=size, num_key_value_heads=2, attention_bias=True, bos_token_id=None, eos_token_id=None, **sizes))),
                ("qwen3", ["[UNK]"], torch.bfloat16, lambda size: Qwen3ForCausalLM(Qwen3Config(
                    vocab_size=size, num_key_value_heads=1, head_dim=12, bos_token_id=None, eos_token_id=None, **sizes)))]:
            with self.subTest(name):
                tokenizer = self.tokenizer(characters, special)
                model = make(len(tokenizer)).eval()
                with torch.no_grad():
                    for key, parameter in model.named_parameters():
                        if not key.endswith(("q_norm.weight", "k_norm.weight")):
                            parameter.add_(torch.randn_like(parameter) * 0.1)
                model = model.to(dtype)
                tokenizer.save_pretrained(self.folder / name)
                model.save_pretrained(self.folder / name)
                self.succeed("import", name, "--run", f"{name}.run", "--quiet")
                ids = torch.tensor([tokenizer.encode(TEXT)[:65]])
                with torch.no_grad():
                    read = type(model).from_pretrained(self.folder / name, dtype=torch.float32).eval()  # .float() would keep rounded angles
                    theirs = torch.nn.functional.cross_entropy(read(ids[:, :-1]).logits[0], ids[0, 1:]).item()
                self.write("text.txt", TEXT[:65])
                self.assertAlmostEqual(self.json("eval", f"{name}.run", "--text", "text.txt", "--quiet")["loss"], theirs, delta=1e-5)
