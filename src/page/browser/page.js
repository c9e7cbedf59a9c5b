// Draws the page from the data of runs and model, with drawing.js.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const content = document.getElementById("content");
const unit = data.runs[0].config.data.units === "bytes" ? "byte" : "character";

function section(heading, ...children) {
  const made = element("section", {}, element("h2", {}, heading), ...children);
  content.append(made);
  return made;
}

// ---- the model

// One generated text: its own reader, settings, and the characters so far with the model's prediction for each.
class Writing {
  constructor(model, column) {
    this.model = model;
    this.characters = [];
    this.chosen = -1;
    this.running = false;
    const field = (name, label, value, attributes) => {
      this[name] = element("input", {type: "number", value, ...attributes});
      return element("label", {}, label, this[name]);
    };
    this.prompt = element("textarea", {"aria-label": "prompt", spellcheck: "false"});
    this.prompt.value = data.model.prompt || promptFromSamples();
    this.start = element("button", {class: "main", click: () => this.running ? this.stop() : this.write()}, "Write");
    this.text = element("div", {class: "text", tabindex: 0, role: "group",
        "aria-label": "what the model wrote; arrow keys move from character to character"});
    this.status = element("p", {class: "soft", role: "status"}, "");
    this.details = element("div", {});
    column.append(element("label", {style: "width: 100%"}, "Prompt", this.prompt),
      element("div", {class: "row controls"},
        field("temperature", "temperature", 0.8, {min: 0, max: 1000, step: 0.1}),
        field("topK", "top-k (0: all)", 0, {min: 0, max: 1e9, step: 1}),
        field("topP", "top-p", 1, {min: 0, max: 1, step: 0.05}),
        field("seed", "seed", 1337, {min: 0, max: 2 ** 32 - 1, step: 1}),
        field("length", `${unit}s`, 300, {min: 1, max: 100000, step: 1}), this.start),
      this.status, this.text, this.details);
    this.prompt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.write();
    });
    this.text.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -20, ArrowDown: 20}[event.key];
      if (!step || this.characters.length === 0) return;
      event.preventDefault();
      this.look(Math.min(this.characters.length - 1, Math.max(0, this.chosen + step)));
    });
    const under = (event) => {
      const index = [...this.text.children].indexOf(event.target);
      if (index >= 0) this.look(index);
    };
    this.text.addEventListener("pointerover", under);
    this.text.addEventListener("click", under);
  }

  // Ids of the prompt; throws an error that names a character outside the vocabulary.
  promptIds() {
    if (this.model.bytes) return [...new TextEncoder().encode(this.prompt.value)];
    const units = [...this.prompt.value];
    const unknown = units.find((unit) => !this.model.idOf.has(unit));
    if (unknown !== undefined) throw new Error(`${shown(unknown)} is not in the vocabulary; remove it from the prompt`);
    return units.map((unit) => this.model.idOf.get(unit));
  }

  settings() {
    const read = (name) => {
      const input = this[name], value = Number(input.value), whole = input.step === "1";
      if (!(input.value !== "" && value >= input.min && value <= input.max && (!whole || Number.isInteger(value))))
        throw new Error(`${input.parentElement.firstChild.textContent} is ${input.value || "empty"}; ` +
                        `enter ${whole ? "a whole number" : "a number"} from ${input.min} to ${input.max}`);
      return [name, value];
    };
    return Object.fromEntries(["temperature", "topK", "topP", "seed", "length"].map(read));
  }

  stop() {
    this.running = false;
    this.start.textContent = "Write";
  }

  async write() {
    let settings, ids;
    try {
      settings = this.settings();
      ids = this.promptIds();
    } catch (error) {
      this.status.textContent = error.message;
      return;
    }
    if (this.running) return;
    this.running = true;
    this.start.textContent = "Stop";
    this.text.replaceChildren();
    this.details.replaceChildren();
    this.characters = [];
    this.chosen = -1;
    this.decoder = new TextDecoder();  // for byte-level models, whose characters may span several tokens
    const reader = new Reader(this.model), random = randomNumbers(settings.seed), began = performance.now();
    const boundary = data.model.document;  // the id that begins and ends each document; undefined without documents
    const hidden = ids.length && boundary === undefined ? 0 : 1;  // the start symbol is read but not shown
    const start = hidden ? [data.model.start_symbol, ...ids] : ids, block = this.model.config.block_size;
    const unread = Math.max(0, start.length - block);
    start.slice(hidden, unread).forEach((id) => this.append(id, true, null));
    let expected = null, wrote = 0, drawn = performance.now();
    start.slice(unread).forEach((id, place) => {
      if (place + unread >= hidden) this.append(id, true, expected);
      expected = reader.read(id);
    });
    while (this.running && wrote < settings.length) {
      const id = choose(expected.logits, settings, random);
      if (id === boundary) break;
      this.append(id, false, expected);
      if (++wrote < settings.length) expected = reader.read(id);
      if (performance.now() - drawn < 30) continue;
      this.tell(wrote, began);
      await new Promise((resolve) => setTimeout(resolve, 0));
      drawn = performance.now();
    }
    this.tell(wrote, began);
    this.stop();
  }

  tell(wrote, began) {
    const seconds = (performance.now() - began) / 1000;
    this.status.textContent = `${count(wrote)} ${unit}${wrote === 1 ? "" : "s"}, ${count(wrote / seconds)} a second. ` +
        "Tap or click a character to see what else the model expected there.";
  }

  append(id, isPrompt, expected) {
    const symbol = this.model.bytes ? this.decoder.decode(Uint8Array.of(id), {stream: true}) : this.model.symbols[id];
    const probability = expected && softmax(expected.logits)[id];
    this.characters.push({id, expected, probability, isPrompt});
    const surprise = expected ? Math.min(1, -Math.log(probability) / 6) : 0;
    this.text.append(element("span", {class: isPrompt ? "prompt" : null,
                                      style: surprise > 0.02 ?
                                          `background: rgba(var(--surprise), ${(surprise * 0.85).toFixed(2)})` : null},
                             symbol));
  }

  // Shows what the model expected in place of a character, and what each head attended to.
  look(index) {
    if (index === this.chosen || index < 0) return;
    if (this.chosen >= 0) this.text.children[this.chosen].classList.remove("chosen");
    this.chosen = index;
    this.text.children[index].classList.add("chosen");
    const {id, expected, probability} = this.characters[index];
    if (!expected) {
      this.details.replaceChildren(element("p", {class: "soft"}, "Nothing was read before this character."));
      return;
    }
    const probabilities = softmax(expected.logits);
    const ranked = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a]);
    const bars = element("div", {class: "bars"});
    for (const candidate of ranked.slice(0, 10))
      bars.append(element("span", {class: candidate === id ? "taken" : null}, shown(this.model.symbols[candidate])),
                  element("span", {}, element("div", {class: "bar",
                      style: `width: ${(100 * probabilities[candidate]).toFixed(1)}%`})),
                  element("span", {}, (100 * probabilities[candidate]).toFixed(1) + " %"));
    this.details.replaceChildren(
      element("h3", {}, `What the model expected in place of “${shown(this.model.symbols[id])}”`),
      element("p", {class: "soft"},
          `The model gave it ${(100 * probability).toPrecision(3)} %, rank ${ranked.indexOf(id) + 1} of ` +
          `${this.model.V} symbols.`),
      bars, this.attentionView(index, expected.attention));
  }

  attentionView(index, attention) {
    if (attention.length === 0) return element("p", {class: "soft"}, "This model sees only the previous character.");
    const heads = attention.flatMap((layer, l) => layer.map((weights, h) => ({l, h, weights})));
    const select = element("select", {"aria-label": "layer and head", change: () => {
      this.headChosen = select.selectedIndex;
      draw();
    }}, ...heads.map(({l, h}) => element("option", {}, `layer ${l + 1}, head ${h + 1}`)));
    select.selectedIndex = Math.min(this.headChosen || 0, heads.length - 1);
    const text = element("div", {class: "look"});
    const draw = () => {
      const {weights} = heads[select.selectedIndex], largest = Math.max(...weights);
      text.replaceChildren(...Array.from(weights, (weight, j) => {
        const place = index - weights.length + j;  // the character before `index` is the last that was read
        const symbol = place < 0 ?
            this.model.symbols[data.model.start_symbol] : this.model.symbols[this.characters[place].id];
        return element("span", {title: `${(100 * weight).toFixed(1)} %`,
            style: `background: rgba(var(--surprise), ${(weight / largest * 0.9).toFixed(2)})`},
                       {"\n": "↵\n", "": "·"}[symbol] ?? symbol);
      }));
    };
    draw();
    return element("div", {}, element("h3", {}, "What the model attended to"), select, text);
  }
}

