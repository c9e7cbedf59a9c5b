"""Models of chargpt for transformers: AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True).

The options of ChargptConfig and the names of the weights are chargpt's; `chargpt train --help` explains each option.
Shapes: B sequences, T new tokens and S tokens so far of each, C = n_embd, nh heads of hs features.
"""

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from transformers import DynamicCache, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.modeling_outputs import CausalLMOutputWithPast

DEFAULTS = {
    "vocab_size": 256, "n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "head_size": 0, "mlp_size": 0,
    "dropout": 0.0, "dropout_places": ["embedding", "attention", "attention_output", "mlp"],
    "bias": False, "bias_places": ["attention", "attention_output", "mlp", "norm"],
    "norm": "layernorm", "norm_place": "pre", "norm_gain": True, "norm_eps": 1e-5, "final_norm": True,
    "position": "learned", "rope_base": 10000.0, "attention_scale": "head", "qk_norm": False, "output_projection": True,
    "feed_forward": True, "activation": "gelu", "conv_places": [], "conv_width": 4, "use_cache": True,
}
ACTIVATIONS = {"gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh"), "relu": F.relu,
               "relu2": lambda x: F.relu(x).square(), "swiglu": F.silu}


class ChargptConfig(PretrainedConfig):
    model_type = "chargpt"
    attribute_map = {"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
                     "max_position_embeddings": "block_size"}

    def __init__(self, **kwargs):
        for name, default in DEFAULTS.items():
            setattr(self, name, kwargs.pop(name, default))
        super().__init__(**kwargs)

    def has_bias(self, place):
        return self.bias and place in self.bias_places

    def dropout_at(self, place):
        return self.dropout * (place in self.dropout_places)


class Norm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.kind, self.eps = config.norm, config.norm_eps
        has_gain = config.norm_gain and self.kind != "none"
        has_bias = config.has_bias("norm") and self.kind == "layernorm"
        self.weight = nn.Parameter(torch.ones(config.n_embd)) if has_gain else None
        self.bias = nn.Parameter(torch.zeros(config.n_embd)) if has_bias else None

    def forward(self, x):
        if self.kind == "layernorm":
            return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps) if self.kind == "rmsnorm" else x


class Convolution(nn.Module):
    """Adds to each token a weighted sum of the last tokens, channel by channel."""

    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(config.conv_width, config.n_embd))

    def forward(self, x, visible, cache):
        if visible is not None:
            x = x * visible[:, -x.shape[1]:, None]  # padding counts as zeros, like the positions before the first token
        rows = x
        if cache is not None:  # as keys of one head, without values
            cache.layers += [DynamicLayer() for _ in range(self.cache_index + 1 - len(cache.layers))]
            rows = cache.update(x[:, None], x[:, None, :, :0], self.cache_index)[0][:, 0]  # (B, S, C)
        rows = F.pad(rows.mT, (len(self.weight) - 1, 0))  # (B, C, width - 1 + S)
        return x + F.conv1d(rows, self.weight.flip(0).mT[:, None], groups=x.shape[2]).mT[:, -x.shape[1]:]


def rotate(x, turn):
    """x (B, nh, T, hs): pairs are a feature of the first half of a head and one of the second."""
    cosines, sines = turn  # (B, 1, T, hs / 2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1)


class Attention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.layer, self.n_head = layer, config.n_head
        self.head_size = config.head_size or config.n_embd // config.n_head
        self.scale = {"head": self.head_size, "width": config.n_embd, "none": 1}[config.attention_scale] ** -0.5
        self.qk_norm, self.eps = config.qk_norm, config.norm_eps
        self.weights_dropout = config.dropout_at("attention")
        self.output_dropout = config.dropout_at("attention_output")
        joined = self.n_head * self.head_size
        self.c_attn = nn.Linear(config.n_embd, 3 * joined, config.has_bias("attention"))
        projection = nn.Linear(joined, config.n_embd, config.has_bias("attention_output"))
        self.c_proj = projection if config.output_projection else nn.Identity()

    def forward(self, x, turn, mask, cache):
        heads = [part.unflatten(-1, (self.n_head, self.head_size)) for part in self.c_attn(x).chunk(3, dim=-1)]
        q, k, v = (part.transpose(1, 2) for part in heads)  # (B, nh, T, hs)
        if self.qk_norm:
            q, k = (F.rms_norm(part, part.shape[-1:], eps=self.eps) for part in (q, k))
        if turn is not None:
            q, k = rotate(q, turn), rotate(k, turn)
        if cache is not None:
            k, v = cache.update(k, v, self.layer)  # (B, nh, S, hs)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.weights_dropout * self.training,
                                           is_causal=mask is None, scale=self.scale)
        return F.dropout(self.c_proj(y.transpose(1, 2).flatten(2)), self.output_dropout, self.training)


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activate, self.dropout = ACTIVATIONS[config.activation], config.dropout_at("mlp")
        width, bias = config.mlp_size or 4 * config.n_embd, config.has_bias("mlp")
        self.c_fc = nn.Linear(config.n_embd, width, bias)
        self.c_gate = nn.Linear(config.n_embd, width, bias) if config.activation == "swiglu" else None
        self.c_proj = nn.Linear(width, config.n_embd, bias)

    def forward(self, x):
        h = self.activate(self.c_fc(x)) if self.c_gate is None else self.activate(self.c_gate(x)) * self.c_fc(x)
        return F.dropout(self.c_proj(h), self.dropout, self.training)


