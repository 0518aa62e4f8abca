// The picture of the twelve steps, and a list of them for narrow windows. Names go in by textContent.

const $ = (id) => document.getElementById(id);
const make = (name, text, cls) => {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (cls) node.className = cls;
  return node;
};
const SVG = "http://www.w3.org/2000/svg";
const draw = (name, attributes = {}, text) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const say = (id, text) => {
  if ($(id).textContent !== text) $(id).textContent = text;  // read aloud once
};
const all = (selector) => [...document.querySelectorAll(selector)];
const choices = (id, values, wordOf = (value) => value) => {
  if (values.join() === [...$(id).options].map((one) => one.value).join()) return;
  $(id).replaceChildren(...values.map((value) => Object.assign(make("option", wordOf(value)), { value })));
};
const sum = (rows, of) => [...rows].reduce((total, row) => total + of(row), 0);
const plurally = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const milliseconds = (seconds) => (seconds < 1 ? `${+(seconds * 1000).toPrecision(3)} ms` : `${+seconds.toPrecision(3)} s`);

// [words, x, y, where the words stand, the place that it fills]
const STEPS = [null,
  ["list & watch", 140, 91, "right", "reflector"], ["add object", 246, 178, "above", "fifo"], ["pop", 512, 178, "above", "loop"],
  ["update index", 590, 267, "left", "indexer"], ["store", 690, 267, "right", "indexer"],
  ["dispatch", 780, 178, "above", "handlers"], ["enqueue key", 892, 267, "right", "queue"],
  ["get key", 600, 446, "over", "worker"], ["get object", 432, 356, "below", "worker"], ["write", 24, 91, "right", "server"],
  ["forget, or add rate limited", 200, 545, "over", "waiting"], ["done", 400, 484, "over", "queue"],
];
// x, y, width, height, title; the first row of tokens, and how many
const PLACES = {
  server: [10, 8, 990, 52, "API server", 32, 3], reflector: [50, 122, 166, 112, "Reflector", 62, 3],
  fifo: [276, 122, 206, 112, "DeltaFIFO", 62, 3], loop: [542, 122, 206, 112, "informer loop", 62, 3],
  handlers: [812, 122, 188, 112, "handlers", 62, 3], indexer: [484, 300, 264, 112, "Indexer", 62, 3],
  queue: [812, 300, 188, 112, "work queue", 79, 2], worker: [50, 300, 330, 112, "worker: sync_handler", 62, 3],
  waiting: [484, 500, 264, 90, "back-off", 62, 2],
};
const WIRES = [
  "M140 60V122", "M216 178H276", "M482 178H542", "M590 234V300", "M690 234V300", "M748 178H812", "M892 234V300",
  "M850 412V446H250V412", "M484 356H380", "M50 356H24V60", "M110 412V545H484", "M748 545H960V412", "M180 412V484H905V412",
];
const WORDS = {
  left: { x: -21, y: 4, "text-anchor": "end" }, right: { x: 21, y: 4, "text-anchor": "start" },
  over: { x: 19, y: -6, "text-anchor": "start" }, below: { y: 31, "text-anchor": "middle" }, above: { y: -21, "text-anchor": "middle" },
};
const SHAPES = {
  key: "M0 -8L8 7H-8z", foos: "M-7 -7H7V7H-7z", deployments: "M-4 -8H4L9 0L4 8H-4L-9 0z", other: "M0 -8L8 0L0 8L-8 0z",
};
const shapeOf = (token) => (token.kind ? (SHAPES[token.kind] ? token.kind : "other") : "key");

const layer = draw("g", { id: "tokens" });
const drawn = new Map();

