// The picture of the twelve steps; in narrow windows its boxes stand in a column. Names go in by textContent.

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

const WORDS = ["", "list & watch", "add object", "pop", "update index", "store", "dispatch", "enqueue key", "get key", "get object",
  "write", "forget, or add rate limited", "done"];
const PLACE_OF = ["", "reflector", "fifo", "loop", "indexer", "indexer", "handlers", "queue", "worker", "worker", "server", "waiting", "queue"];
const TITLES = { server: "API server", reflector: "Reflector", fifo: "DeltaFIFO", loop: "informer loop", handlers: "handlers",
  indexer: "Indexer", queue: "work queue", worker: "worker: sync_handler", waiting: "back-off" };
// size; places: x, y, width, height, the first row of tokens, how many, and in how many columns;
// steps: x, y, where the words stand
const WIDE = {
  size: [860, 488],
  places: { server: [34, 4, 818, 44, 22, 3, 3, 110], reflector: [34, 96, 156, 100, 55, 3], fifo: [254, 96, 156, 100, 55, 3],
    loop: [474, 96, 156, 100, 55, 3], handlers: [694, 96, 158, 100, 55, 3], indexer: [386, 248, 238, 120, 55, 4],
    queue: [640, 248, 212, 120, 72, 3], worker: [34, 248, 266, 120, 55, 3], waiting: [330, 430, 340, 54, 36, 2, 2] },
  steps: [[130, 72, "right"], [222, 146, "above"], [442, 146, "above"], [510, 222, "left"], [592, 222, "right"], [662, 146, "above"],
    [746, 222, "right"], [470, 388, "over"], [343, 308, "below"], [18, 72, "right"], [110, 457, "over"], [250, 412, "over"]],
  wires: ["M130 48V96", "M190 146H254", "M410 146H474", "M510 196V248", "M592 196V248", "M630 146H694", "M746 196V248",
    "M690 368V388H210V368", "M386 308H300", "M34 308H18V26H34", "M70 368V457H330", "M150 368V412H730V368", "M670 457H790V368"],
};
const NARROW = {
  size: [346, 676],
  places: { server: [34, 2, 308, 42, 21, 1, 1, 92], reflector: [34, 78, 308, 42, 30, 2, 2], fifo: [34, 152, 308, 42, 30, 2, 2],
    loop: [34, 228, 140, 58, 46, 1], handlers: [218, 228, 124, 58, 46, 1], indexer: [34, 322, 272, 98, 30, 4],
    worker: [34, 454, 272, 76, 46, 2], waiting: [14, 578, 134, 96, 50, 2], queue: [160, 578, 184, 96, 66, 2] },
  steps: [[130, 57, "right"], [130, 132, "right"], [90, 206, "right"], [58, 304, "half"], [152, 304, "right"], [194, 257, "top"],
    [325, 433, "left"], [186, 558, "right"], [90, 433, "right"], [18, 57, "right"], [52, 548, "half"], [286, 548, "right"]],
  wires: ["M130 44V78", "M130 120V152", "M90 194V228", "M58 286V322", "M152 286V322", "M174 257H218", "M325 286V578",
    "M186 578V530", "M90 420V454", "M34 492H18V23H34", "M52 530V578", "M286 530V578", "M148 624H160"],
};
const SIDES = {
  left: { x: -19, y: 4, "text-anchor": "end" }, right: { x: 19, y: 4, "text-anchor": "start" },
  over: { x: 17, y: -6, "text-anchor": "start" }, below: { y: 30, "text-anchor": "middle" }, above: { y: -20, "text-anchor": "middle" },
  half: { x: 19, y: 12, "text-anchor": "start" }, top: { y: -33, "text-anchor": "middle" },
};
const SHAPES = {
  key: "M0 -8L8 7H-8z", foos: "M-7 -7H7V7H-7z", deployments: "M-4 -8H4L9 0L4 8H-4L-9 0z", other: "M0 -8L8 0L0 8L-8 0z",
};
const shapeOf = (token) => (token.kind ? (SHAPES[token.kind] ? token.kind : "other") : "key");

const layer = draw("g", { id: "tokens" });
const drawn = new Map();
const narrow = matchMedia("(max-width: 719px)");
let map = WIDE;
let picked = 1;                   // the step that Tab leads to
let shownNumber = 0;              // the one that is lit