// The beginning of the run's last sample, if all its characters are in the vocabulary.
function promptFromSamples() {
  const last = data.runs[0].samples.at(-1);
  const line = last ? last.text.split("\n").find((one) => one.trim().length > 5) || "" : "";
  const start = line.slice(0, 20), space = start.lastIndexOf(" ");
  const prompt = line.length > 20 && space > 4 ? start.slice(0, space) : start;
  return [...prompt].every((unit) => data.model.bytes ? unit < "\u0080" : data.model.symbols.includes(unit)) ?
      prompt : "";
}

function modelSection() {
  if (!data.model) return;
  const model = new Model(data.model);
  model.bytes = data.model.bytes;
  model.idOf = new Map(model.symbols.map((symbol, id) => [symbol, id]));
  const column = element("div", {}), writing = new Writing(model, column);
  section("Try the model",
    element("p", {},
        `The trained weights are in this page, and your browser computes with them: nothing is sent anywhere. ` +
            "The more a character surprised the model, the stronger its colour."),
    data.model.leaks ? element("p", {class: "warning"},
        "This model saw its targets during training (it leaks), so its samples are meaningless.") : null,
    column);
  window.chargpt = {model, writing};  // for the curious, and for tests
  writing.write().then(() => {  // something to look at when the page opens
    const first = writing.characters.findIndex((character) => !character.isPrompt);
    if (first >= 0) writing.look(first);
  });
}

