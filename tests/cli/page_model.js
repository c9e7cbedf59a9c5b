// The model of a page, by the page's own scripts: node page_model.js PAGE [WEIGHTS.safetensors] < REQUEST.json
// With the weights of a checkpoint, which the page has in half precision only, these take their place.
// {"windows": [[id, ...], ...]} -> "logits": the logarithms of the probabilities at every place of each window.
// {"prompt": [id, ...], "tokens": n} -> "ids": the most probable continuation, up to the end of its document.
"use strict";
const fs = require("fs");
const html = fs.readFileSync(process.argv[2], "utf8");
const scripts = [...html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)];
const data = JSON.parse(scripts.find(([, attributes]) => attributes.includes("application/json"))[2]);
const code = scripts.find(([, attributes, text]) => attributes === "" && text.includes("class Model"))[2];
const {Model, Reader, softmax, choose} = new Function("module", code + "; return {Model, Reader, softmax, choose};")({});

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const model = new Model(data.model), answer = {};
if (process.argv[3]) {
  const file = fs.readFileSync(process.argv[3]), length = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, 8 + length)), values = file.buffer.slice(file.byteOffset + 8 + length);
  for (const [name, tensor] of Object.entries(model.tensors)) {
    const {shape, data_offsets: [begin, end]} = header[name];
    if (shape.join() !== tensor.shape.join()) throw new Error(name + " has another shape");
    tensor.values = new Float32Array(values.slice(begin, end));
  }
}
if (request.windows) {
  const reader = new Reader(model);
  const leaks = data.model.config.type === "average" && !data.model.config.causal;  // every row is the mean of all
  answer.logits = request.windows.map((window) => {
    reader.clear();
    const rows = window.map((id) => Array.from(softmax(reader.read(id).logits), Math.log));
    return leaks ? rows.map(() => rows[rows.length - 1]) : rows;
  });
}
if (request.prompt) {
  const reader = new Reader(model);
  let expected = null;
  for (const id of request.prompt) expected = reader.read(id);
  answer.ids = [];
  while (answer.ids.length < request.tokens) {
    const id = choose(expected.logits, {temperature: 0, topK: 0, topP: 1}, Math.random);
    if (id === data.model.document) break;
    answer.ids.push(id);
    expected = reader.read(id);
  }
}
process.stdout.write(JSON.stringify(answer));