function picture() {
  map = narrow.matches ? NARROW : WIDE;
  const svg = draw("svg", { viewBox: `0 0 ${map.size.join(" ")}`, role: "group", "aria-label": "The twelve steps" });
  const tip = draw("marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  tip.append(draw("path", { d: "M0 0L8 4L0 8z", class: "arrow" }));
  const defs = draw("defs");
  defs.append(tip);
  svg.append(defs, ...map.wires.map((d) => draw("path", { d, class: "wire", "marker-end": "url(#tip)" })));
  for (const [name, [x, y, width, height, first]] of Object.entries(map.places)) {
    const place = draw("g", { class: "place", "data-place": name });
    place.append(draw("rect", { x, y, width, height, rx: 8 }), draw("text", { x: x + 9, y: y + 17, class: "name" }, TITLES[name]));
    const beside = first < 36 || name === "waiting" && map === WIDE;  // no room below the title
    for (const line of [0, 1]) {
      place.append(draw("text", beside ? { x: x + width - 9, y: y + 18, "text-anchor": "end", class: "now" }
        : { x: x + 9, y: y + 35 + 16.5 * line, class: "now" }));
    }
    svg.append(place);
  }
  map.steps.forEach(([x, y, side], nth) => {
    const number = nth + 1, words = WORDS[number];
    const group = draw("g", { class: "step", "data-step": number, role: "button",
      transform: `translate(${x} ${y})`, "aria-label": `Step ${number}, ${words}: show its source` });
    group.append(draw("circle", { r: map === WIDE ? 14 : 11 }), draw("text", { y: 5, class: "number" }, number));
    linesOf(words, side).forEach((line, at, lines) => group.append(draw("text",
      { ...SIDES[side], class: "word", dy: 16.5 * (at - lines.length + 1) }, line)));
    svg.append(group);
  });
  drawn.clear();
  layer.replaceChildren();
  svg.append(layer);
  $("picture").replaceChildren(svg);
  pick(picked);
}

function linesOf(words, side) {
  const each = words.split(" "), half = Math.ceil(each.length / 2);
  return side === "above" ? each : side === "half" ? [each.slice(0, half).join(" "), each.slice(half).join(" ")] : [words];
}

// One step is in the order of Tab: the one that is lit, or was chosen with the arrows.
function pick(number) {
  picked = number;
  for (const node of all("g.step")) node.setAttribute("tabindex", Number(node.dataset.step) === number ? 0 : -1);
}

// What a key does on a step of the picture. Returns: whether anything.
function onStep(key) {
  const next = { ArrowRight: picked + 1, ArrowDown: picked + 1, ArrowLeft: picked - 1, ArrowUp: picked - 1, Home: 1, End: 12 }[key];
  if (next) {
    pick(Math.max(1, Math.min(12, next)));
    document.querySelector(`g.step[data-step="${picked}"]`).focus();
  } else if (key === "Enter" || key === " ") showSource(picked);
  else return false;
  return true;
}

function drawSteps(view) {
  const { step } = view;
  // a handler reads the cache, too: only a worker's read is (9)
  const number = !step || (step.step === 9 && !step.facts.worker) ? 0 : step.step;
  for (const node of all("g.step")) node.classList.toggle("lit", Number(node.dataset.step) === number);
  const place = number === 11 && step.facts.seconds == null ? "worker" : PLACE_OF[number];
  for (const node of all("[data-place]")) node.classList.toggle("on", node.dataset.place === place);
  if (number && !document.activeElement.matches("g.step")) pick(number);
  if (narrow.matches && number !== shownNumber) bringIntoView();
  shownNumber = number;
}

// In a column the lit step, and more so its box, may be below the sentence. Who reads further down is left there.
function bringIntoView() {
  const { top, bottom } = $("picture").getBoundingClientRect(), isRead = bottom > innerHeight / 3 && top < innerHeight / 3;
  if (!isRead || document.body.classList.contains("embed")) return;
  for (const node of all("g.step.lit, .place.on").reverse()) node.scrollIntoView({ block: "nearest" });
}

// A shape says what a token is. Where one key is followed, its name is left out; else the kind.
function textOf(token) {
  const count = token.count > 1 ? ` ×${token.count}` : "", kind = token.kind && wordOf(token.kind);
  const isOdd = kind && shapeOf(token) === "other";
  const name = filters.key ? kind || "" : `${isOdd ? `${kind} ` : ""}${shortKey(token.key || "")}`;
  if (token.label !== undefined) return token.label;
  if (token.missing) return "not found";
  if (token.place === "indexer") return `${name}${token.version ? ` v${token.version}` : ""}${token.stale ? ", stale" : ""}`;
  if (token.ghost) return "tombstone";
  if (token.kind) return name + count;
  if (token.place === "waiting") return name || `back in ${milliseconds(token.wait)}`;
  if (token.place === "worker") return name || token.worker;
  if (token.lost) return `${name} no done()`.trim();
  if (token.dirty) return `${name} dirty${count}`.trim();
  return (name || "key") + count;
}

// Where a token stands, and how much room its words have.
function spot(place, row, column = 0) {
  const [x, y, width, , first, , columns = 1, indent = 0] = map.places[place];
  if (place === "worker") return [x + 17 + 140 * column, y + first + 19 * row, column ? width - 168 : 115];
  const each = (width - indent) / columns;
  return [x + 17 + indent + each * (row % columns), y + first + 19 * Math.floor(row / columns), each - 30];
}

// The tokens of each place, in the rows of its box.
function drawTokens(view) {
  const rows = new Map(), workers = [...view.workers.keys()].filter((name) => view.workers.get(name)).sort();
  const keep = new Set();
  for (const [id, token] of [...view.tokens].reverse()) {
    if (!isMine(token)) continue;
    const thread = token.worker || (token.place === "worker" && token.thread);
    const row = thread ? workers.indexOf(thread) : rows.get(token.place) || 0;
    if (!thread) rows.set(token.place, row + 1);
    if (row < 0 || row >= map.places[token.place][5]) continue;
    keep.add(id);
    const column = thread && token.kind ? 1 : 0;
    let node = drawn.get(id);
    if (!node) {
      node = draw("g", { class: "token" });
      node.append(draw("path", { class: "shape" }), draw("text", { x: 14, y: 5 }));
      drawn.set(id, node);
      layer.append(node);
      if (token.from) {
        place(node, spot(token.from, 0));
        node.getBoundingClientRect();  // the glide starts there
      }
    }
    const [shape, label] = node.children;
    shape.setAttribute("d", SHAPES[shapeOf(token)]);
    const hollow = token.dirty || token.missing || token.ghost || token.stale;
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

// Write a text; of a name that is longer than its room, what the room holds.
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
    worker: [`${names.filter(([, work]) => work).length} of ${names.length} busy${stuck > 0 ? `; no done(): ${plurally(stuck, "key")}` : ""}`],
    waiting: [plurally(sum(queues, (queue) => queue.waiting.size), "key")],
  };
  for (const node of all("[data-place]")) {
    const [first, second] = node.querySelectorAll(".now"), [one = "", two = ""] = texts[node.dataset.place] || [];
    first.textContent = one;
    second.textContent = two;
  }
}