// ---- the runs

const several = data.runs.length > 1;

function lossSection() {
  const made = section(several ? "The runs" : "The run");
  const by = element("select", {"aria-label": "horizontal axis", change: () => draw()}, element("option", {}, "step"),
      element("option", {}, "seconds"));
  const charts = element("div", {});
  const draw = () => {
    const x = by.selectedIndex, axis = by.value, xLabel = axis === "step" ? "step" : "seconds from the start";
    const named = (run, what) => several ? `${run.name}, ${what}` : what;
    const raw = (run) => run.steps.map((row) => [row[x], row[2]]);
    const curvesOf = (column, name) => data.runs.map((run, i) => ({name: named(run, name), color: i,
        points: run.steps.map((row) => [row[x], row[column]])}));
    const losses = data.runs.flatMap((run, i) => [
      {faint: true, color: i, points: raw(run)},
      ...(several ? [] : [{name: "training loss, smoothed", color: i, points: smoothed(raw(run))}]),
      {name: named(run, "validation loss"), color: several ? i : 1, dots: true,
          points: run.evaluations.map((row) => [row[x], row[3], row[4]])},
    ]);
    const wide = Math.min(760, content.clientWidth);
    const narrow = Math.min(wide, Math.max(360, Math.floor(content.clientWidth / 3) - 16));
    const loss = chart({width: wide, title: "Loss", xLabel, yLabel: "loss", curves: losses, levels: data.baselines,
        digits: 3});
    const others = [
      chart({width: narrow, title: "Learning rate", xLabel, yLabel: "learning rate",
          curves: curvesOf(3, "learning rate"), digits: 0, fromZero: true}),
      chart({width: narrow, title: "Norm of the gradient, before clipping", xLabel, yLabel: "norm",
          curves: curvesOf(4, "gradient norm"), digits: 2, fromZero: true}),
      chart({width: narrow, title: "Speed", xLabel, yLabel: `${unit}s per second`, curves: curvesOf(5, "speed"),
          digits: 0, fromZero: true}),
    ].filter((one) => one !== null);
    charts.replaceChildren(loss || element("p", {class: "soft"}, "The run recorded no steps."),
                           element("div", {class: "columns"}, ...others));
  };
  let drawnFor = content.clientWidth;
  addEventListener("resize", () => {
    if (content.clientWidth !== drawnFor) draw();
    drawnFor = content.clientWidth;
  });
  if (several) made.append(table(["run", {number: "parameters"}, {number: "validation loss"}, {number: "best"},
      {number: "at step"},
    {number: "seconds"}, "differs in"], data.runs.map((run, i) => [
    [element("span", {class: "word"}, key(i), run.name)],
    {number: count(run.parameters)}, {number: number(run.val_loss, 4, run.exact)},
    {number: number(run.best_val_loss, 4, run.exact)},
    {number: count(run.best_step)}, {number: count(run.seconds)}, run.differs.join("; ")])));
  const rivals = data.baselines.length ?
      " Dashed: baselines on the same text. Counts are frozen, as the model is; PPMd learns from the text " +
      "it is measured on." : "";
  made.append(element("p", {class: "soft"},
      `Loss is how much each next ${unit} surprises the model, in nats (1 nat is 1.44 bits); lower is better. ` +
      "Validation loss is measured on text that the model was not trained on. " +
      "Faint: the loss of single batches." + rivals),
              data.verdict ? element("p", {}, data.verdict) : "",
              several && data.runs.some((run) => run.leaks) ? element("p", {class: "warning"}, "A model that leaks " +
                  "sees its own targets: do not compare its loss with others.") : "",
              element("div", {class: "row controls"}, element("label", {}, "horizontal axis", by)), charts,
              element("p", {class: "soft"}, "Tap or click a chart to read its values."));
  draw();
}

