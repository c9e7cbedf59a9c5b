// A trained model in plain JavaScript: weights, one step of the model, and the choice of the next character. Reads like
// any description of a GPT. Independent of the page.
//
// Shapes: C channels (n_embd), V symbols, nh heads, hs features of a head, t the position of a token.
"use strict";

// ---- weights

function bytesOfBase64(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes.buffer;
}

// IEEE 754 half precision: a sign, 5 bits of exponent, 10 of fraction.
function floatOfHalf(half) {
  const sign = half & 0x8000 ? -1 : 1, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// Tensors by name, from base64 of half-precision numbers, tensor after tensor.
function readTensors(data) {
  const values = Float32Array.from(new Uint16Array(bytesOfBase64(data.values)), floatOfHalf), tensors = {};
  let at = 0;
  for (const {name, shape} of data.tensors) {
    const begin = at, width = shape[shape.length - 1];
    at += shape.reduce((a, b) => a * b, 1);
    tensors[name] = {shape, width, values: values.subarray(begin, at)};
  }
  return tensors;
}

// ---- arithmetic on vectors

// The sum of W[at + i] x[i]. Four sums side by side: a processor need not wait for one addition to begin the next.
function dot(W, at, x) {
  const length = x.length, whole = length - length % 4;
  let a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i < whole; i += 4) {
    a += W[at + i] * x[i];
    b += W[at + i + 1] * x[i + 1];
    c += W[at + i + 2] * x[i + 2];
    d += W[at + i + 3] * x[i + 3];
  }
  for (; i < length; ++i) a += W[at + i] * x[i];
  return a + b + (c + d);
}

// y = W x + b, W (out, in)
function linear(weight, bias, x) {
  const W = weight.values, columns = weight.width, rows = W.length / columns, y = new Float32Array(rows);
  for (let row = 0; row < rows; ++row) y[row] = dot(W, row * columns, x) + (bias ? bias.values[row] : 0);
  return y;
}

function add(x, y) {
  for (let i = 0; i < x.length; ++i) x[i] += y[i];
}

const row = (tensor, number) => tensor.values.subarray(number * tensor.width, (number + 1) * tensor.width);

// In place: divides x[begin, end) by its root mean square.
function rmsNorm(x, begin, end, eps) {
  let sum = 0;
  for (let i = begin; i < end; ++i) sum += x[i] * x[i];
  const scale = 1 / Math.sqrt(sum / (end - begin) + eps);
  for (let i = begin; i < end; ++i) x[i] *= scale;
}

function softmax(scores) {
  const largest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = Float64Array.from(scores, (score) => Math.exp(score - largest));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

// The complementary error function for z >= 0, by a rational Chebyshev fit (Numerical Recipes, erfcc: 1.2e-7 relative).
function erfc(z) {
  const t = 1 / (1 + z / 2);
  const factors = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
                   1.00002368, -1.26551223];
  return t * Math.exp(-z * z + factors.reduce((sum, factor) => sum * t + factor, 0));
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const activations = {
  gelu: (x) => x * (x < 0 ? erfc(-x / Math.SQRT2) / 2 : 1 - erfc(x / Math.SQRT2) / 2),
  gelu_tanh: (x) => x * sigmoid(2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)),
  relu: (x) => Math.max(x, 0),
  relu2: (x) => Math.max(x, 0) ** 2,
  swiglu: (x) => x * sigmoid(x),  // of the gate
};

// ---- the model

class Model {
  // `data`: the model as written by the program (config, symbols, tensors, base64 of the values).
  constructor(data) {
    this.config = data.config;
    this.symbols = data.symbols;
    this.V = data.vocab_size;
    this.tensors = readTensors(data);
    const config = this.config;
    this.isTransformer = config.type === "gpt";
    this.projects = this.isTransformer || config.type === "attention";
    this.prefix = this.isTransformer ? "transformer." : "";
    this.heads = this.projects ? config.n_head : 1;
    this.headSize = this.projects ? config.head_size || config.n_embd / config.n_head : config.n_embd;
    this.layers = this.isTransformer ? config.n_layer : config.type === "bigram" ? 0 : 1;
    const divisor = {head: this.headSize, width: config.n_embd, none: 1}[config.attention_scale];
    this.scoreScale = this.projects ? 1 / Math.sqrt(divisor) : 1;
  }

  // Applies the linear layer `name`.
  linear(name, x) {
    return linear(this.tensors[name + ".weight"], this.tensors[name + ".bias"], x);
  }

