// The live page. One stream feeds a ring of steps; playback goes through the ring at its own pace.
// reduce() says what each step changes on the picture. Every text from the server goes in by textContent.

const RING = 5000;
const GAP_SECONDS = 0.7;          // how long playback waits at most where nothing happened
const SHORTEST = { 1: 0, 0.1: 0.02, 0.01: 0.09 };  // seconds for which a step is shown, by speed
const OLD_SECONDS = 10;           // a key in need of work for so long is no good sign
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
const hue = (key) => {
  let hash = 0;
  for (const letter of key) hash = (hash * 31 + letter.codePointAt(0)) % 360;
  return `hsl(${hash} 70% 50%)`;
};

// ---- the steps and where they stand

// [words, x, y, where the words stand]
const STEPS = [null,
  ["list & watch", 95, 108, "right"], ["add object", 222, 181], ["pop", 480, 181], ["update index", 565, 262, "left"],
  ["store", 645, 262, "right"], ["dispatch", 722, 181], ["enqueue key", 932, 181], ["get key", 1050, 254, "right"],
  ["get object", 742, 366], ["write", 990, 108, "right"], ["forget, or add rate limited", 1130, 370],
  ["done", 1215, 302, "right"],
];
const PLACES = [
  ["API server", 20, 16, 150, 44, ""], ["Reflector", 20, 150, 150, 62, "reflector"],
  ["DeltaFIFO", 275, 150, 155, 62, "fifo"], ["informer loop", 530, 150, 150, 62, "loop"],
  ["handlers", 765, 150, 110, 62, "handlers"], ["Indexer", 530, 336, 160, 62, "indexer"],
  ["workqueue", 1020, 150, 230, 62, "queue"], ["worker: sync_handler", 800, 336, 205, 62, "worker"],
  ["API server", 915, 16, 150, 44, ""],
];
const WIRES = [
  "M95 60V150", "M170 181H275", "M430 181H530", "M565 212V336", "M645 212V336", "M680 181H765", "M875 181H1020",
  "M1050 212V352H1005", "M690 366H800", "M990 336V60", "M1005 370H1215V212",
];
const WORDS = {
  left: { x: -21, y: 4, "text-anchor": "end" }, right: { x: 21, y: 4, "text-anchor": "start" },
  below: { y: 31, "text-anchor": "middle" },
};

function picture() {
  const svg = draw("svg", { viewBox: "0 0 1345 415", role: "group", "aria-label": "The twelve steps" });
  const defs = draw("defs");
  const tip = draw("marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  tip.append(draw("path", { d: "M0 0L8 4L0 8z", class: "arrow" }));
  defs.append(tip);
  svg.append(defs);
  for (const d of WIRES) svg.append(draw("path", { d, class: "wire", "marker-end": "url(#tip)" }));
  for (const [name, x, y, width, height, now] of PLACES) {
    svg.append(draw("rect", { x, y, width, height, rx: 8, class: "place" }));
    svg.append(draw("text", { x: x + 10, y: y + 22, class: "name" }, name));
    if (now) svg.append(draw("text", { x: x + 10, y: y + 42, class: "now", id: `now-${now}` }));
  }
  STEPS.forEach((step, number) => {
    if (!step) return;
    const [words, x, y, side = "below"] = step;
    const group = draw("g", { class: "step", "data-step": number, "data-hits": 0, tabindex: 0, role: "button",
      transform: `translate(${x} ${y})`, "aria-label": `Step ${number}, ${words}: show its source` });
    group.append(draw("circle", { r: 15 }), draw("text", { y: 5, class: "number" }, number));
    group.append(draw("text", { ...WORDS[side], class: "word" }, words));
    group.addEventListener("click", () => showSource(number));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") showSource(number);
    });
    svg.append(group);
    const item = make("li"), button = make("button");
    button.dataset.step = number;
    button.append(make("b", number), make("span", words), make("span", "", "keys"), make("span", "0", "hits"));
    button.addEventListener("click", () => showSource(number));
    item.append(button);
    $("steps").append(item);
  });
  const tokens = draw("g", { id: "tokens" });
  svg.append(tokens);
  $("picture").append(svg);
  return tokens;
}