function picture() {
  const svg = draw("svg", { viewBox: "0 0 1010 592", role: "group", "aria-label": "The twelve steps" });
  const tip = draw("marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  tip.append(draw("path", { d: "M0 0L8 4L0 8z", class: "arrow" }));
  const defs = draw("defs");
  defs.append(tip);
  svg.append(defs, ...WIRES.map((d) => draw("path", { d, class: "wire", "marker-end": "url(#tip)" })));
  for (const [name, [x, y, width, height, title]] of Object.entries(PLACES)) {
    const place = draw("g", { class: "place", "data-place": name });
    place.append(draw("rect", { x, y, width, height, rx: 8 }), draw("text", { x: x + 10, y: y + 21, class: "name" }, title));
    for (const line of [0, 1]) place.append(draw("text", { x: x + 10, y: y + 40 + 16 * line, class: "now" }));
    svg.append(place);
  }
  STEPS.forEach((step, number) => {
    if (!step) return;
    const [words, x, y, side] = step;
    const group = draw("g", { class: "step", "data-step": number, tabindex: 0, role: "button",
      transform: `translate(${x} ${y})`, "aria-label": `Step ${number}, ${words}: show its source` });
    group.append(draw("circle", { r: 15 }), draw("text", { y: 5, class: "number" }, number));
    const lines = side === "above" ? words.split(" ") : [words];
    lines.forEach((line, nth) => group.append(draw("text",
      { ...WORDS[side], class: "word", dy: 15 * (nth - lines.length + 1) }, line)));
    svg.append(group);
    const item = make("li"), button = make("button");
    button.dataset.step = number;
    button.append(make("b", number), make("span", words, "what"), make("span", "", "keys"));
    item.append(button);
    $("steps").append(item);
  });
  svg.append(layer);
  $("picture").append(svg);
}

function drawSteps(view) {
  const { step } = view;
  // a handler reads the cache, too: only a worker's read is (9)
  const number = !step || (step.step === 9 && !step.facts.worker) ? 0 : step.step;
  for (const node of all("[data-step]")) {
    const own = Number(node.dataset.step);
    node.classList.toggle("lit", own === number);
    const key = node.querySelector(".keys");
    if (key) key.textContent = own === number ? step.key : "";
  }
  const place = number ? (number === 11 && step.facts.seconds == null ? "worker" : STEPS[number][4]) : "";
  for (const node of all("[data-place]")) node.classList.toggle("on", node.dataset.place === place);
}

function textOf(token) {
  const count = token.count > 1 ? ` ×${token.count}` : "";
  const key = shortKey(token.key || "");
  if (token.place === "worker" && token.kind) return token.missing ? "none" : wordOf(token.kind);
  if (token.label !== undefined) return token.label;
  if (token.place === "waiting") return `${key}, back in ${milliseconds(token.wait)}`;
  if (token.place === "worker") return `${token.worker}: ${key}`;
  if (token.lost) return `${key}: no done()`;
  if (token.dirty) return `${key}: dirty${count}`;
  return `${token.ghost ? "tombstone " : ""}${token.kind ? `${wordOf(token.kind)} ` : ""}${key}${count}`;
}

function spot(place, row, column = 0) {
  const [x, y, width, , , first] = PLACES[place];
  if (place === "server") return [x + 140 + 285 * row, y + first, 260];
  if (place === "worker") return [x + 18 + 200 * column, y + first + 19 * row - 5, column ? 85 : 170];
  return [x + 18, y + first + 19 * row - 5, width - 42];
}

// The tokens of each place, in the rows of its box.
function drawTokens(view) {
  const rows = new Map(), workers = [...view.workers.keys()].filter((name) => view.workers.get(name)).sort();
  const keep = new Set();
  for (const [id, token] of [...view.tokens].reverse()) {
    const thread = token.worker || (token.place === "worker" && token.thread);
    const row = thread ? workers.indexOf(thread) : rows.get(token.place) || 0;
    if (!thread) rows.set(token.place, row + 1);
    if (row < 0 || row >= PLACES[token.place][6]) continue;
    keep.add(id);
    const column = thread && token.kind ? 1 : 0;
    let node = drawn.get(id);
    if (!node) {
      node = draw("g", { class: "token" });
      node.append(draw("path", { class: "shape" }), draw("text", { x: 15, y: 5 }));
      drawn.set(id, node);
      layer.append(node);
      if (token.from) {
        place(node, spot(token.from, 0));
        node.getBoundingClientRect();  // the glide starts there
      }
    }
    const [shape, label] = node.children;
    shape.setAttribute("d", SHAPES[shapeOf(token)]);
    const hollow = token.dirty || token.missing || token.ghost;
    node.setAttribute("class", `token ${shapeOf(token)}${hollow ? " hollow" : ""}`);
    const [x, y, width] = spot(token.place, row, column);
    fit(label, textOf(token), width);
    place(node, [x, y]);
  }
  for (const [id, node] of drawn) {
    if (!keep.has(id)) {
      node.remove();
      drawn.delete(id);
    }
  }
}

// Where a shape glides, its label waits until it is there.
function place(node, [x, y]) {
  const there = `translate(${x}px, ${y}px)`;
  if (node.style.transform === there) return;
  node.style.transform = there;
  if (getComputedStyle(node).transitionDuration !== "0s") node.children[1].animate({ opacity: [0, 0, 1] }, 400);
}

// Write what its room holds of a text.
function fit(label, text, room) {
  if (label.dataset.text === text) return;
  label.dataset.text = text;
  label.textContent = text;
  let length = text.length;
  while (length > 1 && label.getComputedTextLength() > room) {
    length -= 1;
    label.textContent = `${text.slice(0, length)}…`;
  }
}

// The numbers in each box.
function drawNow(view, state) {
  const queues = [...view.queues].filter(([name]) => isOurs(name)).map(([, queue]) => queue);
  const informers = (state?.informers || []).filter((row) => isOurs(row.plural));
  const ours = (numbers) => sum(numbers, ([kind, number]) => (isOurs(kind) ? number : 0));
  const names = [...view.workers].filter(([name]) => isOurs(name));
  const stuck = sum(queues, (queue) => queue.processing.size) - names.filter(([, work]) => work).length;
  const texts = {
    reflector: [`${sum(informers, (row) => row.state === "WATCHING")} of ${informers.length} watch`],
    fifo: [plurally(ours(view.fifo), "key")],
    handlers: [`${sum(informers, (row) => sum(row.listeners, (one) => one.pending))} pending`],
    indexer: [plurally(ours(view.objects), "object")],
    queue: [`queue ${sum(queues, (queue) => queue.length)}, dirty ${sum(queues, (queue) => queue.dirty.size)}`,
      `processing ${sum(queues, (queue) => queue.processing.size)}`],
    worker: [`${names.filter(([, work]) => work).length} of ${names.length} busy${stuck > 0 ? `; ${plurally(stuck, "key")} without done()` : ""}`],
    waiting: [plurally(sum(queues, (queue) => queue.waiting.size), "key")],
  };
  for (const node of all("[data-place]")) {
    const [first, second] = node.querySelectorAll(".now"), [one = "", two = ""] = texts[node.dataset.place] || [];
    first.textContent = one;
    second.textContent = two;
  }
}