  // wte[id] + position t: (C).
  embed(id, t) {
    const x = Float32Array.from(row(this.tensors[this.prefix + "wte.weight"], id));
    const learned = this.tensors[this.prefix + "wpe.weight"];
    if (learned)
      add(x, row(learned, t));
    else if (this.projects && this.config.position === "sinusoidal")
      for (let i = 0; i < x.length; ++i) {
        const angle = t * 10000 ** (-2 * Math.floor(i / 2) / x.length);
        x[i] += i % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
      }
    return x;
  }

  // Normalises x with the gain and bias of `name`; returns a new vector.
  norm(name, x) {
    const {norm, norm_eps} = this.config, y = Float32Array.from(x);
    if (!this.isTransformer || norm === "none") return y;
    if (norm === "layernorm") {
      const mean = y.reduce((a, b) => a + b, 0) / y.length;
      for (let i = 0; i < y.length; ++i) y[i] -= mean;
    }
    rmsNorm(y, 0, y.length, norm_eps);
    const gain = this.tensors[name + ".weight"], bias = this.tensors[name + ".bias"];
    for (let i = 0; i < y.length; ++i) y[i] = y[i] * (gain ? gain.values[i] : 1) + (bias ? bias.values[i] : 0);
    return y;
  }

  // x + sum over j of w_j x_(t-j), in each channel. `seen`: the inputs so far, x the last.
  convolve(name, x, seen) {
    const weight = this.tensors[name + ".weight"];
    if (!weight) return x;
    seen.push(Float32Array.from(x));
    if (seen.length > weight.shape[0]) seen.shift();
    const y = Float32Array.from(x);
    for (let j = 0; j < seen.length; ++j) {
      const w = row(weight, j), past = seen[seen.length - 1 - j];
      for (let i = 0; i < y.length; ++i) y[i] += w[i] * past[i];
    }
    return y;
  }

  // Rotates feature pairs (i, i + hs/2) of each head by t base^(-2i/hs): products of queries and keys then depend
  // on the distance of their positions.
  rotate(x, t) {
    const hs = this.headSize, half = hs / 2;
    for (let head = 0; head < x.length; head += hs)
      for (let i = 0; i < half; ++i) {
        const angle = t * this.config.rope_base ** (-2 * i / hs), c = Math.cos(angle), s = Math.sin(angle);
        const a = x[head + i], b = x[head + half + i];
        x[head + i] = a * c - b * s;
        x[head + half + i] = b * c + a * s;
      }
  }

  // Query, key and value of a token, each (nh hs).
  queryKeyValue(name, x, t) {
    if (!this.projects) {  // average: equal weights; masked: weights by similarity
      const own = Float32Array.from(x);
      return [this.config.type === "average" ? new Float32Array(x.length) : own, own, own];
    }
    const qkv = this.linear(name + "attn.c_attn", x);
    const A = this.heads * this.headSize, q = qkv.slice(0, A), k = qkv.slice(A, 2 * A), v = qkv.slice(2 * A);
    for (const part of [q, k]) {
      if (this.config.qk_norm)
        for (let head = 0; head < A; head += this.headSize)
          rmsNorm(part, head, head + this.headSize, this.config.norm_eps);
      if (this.config.position === "rope") this.rotate(part, t);
    }
    return [q, k, v];
  }

  // Attention of one token: softmax of q . k, times v. Returns the sum and each head's weights.
  attend(q, keys, values) {
    const hs = this.headSize, out = new Float32Array(q.length), weights = [];
    for (let head = 0; head < q.length; head += hs) {
      const scores = keys.map((key) => {
        let sum = 0;
        for (let i = head; i < head + hs; ++i) sum += q[i] * key[i];
        return sum * this.scoreScale;
      });
      const ofHead = softmax(scores);
      for (let j = 0; j < values.length; ++j)
        for (let i = head; i < head + hs; ++i) out[i] += ofHead[j] * values[j][i];
      weights.push(Float32Array.from(ofHead));
    }
    return [out, weights];
  }

  // attention(x), (C), and the weights of its heads. `cache`: keys, values and inputs of the layer so far.
  attention(name, x, t, cache) {
    const input = this.convolve(name + "conv_1", x, cache.convolved_1);
    const [q, k, v] = this.queryKeyValue(name, input, t);
    cache.keys.push(k);
    cache.values.push(v);
    const [joined, weights] = this.attend(q, cache.keys, cache.values);
    const projection = this.tensors[name + "attn.c_proj.weight"];
    return [projection ? this.linear(name + "attn.c_proj", joined) : joined, weights];
  }