async function showSource(number) {
  const answer = await fetch(`source/${number}`);
  const { words, path, line, first, text } = await answer.json();
  $("source-title").textContent = `(${number}) ${words}: ${path}:${line}`;
  $("code").replaceChildren(...text.split("\n").map((code, index) => {
    const row = make("span", `${String(first + index).padStart(4)}  ${code}\n`);
    if (first + index === line) row.className = "here";
    return row;
  }));
  $("source").hidden = false;
  $("source").scrollIntoView({ block: "nearest" });
}

// ---- what a step changes: a view is {hits, tokens, worker, now, step}

export const emptyView = () => ({ hits: Array(13).fill(0), tokens: new Map(), worker: new Map(), now: {}, step: null });

export function reduce(view, step) {
  view.step = step;
  if (step.gap !== undefined) {
    view.tokens.clear();
    view.worker.clear();
    return view;
  }
  const { step: number, component, key, facts, thread } = step;
  view.hits[number] += 1;
  if (number === 1) return move(view, `1 ${component}`, component, number, { fades: true });
  if (number === 9 || number === 10) {
    const id = view.worker.get(thread);
    return id && view.tokens.has(id) ? move(view, id, view.tokens.get(id).key, number) : view;
  }
  if (number <= 6) {
    const kind = kindOf(component), id = `o ${kind} ${key}`, token = view.tokens.get(id);
    const count = number === 2 ? facts.joins + 1 : number === 3 ? facts.types.length : token ? token.count : 1;
    if (number === 2 || number === 3) view.now.fifo = number === 3 ? facts.left : (view.now.fifo || 0) + (facts.joins ? 0 : 1);
    if (number === 5) view.now.indexer = facts.objects;
    return move(view, id, key, number, { count, fades: number === 6, ghost: facts.tombstone || (token && token.ghost) });
  }
  const id = `k ${component} ${key}`, token = view.tokens.get(id);
  if (number === 7) {
    view.now.queue = (view.now.queue || 0) + (facts.merged || facts.in_flight ? 0 : 1);
    const count = facts.merged || facts.in_flight ? ((token && token.count) || 1) + 1 : 1;
    // an add while a worker has the key leaves the token with the worker
    return move(view, id, key, facts.in_flight && token ? token.place : 7, { count });
  }
  if (number === 8) {
    view.now.queue = facts.waiting;
    view.worker.set(thread, id);
    return move(view, id, key, 8, { count: 1 });
  }
  if (number === 11) return move(view, id, key, 11, facts.seconds === undefined ? { done: true } : { count: facts.failures, wait: facts.seconds, at: step.t });
  view.worker.delete(thread);
  if (facts.again) return move(view, id, key, 7, { count: 1 });
  // a key that failed waits where it was added back
  if (token && token.wait) return view;
  return move(view, id, key, 12, { fades: true });
}

function move(view, id, key, place, change = {}) {
  view.tokens.delete(id);  // the last one moved is the last one drawn
  view.tokens.set(id, { key, place, count: 1, square: place <= 6 || place === 10, moved: view.step.seq, ...change });
  // what has faded is out of the picture; only the newest few of a place can be seen anyway
  for (const [other, token] of view.tokens) if (token.fades && view.step.seq - token.moved > 40) view.tokens.delete(other);
  return view;
}

const plurals = new Map();  // Kind and informer name -> plural, from the state
const kindOf = (component) => {
  const listener = /^listener-(.+)-\d+$/.exec(component);
  return plurals.get(component) || (listener && listener[1]) || component;
};

// ---- playback

const ring = [];
let dropped = 0;            // steps of the ring that went before ring[0]
let played = 0;             // how many steps were played, counted like dropped
let view = emptyView();
let playing = true, live = false, speed = 0.01;
let clock = 0;              // the time of the steps at which playback stands
let shown = 0;              // seconds for which the last step has been shown
let before = 0;
let run = "";

function receive(steps) {
  for (const step of steps) ring.push(step);
  const over = ring.length - RING;
  if (over > 0) {
    ring.splice(0, over);
    dropped += over;
    if (played < dropped) {
      skip(dropped - played);
      played = dropped;
    }
  }
}

function skip(count) {
  const text = count === null ? "steps were not recorded meanwhile" : `+${count} events skipped`;
  $("skipped").textContent = text;
  $("skipped").hidden = false;
  view = reduce(view, { gap: count, why: text });
}

