// Drawing functions of a page: elements, numbers, tables and charts. Texts are set as text, never as markup.
"use strict";

// ---- small helpers

// element("p", {class: "soft"}, "text", child): attributes, and functions as event listeners.
function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "text", "g", "circle", "title", "rect"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Formats a loss; "≈" unless it is exact.
const number = (value, digits, exact = true) =>
    value === null || value === undefined ? "" : (exact ? "" : "≈") + value.toFixed(digits);
const count = (value) => value === null ? "" : Math.round(value).toLocaleString("en");

// A number of about three digits.
function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return +(value / 1e6).toPrecision(3) + "M";
  if (size >= 1e4) return +(value / 1e3).toPrecision(3) + "k";
  return size < 1e-4 ? value.toExponential(1) : String(+value.toPrecision(3));
}

// Text for a cell, which breaks at its spaces alone: browsers break "3e-3" after its hyphen.
const words = (text) => text.split(" ").flatMap((word, i) => [i ? " " : "", element("span", {class: "word"}, word)]);

// headings and rows: cells, each a text, {number: its text}, or a list of elements.
function table(headings, rows) {
  const cell = (tag, content) => content.number !== undefined ? element(tag, {class: "number"},
      ...words(String(content.number)))
      : element(tag, {}, ...(typeof content === "string" ? words(content) : content));
  const line = (tag, cells) => element("tr", {}, ...cells.map((content) => cell(tag, content)));
  return element("div", {class: "scroll"}, element("table", {},
    headings.length ? element("thead", {}, line("th", headings)) : null,
    element("tbody", {}, ...rows.map((cells) => line("td", cells)))));
}

const names = {"": "end of document", " ": "space", "\n": "newline", "\t": "tab", "\r": "carriage return",
    "\u00a0": "no-break space"};

// A readable name of one symbol.
function shown(symbol) {
  if (names[symbol]) return names[symbol];
  const code = symbol.codePointAt(0);
  const invisible = code < 32 || (code >= 127 && code < 160) || /^[\p{C}\p{Z}\p{M}]/u.test(symbol);
  return invisible ? "U+" + code.toString(16).toUpperCase().padStart(4, "0") : symbol;
}

// ---- charts

// Six colours; the seventh curve has the first one, dashed, and each six more have shorter dashes.
const color = (index) => `var(--curve-${index % 6})`;
const dash = (index) => index < 6 ? 1e6 : 6 / Math.floor(index / 6);
const key = (index) => element("span", {class: "key", style: "background: repeating-linear-gradient(90deg, " +
    `${color(index)} 0 ${dash(index)}px, transparent 0 ${dash(index) + 3}px)`});

// About `wanted` round values from low to high.
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const made = [];
  // The count ends the loop if low and high are nearly equal, so that adding 1 to i has no effect.
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) && made.length <= wanted; ++i) made.push(i * step);
  return made;
}

// Each point as the mean over a fortieth of all points on either side; fewer near both ends.
function smoothed(points) {
  const finite = points.filter(([, y]) => Number.isFinite(y)), most = Math.ceil(finite.length / 40);
  return finite.map(([x], i) => {
    const half = Math.min(most, i), around = finite.slice(i - half, i + half + 1);
    return [x, around.reduce((sum, [, y]) => sum + y, 0) / around.length];
  });
}

// Heights near `wanted`, rising, at least `gap` apart, within [top, bottom].
function spread(wanted, gap, top, bottom) {
  const placed = [];
  for (const y of wanted) placed.push(Math.max(y, placed.length ? placed[placed.length - 1] + gap : top));
  for (let i = placed.length - 1, limit = bottom; i >= 0; --i, limit = placed[i + 1] - gap)
    placed[i] = Math.min(placed[i], limit);
  return placed;
}