  // The feed-forward layer: expand, apply the activation, project back.
  mlp(name, x, cache) {
    const input = this.convolve(name + "conv_2", x, cache.convolved_2), f = activations[this.config.activation];
    const hidden = this.linear(name + "mlp.c_fc", input);
    const gate = this.tensors[name + "mlp.c_gate.weight"] && this.linear(name + "mlp.c_gate", input);
    for (let i = 0; i < hidden.length; ++i) hidden[i] = gate ? hidden[i] * f(gate[i]) : f(hidden[i]);
    return this.linear(name + "mlp.c_proj", hidden);
  }

  // One block for one token: x (C) changed in place. Returns the weights of the attention's heads.
  block(layer, x, t, cache) {
    const name = this.isTransformer ? `transformer.h.${layer}.` : "";
    const after = this.config.norm_place === "post" && this.isTransformer;
    const [attended, weights] = this.attention(name, after ? x : this.norm(name + "ln_1", x), t, cache);
    if (this.isTransformer)
      add(x, attended);
    else
      x.set(attended);
    if (after) x.set(this.norm(name + "ln_1", x));
    if (!this.isTransformer || !this.config.feed_forward) return weights;
    add(x, this.mlp(name, after ? x : this.norm(name + "ln_2", x), cache));
    if (after) x.set(this.norm(name + "ln_2", x));
    return weights;
  }

  // One token at position t. Returns the logits of the next, (V), and attention[layer][head], the weights over the
  // tokens in the cache.
  step(id, t, caches) {
    const x = this.embed(id, t);
    const attention = caches.map((cache, layer) => this.block(layer, x, t, cache));
    const last = this.isTransformer && this.config.final_norm ? this.norm("transformer.ln_f", x) : x;
    const head = this.tensors["lm_head.weight"] || this.tensors[this.prefix + "wte.weight"];
    return {logits: linear(head, this.tensors["lm_head.bias"], last), attention};
  }
}

// ---- a text that grows

// The window that a model has read. When its block_size tokens are full, a model with relative or no positions drops
// the oldest token; others read the last half again (below 32 tokens all but the oldest), as the program does by
// default.
class Reader {
  constructor(model) {
    this.model = model;
    this.clear();
  }

  clear() {
    this.ids = [];     // of the window
    this.position = 0;
    const empty = () => ({keys: [], values: [], convolved_1: [], convolved_2: []});
    this.caches = Array.from({length: this.model.layers}, empty);
  }

  // Reads one token. Returns the result of Model.step.
  read(id) {
    const {model} = this, block = model.config.block_size;
    // Only relative positions matter, so the oldest token can be dropped.
    if (model.projects && ["rope", "none"].includes(model.config.position)) {
      for (const cache of this.caches)
        if (cache.keys.length === block) cache.keys.shift(), cache.values.shift();
    } else if (this.ids.length === block) {
      const kept = block < 32 ? block - 1 : Math.floor(block / 2);
      const again = kept > 0 ? this.ids.slice(-kept) : [];
      this.clear();
      again.forEach((old) => this.take(old));
    }
    return this.take(id);
  }

  take(id) {
    this.ids.push(id);
    if (this.ids.length > this.model.config.block_size) this.ids.shift();
    return this.model.step(id, this.position++, this.caches);
  }
}

// ---- the choice of the next character

// A small generator of random numbers in [0, 1), the same for the same seed (mulberry32).
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = state + 0x6d2b79f5 >>> 0;
    let t = Math.imul(state ^ state >>> 15, state | 1);
    t ^= t + Math.imul(t ^ t >>> 7, t | 61);
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

// Temperature 0 takes the most probable symbol, the first of equals. Else: divides logits by it, keeps the `topK` most
// probable symbols (0: all), then the fewest with a total probability of topP.
function choose(logits, {temperature, topK, topP}, random) {
  const ranked = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
  if (temperature === 0) return ranked[0];
  const kept = topK > 0 ? ranked.slice(0, topK) : ranked;
  const probabilities = softmax(kept.map((id) => logits[id] / temperature));
  let sum = 0, count = 0;
  while (count < kept.length && (count === 0 || sum < topP)) sum += probabilities[count++];
  let left = random() * sum;
  for (let i = 0; i < count; ++i) {
    left -= probabilities[i];
    if (left < 0) return kept[i];
  }
  return kept[count - 1];
}

if (typeof module !== "undefined") module.exports = {Model, Reader, softmax, choose, randomNumbers, floatOfHalf};