function playOne() {
  const step = ring[played - dropped];
  played += 1;
  reduce(view, step);
  if (step.t) clock = step.t;
  shown = 0;
}

function seek(position) {
  const target = Math.max(dropped, Math.min(position, dropped + ring.length));
  view = emptyView();
  played = dropped;
  while (played < target) playOne();
  render();
}

function frame(now) {
  const seconds = Math.min(0.1, (now - before) / 1000);
  before = now;
  const waiting = () => played - dropped < ring.length;
  let changed = false;
  if (live && waiting()) {
    while (waiting()) playOne();
    changed = true;
  } else if (playing && waiting()) {
    shown += seconds;
    clock += seconds * speed;
    for (let most = 200; most && waiting(); most -= 1) {
      const step = ring[played - dropped];
      const isDue = !step.t || step.t <= clock || shown >= GAP_SECONDS;
      if (!isDue || shown < SHORTEST[speed]) break;
      playOne();
      changed = true;
    }
  }
  else if (playing || live) {
    // a key that waits may be the last thing that happened: its ring goes on
    clock += seconds * (live ? 1 : speed);
    if ([...view.tokens.values()].some((token) => token.wait)) drawTokens();
  }
  if (changed) render();
  requestAnimationFrame(frame);
}

// ---- drawing the view

const layer = picture();
const drawn = new Map();

function render() {
  document.querySelectorAll("[data-step]").forEach((node) => {
    const number = Number(node.dataset.step);
    node.dataset.hits = view.hits[number];
    node.classList.toggle("lit", Boolean(view.step) && view.step.step === number);
    const hits = node.querySelector(".hits");
    if (hits) {
      hits.textContent = `${view.hits[number]} ${view.hits[number] === 1 ? "time" : "times"}`;
      node.querySelector(".keys").textContent = keysAt(number);
    }
  });
  if (view.step) $("why").textContent = view.step.why;
  drawTokens();
  const total = dropped + ring.length;
  Object.assign($("scrub"), { min: dropped, max: total, value: played });
  $("position").textContent = `step ${played} of ${total}`;
  $("play").textContent = playing || live ? "Pause" : "Play";
  $("live").setAttribute("aria-pressed", String(live));
  drawNow();
}

function keysAt(number) {
  const here = [...view.tokens.values()].filter((token) => token.place === number);
  return here.slice(-2).map((token) => token.key + (token.count > 1 ? ` ×${token.count}` : "")).join(", ");
}

// how many letters fit beside a token, before the next place in its line begins
const LETTERS = STEPS.map((step) => {
  const next = STEPS.filter((other) => step && other && other[2] === step[2] && other[1] > step[1]).map((other) => other[1]);
  return step && step[1] < 1000 && step[3] !== "left" ? Math.min(34, Math.floor((Math.min(...next) - step[1] - 30) / 6.8)) : 34;
});

function drawTokens() {
  const places = new Map();
  const keep = new Set();
  for (const [id, token] of [...view.tokens].reverse()) {
    const nth = places.get(token.place) || 0;
    places.set(token.place, nth + 1);
    if (nth >= 3) continue;
    keep.add(id);
    const [, x, y, side] = STEPS[token.place];
    let node = drawn.get(id);
    if (!node) {
      node = draw("g", { class: "token" });
      node.append(draw("path", { class: "shape" }), draw("text", { x: 12, y: 4 }),
        draw("circle", { class: "ring", r: 12, pathLength: 1, transform: "rotate(-90)" }));
      drawn.set(id, node);
      layer.append(node);
    }
    const [shape, label, ring] = node.children;
    // what is left of the wait, as playback counts
    ring.setAttribute("visibility", token.wait ? "visible" : "hidden");
    ring.setAttribute("stroke-dasharray", `${token.wait ? Math.max(0, 1 - (clock - token.at) / token.wait) : 0} 1`);
    shape.setAttribute("d", token.square ? "M-7 -7H7V7H-7z" : "M0 -8L8 7H-8z");
    shape.setAttribute("fill", hue(token.key));
    const count = token.count > 1 ? ` ×${token.count}` : "";
    const wait = token.wait ? ` back in ${token.wait * 1000 < 1000 ? `${+(token.wait * 1000).toFixed(1)} ms` : `${+token.wait.toFixed(2)} s`}` : "";
    const name = `${token.ghost ? "tombstone " : ""}${token.key}`, most = LETTERS[token.place] - count.length - wait.length;
    label.textContent = `${name.length > most ? `${name.slice(0, most - 1)}…` : name}${count}${wait}`;
    // beside a place on the right there is no room to its right, and beside 4 stands 5
    const left = x > 1000 || side === "left", beside = token.wait ? 17 : 12;
    label.setAttribute("text-anchor", left ? "end" : "start");
    label.setAttribute("x", left ? -beside : beside);
    node.style.transform = `translate(${x}px, ${y - (side ? 24 : 44) - nth * 17}px)`;
    node.style.opacity = token.fades || token.done ? 0.75 : 1;
  }
  for (const [id, node] of drawn) {
    if (!keep.has(id)) {
      node.remove();
      drawn.delete(id);
    }
  }
}