// curves: [{name, color (an index), faint, dots, points: [[x, y, exact (of an evaluation)], ...]}]; a faint curve is
// drawn behind the others, without a legend entry. levels: [{name, y}], dashed, named in the margin. The values at the
// pointer are shown below; the arrow keys move it.
function chart({title, xLabel, yLabel, curves, levels = [], digits = 3, fromZero = false, width = 760}) {
  curves = curves.map((curve) => ({...curve, points: curve.points.filter(([x, y]) => Number.isFinite(x) &&
      Number.isFinite(y))}))
               .filter((curve) => curve.points.length > 0);
  if (curves.length === 0) return null;
  const height = width > 500 ? 330 : 240, left = 62, right = levels.length ? 112 : 14, top = 12, bottom = 44;
  const xs = curves.flatMap((curve) => curve.points.map(([x]) => x));
  const ys = curves.flatMap((curve) => curve.points.map(([, y]) => y)).concat(levels.map((level) => level.y));
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  let [x0, x1] = range(xs), [y0, y1] = range(ys);
  if (fromZero) y0 = Math.min(0, y0);
  if (x0 === x1) x1 = x0 + 1;
  const margin = (y1 - y0 || Math.abs(y1) || 1) * 0.04;
  [y0, y1] = [fromZero && y0 === 0 ? 0 : y0 - margin, y1 + margin];
  const px = (x) => left + (x - x0) / (x1 - x0) * (width - left - right);
  const py = (y) => height - bottom - (y - y0) / (y1 - y0) * (height - top - bottom);

  const drawing = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title, tabindex: 0});
  for (const y of ticks(y0, y1, 5))
    drawing.append(element("line", {class: "axis", x1: left, x2: width - right, y1: py(y), y2: py(y)}),
                   element("text", {x: left - 6, y: py(y) + 4, "text-anchor": "end"}, short(+y.toPrecision(12))));
  for (const x of ticks(x0, x1, width > 500 ? 6 : 4))
    drawing.append(element("line", {class: "axis", x1: px(x), x2: px(x), y1: height - bottom, y2: height - bottom + 5}),
                   element("text", {x: px(x), y: height - bottom + 18, "text-anchor": "middle"},
                       short(+x.toPrecision(12))));
  drawing.append(element("text", {x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle"}, xLabel),
                 element("text", {x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle",
                                  transform: `rotate(-90 14 ${(top + height - bottom) / 2})`}, yLabel));
  const sorted = [...levels].sort((a, b) => b.y - a.y), end = width - right;
  const labels = spread(sorted.map((level) => py(level.y)), 14, top, height - bottom);
  sorted.forEach((level, i) => drawing.append(
    element("path", {class: "level", d: `M${left} ${py(level.y)}H${end}`}),
    element("path", {class: "axis", d: `M${end} ${py(level.y)}L${end + 8} ${labels[i]}`}),
    element("text", {x: end + 11, y: labels[i] + 4}, `${level.name.replace("counted ", "")} ${number(level.y, 2)}`)));
  for (const curve of [...curves].sort((a, b) => Boolean(b.faint) - Boolean(a.faint))) {
    const path = curve.points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
    drawing.append(element("path", {class: "curve" + (curve.faint ? " faint" : ""), d: path,
        style: `stroke: ${color(curve.color)}; stroke-dasharray: ${dash(curve.color)} 3`}));
    if (curve.dots && curve.points.length <= 40)
      for (const [x, y] of curve.points) drawing.append(element("circle", {cx: px(x).toFixed(1), cy: py(y).toFixed(1),
          r: 3, style: `fill: ${color(curve.color)}`}));
  }

  const cross = element("line", {class: "cross", y1: top, y2: height - bottom, visibility: "hidden"});
  drawing.append(cross);
  const caption = element("figcaption", {"aria-live": "polite"}, title);
  let at = x0;
  const show = (x) => {
    at = Math.min(x1, Math.max(x0, x));
    cross.setAttribute("x1", px(at)), cross.setAttribute("x2", px(at)), cross.setAttribute("visibility", "visible");
    const nearest = (points) => points.reduce((best, p) => Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best);
    caption.textContent = `${xLabel} ${count(at)}: ` + curves.filter((curve) => !curve.faint).map((curve) => {
      const [, y, exact] = nearest(curve.points);
      return `${curve.name} ${digits ? number(y, digits, exact) : short(y)}`;
    }).join(" · ");
  };
  for (const event of ["pointermove", "pointerdown"])
    drawing.addEventListener(event, ({clientX}) => {
      const box = drawing.getBoundingClientRect();
      show(x0 + ((clientX - box.left) / box.width * width - left) / (width - left - right) * (x1 - x0));
    });
  drawing.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    show(at + step * (x1 - x0) / 50);
  });
  const legend = element("div", {class: "legend"},
      ...curves.filter((curve) => !curve.faint).map((curve) => element("span", {},
    key(curve.color), ...words(curve.name))));
  return element("figure", {}, legend, drawing, caption);
}