class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.norm_first = config.norm_place == "pre"
        self.conv_1 = Convolution(config) if "attention" in config.conv_places else None
        self.conv_2 = Convolution(config) if "mlp" in config.conv_places else None
        self.ln_1, self.attn = Norm(config), Attention(config, layer)
        self.ln_2, self.mlp = (Norm(config), FeedForward(config)) if config.feed_forward else (None, None)

    def forward(self, x, turn, mask, visible, cache):
        def residual(x, norm, convolution, sublayer, *rest):
            h = norm(x) if self.norm_first else x
            if convolution is not None:
                h = convolution(h, visible, cache)
            x = x + sublayer(h, *rest)
            return x if self.norm_first else norm(x)

        x = residual(x, self.ln_1, self.conv_1, self.attn, turn, mask, cache)
        return x if self.mlp is None else residual(x, self.ln_2, self.conv_2, self.mlp)


def angles_of(positions, width, base):
    """The angle of each pair of features at positions (B, T): (B, T, width / 2), rounded up."""
    return positions[..., None] * base ** -(torch.arange(0, width, 2, device=positions.device) / width)


class ChargptForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = ChargptConfig
    _no_split_modules = ["Block"]
    _tied_weights_keys = {"lm_head.weight": "transformer.wte.weight"}

    def __init__(self, config):
        super().__init__(config)
        learned = {"wpe": nn.Embedding(config.block_size, config.n_embd)} if config.position == "learned" else {}
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(config.vocab_size, config.n_embd), **learned,
            "h": nn.ModuleList(Block(config, layer) for layer in range(config.n_layer)),
            "ln_f": Norm(config) if config.final_norm else nn.Identity()})
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, config.has_bias("head"))
        for index, convolution in enumerate(module for module in self.modules() if isinstance(module, Convolution)):
            convolution.cache_index = config.n_layer + index
        self.post_init()

    def get_input_embeddings(self):
        return self.transformer["wte"]

    def embed(self, ids, positions):
        x = self.transformer["wte"](ids)
        if self.config.position == "learned":
            x = x + self.transformer["wpe"](positions)
        if self.config.position == "sinusoidal":
            angles = angles_of(positions, self.config.n_embd, 10000.0)
            x = x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., :x.shape[-1]].to(x.dtype)
        return F.dropout(x, self.config.dropout_at("embedding"), self.training)

    def forward(self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, cache=None, labels=None,
                use_cache=None, **kwargs):
        cache = past_key_values if cache is None else cache  # the name until transformers 5.22, and the one since
        if cache is None and (self.config.use_cache if use_cache is None else use_cache):
            cache = DynamicCache()
        T, past = input_ids.shape[1], cache.get_seq_length() if cache is not None else 0
        # Each token sees itself and earlier ones; without past or padding that needs no mask.
        seen = torch.ones(T, past + T, dtype=torch.bool, device=input_ids.device).tril(past)
        mask = None if past == 0 and attention_mask is None else seen
        if attention_mask is not None:  # (B, S); padding sees itself, or it would see nothing
            mask = mask & (attention_mask[:, None, None].bool() | torch.eye(past + T, device=mask.device)[past:].bool())
        if position_ids is None:
            position_ids = torch.arange(past, past + T, device=input_ids.device)[None]
        x = self.embed(input_ids, position_ids)
        head_size, rope = self.transformer["h"][0].attn.head_size, self.config.position == "rope"
        angles = angles_of(position_ids, head_size, self.config.rope_base)[:, None] if rope else None
        turn = (angles.cos().to(x.dtype), angles.sin().to(x.dtype)) if rope else None
        for block in self.transformer["h"]:
            x = block(x, turn, mask, attention_mask, cache)
        logits = self.lm_head(self.transformer["ln_f"](x))
        loss = None if labels is None else self.loss_function(logits, labels, self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(loss, logits, cache)