// ---- the state

let state = null;

function drawNow() {
  if (!state || !state.ready) return;
  const texts = {
    reflector: `${sum(state.informers, (row) => row.state === "WATCHING")} of ${state.informers.length} watch`,
    fifo: `keys: ${view.now.fifo ?? 0} shown, ${sum(state.informers, (row) => row.fifo)} now`,
    loop: `pending: ${sum(state.informers, (row) => sum(row.listeners, (one) => one.pending))}`,
    handlers: `${sum(state.informers, (row) => row.listeners.length)} listeners`,
    indexer: `objects: ${sum(state.informers, (row) => row.objects)}`,
    queue: `keys: ${view.now.queue ?? 0} shown, ${sum(state.queues, (row) => row.counts.queued)} now`,
    worker: `${state.workers.filter((one) => one.key).length} of ${state.workers.length} busy`,
  };
  for (const [name, text] of Object.entries(texts)) $(`now-${name}`).textContent = text;
}

function table(node, heads, rows) {
  const head = make("tr");
  head.append(...heads.map((text) => {
    const cell = make("th", text);
    cell.scope = "col";
    return cell;
  }));
  node.replaceChildren(head, ...rows.map((cells) => {
    const row = make("tr");
    row.append(...cells.map((cell) => (cell instanceof Node ? cell : make("td", cell))));
    return row;
  }));
}

function chips(title, keys, count) {
  const box = make("div");
  box.append(make("b", `${title}: ${count}`));
  for (const key of keys.slice(0, 8)) {
    const chip = make("div", key, "chip");
    chip.style.setProperty("--hue", hue(key.split(" ")[0]));
    box.append(chip);
  }
  if (count > 8) box.append(make("div", `and ${count - 8} more`, "more"));
  return box;
}

const milliseconds = (seconds) => (seconds < 1 ? `${+(seconds * 1000).toFixed(1)} ms` : `${seconds.toFixed(1)} s`);