function sampleSection() {
  const withSamples = data.runs.filter((run) => run.samples.length > 0);
  if (withSamples.length === 0) return;
  const columns = element("div", {class: "columns"});
  for (const run of withSamples) {
    const newest = run.samples.length - 1;
    for (const which of several || newest === 0 ? [newest] : [0, newest]) {
      const text = element("pre", {});
      const select = element("select", {"aria-label": "step of the sample", change: () => {
        text.textContent = run.samples[select.selectedIndex].text;
      }}, ...run.samples.map((sample) => element("option", {}, `step ${count(sample.step)}`)));
      select.selectedIndex = which;
      text.textContent = run.samples[which].text;
      columns.append(element("div", {}, element("div", {class: "row"},
          element("label", {}, element("span", {}, ...words(several ? run.name : "written after")), select)), text));
    }
  }
  section("Samples during training", columns);
}

function factsSection() {
  const made = section("How it was made");
  for (const run of data.runs) {
    if (several) made.append(element("h3", {}, run.name));
    made.append(
      table([], Object.entries(run.facts).map(([name, value]) => [[element("b", {}, ...words(name))], value])),
      element("details", {}, element("summary", {}, "every option"), 
          element("pre", {}, JSON.stringify(run.config, null, 2))));
  }
  made.append(element("p", {class: "soft"}, `Written by chargpt ${data.version}.`));
}

document.getElementById("title").textContent = data.title;
modelSection();
lossSection();
sampleSection();
factsSection();