function showState(next) {
  state = next;
  for (const row of state.informers) {
    plurals.set(row.kind, row.plural);
    plurals.set(row.name, row.plural);
  }
  const leads = !state.election || state.election.leading;
  const health = [[connected, connected ? "connected" : "not connected"]];
  if (state.ready) {
    health.push([state.synced, state.synced ? "caches synced" : "caches not synced"]);
    health.push([leads, state.election ? (leads ? "leader" : `standby, holder ${state.election.holder || "nobody"}`) : "no election"]);
    if (state.queues.some((row) => row.paused)) health.push([false, "workers paused"]);
    const oldest = Math.max(...state.queues.map((row) => row.oldest ?? -1));
    if (oldest >= 0) health.push([oldest < OLD_SECONDS, `oldest key ${oldest.toFixed(1)} s`]);
  }
  $("health").replaceChildren(...health.map(([good, text]) => make("li", text, good ? "good" : "bad")));
  table($("informers"), ["kind", "reflector", "version", "last heard", "watches", "relists", "FIFO", "objects", "indexes (values)", "pending"],
    state.informers.map((row) => [
      row.plural, row.retryIn === null ? row.state : `${row.state} ${row.retryIn} s`, row.version || "–",
      row.age === null || row.age === undefined ? "–" : `${row.age} s ago`, row.watches ?? 0,
      Object.entries(row.relists || {}).map(([why, count]) => `${count} ${why}`).join(", ") || "0",
      row.fifo, row.objects, Object.entries(row.indexes).map(([name, count]) => `${name} ${count}`).join(", "),
      row.listeners.map((one) => one.pending).join(", ") || "0",
    ]));
  $("queues").replaceChildren(...state.queues.map((row) => {
    const box = make("div"), columns = make("div", undefined, "columns");
    const delayed = row.delayed.map((one) => `${one.key} in ${milliseconds(one.seconds)}, failures ${one.failures}`);
    columns.append(
      chips("dirty", row.dirty, row.counts.dirty), chips("processing", row.processing, row.counts.processing),
      chips("queue", row.queued, row.counts.queued), chips("waiting", delayed, row.counts.delayed));
    box.dataset.queue = row.name;
    box.append(make("div", row.name + (row.paused ? " (paused)" : ""), "dim"), columns);
    return box;
  }));
  $("workers").replaceChildren(...state.workers.map((one) =>
    make("li", one.key ? `${one.name} ▶ ${one.key}, ${milliseconds(one.seconds)}` : `${one.name} · idle`)));
  $("results").replaceChildren(...state.results.slice().reverse().map((one) => {
    const again = one.retrySeconds === null ? "" : `, again in ${milliseconds(one.retrySeconds)}`;
    return make("li", `${one.key}, ${milliseconds(one.seconds)}${again}`, one.outcome);
  }));
  $("objects").replaceChildren(...state.objects.map(({ kind, count, rows }) => {
    const box = make("div"), list = make("table");
    box.append(make("b", `${kind}: ${count}`), list);
    table(list, ["name", "available / desired", "share"], rows.slice(0, 12).map((row) => {
      const cell = make("td"), bar = make("progress");
      bar.max = Math.max(1, row.desired ?? 1);
      bar.value = row.available ?? 0;
      bar.setAttribute("aria-label", `available replicas of ${row.key}`);
      cell.append(bar);
      return [row.key, `${row.available ?? 0} / ${row.desired ?? "–"}`, cell];
    }));
    return box;
  }));
  showControls();
  drawNow();
  observe([]);
}

// ---- the experiments: each watches the steps and states that come after its start

const sum = (rows, of) => rows.reduce((total, row) => total + of(row), 0);
const foos = (from) => from.informers.find((row) => row.plural === "foos") || { watches: 0, relists: {}, listeners: [], objects: 0 };
const relists = (from) => sum(Object.values(foos(from).relists || {}), (count) => count);
const OBSERVED = {
  pause: (seen) => seen.steps.some((one) => one.step === 7 && one.facts.merged) && state.queues.some((row) => row.counts.queued > 0),
  touch: (seen) => seen.steps.some((one) => one.step === 7 && (one.facts.merged || one.facts.in_flight)),
  fail: (seen) => seen.steps.some((one) => one.step === 11 && one.facts.failures >= 3),
  "kill-watch": (seen) => foos(state).watches > foos(seen.state).watches && relists(state) === relists(seen.state),
  expire: (seen) => relists(state) > relists(seen.state) && seen.steps.some((one) => one.step === 2 && one.facts.tombstone),
  scale: (seen) => seen.steps.some((one) => one.step === 10 && one.facts.verb === "patch" && one.component.startsWith("deployments")),
  "delete-deployment": (seen) => seen.steps.some((one) => one.step === 10 && one.facts.verb === "create" && one.component.startsWith("deployments")),
  "slow-handler": () => sum(foos(state).listeners, (one) => one.pending) > 0,
  many: () => foos(state).objects >= 1000,
  "steal-lease": () => state.election && !state.election.leading,
  "lose-done": () => state.queues.some((row) => row.counts.dirty > row.counts.queued),
  clean: (seen) => seen.steps.some((one) => one.step === 5 && one.facts.deleted),
};
const begun = new Map();
const seenOnes = new Set();

function observe(steps) {
  for (const [name, seen] of begun) {
    if (seen.steps.length < 4 * RING) seen.steps.push(...steps);
    if (!seenOnes.has(name) && state && OBSERVED[name](seen)) {
      seenOnes.add(name);
      begun.delete(name);
      showControls();
    }
  }
}

function showControls() {
  const offers = state.controls || [];
  const keys = state.objects.filter((one) => one.kind === "Foo").flatMap((one) => one.rows.map((row) => row.key));
  const chosen = $("key").value;
  if (keys.join() !== [...$("key").options].map((one) => one.value).join()) {
    $("key").replaceChildren(...keys.map((key) => make("option", key)));
    if (keys.includes(chosen)) $("key").value = chosen;
  }
  $("chosen").hidden = !offers.length;
  $("progress").textContent = offers.length ? `(${seenOnes.size} of ${offers.length} observed)` : "(the controls are off: --debug-controls)";
  for (const offer of offers) {
    let card = document.querySelector(`[data-control="${offer.name}"]`);
    if (!card) {
      card = make("li");
      card.dataset.control = offer.name;
      const button = make("button", offer.title);
      button.addEventListener("click", () => act(offer.name));
      card.append(button, make("p", offer.lookFor), make("span", "", "tick"));
      $("controls").append(card);
    }
    const [button, , tick] = card.children;
    button.disabled = Boolean(offer.blocked);
    if (offer.on !== null) button.setAttribute("aria-pressed", String(offer.on));
    const isSeen = seenOnes.has(offer.name);
    card.classList.toggle("seen", isSeen);
    const word = offer.blocked || (isSeen ? "✓ observed: yes" : begun.has(offer.name) ? "observed: not yet" : "observed: no");
    if (tick.textContent !== word) tick.textContent = word;
  }
}

async function act(name) {
  if (!seenOnes.has(name)) begun.set(name, { steps: [], state });
  const headers = { "Content-Type": "application/json", "X-Handloop-Token": document.querySelector("meta[name=token]").content };
  const body = JSON.stringify({ key: $("key").value, replicas: Number($("replicas").value) });
  $("said").textContent = "…";
  try {
    const answer = await fetch(`controls/${name}`, { method: "POST", headers, body });
    $("said").textContent = (answer.ok ? (await answer.json()).said : await answer.text()).trim();
  } catch {
    $("said").textContent = "the program did not answer";
  }
}

// ---- the stream

let connected = false;

function follow() {
  const stream = new EventSource("events");
  stream.addEventListener("open", () => { connected = true; });
  stream.addEventListener("error", () => {
    connected = false;
    if (state) showState(state);
  });
  stream.addEventListener("snapshot", (event) => {
    const snapshot = JSON.parse(event.data);
    document.body.dataset.snapshots = Number(document.body.dataset.snapshots || 0) + 1;
    if (run && snapshot.run !== run) location.reload();  // the program was started anew: another token, another ring
    run = snapshot.run;
    showState(snapshot.state);
    if (snapshot.missed !== 0) {
      played = dropped + ring.length;
      skip(snapshot.missed);
      render();
    }
  });
  stream.addEventListener("steps", (event) => {
    const steps = JSON.parse(event.data);
    receive(steps);
    observe(steps);
    if (!playing && !live) render();
  });
  stream.addEventListener("state", (event) => showState(JSON.parse(event.data)));
}

// ---- buttons and keys

const hold = () => { playing = live = false; };
const ACTS = {
  play: () => { if (playing || live) hold(); else playing = true; },
  back: () => { hold(); seek(played - 1); },
  next: () => { hold(); seek(played + 1); },
  first: () => { hold(); seek(dropped); },
  last: () => { hold(); seek(Infinity); },
  live: () => { live = !live; playing = true; },
};
for (const [name, action] of Object.entries(ACTS)) $(name).addEventListener("click", () => { action(); render(); });
$("speed").addEventListener("change", () => { speed = Number($("speed").value); live = false; playing = true; render(); });
$("scrub").addEventListener("input", () => { hold(); seek(Number($("scrub").value)); });
$("close").addEventListener("click", () => { $("source").hidden = true; });
const KEYS = { " ": "play", ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" };
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") $("source").hidden = true;
  if (/^(INPUT|SELECT|BUTTON|PRE)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const name = KEYS[event.key];
  if (!name) return;
  event.preventDefault();
  ACTS[name]();
  render();
});

render();
follow();
requestAnimationFrame(frame);
