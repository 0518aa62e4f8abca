// The live page: a ring of steps, from a stream or a recording, and its playback.

const RING = 5000;
const MOST_STATES = 400;
const MOST_KEYS = 200;
const READ_SECONDS = 0.06;        // to read one letter
const LEAST_SECONDS = 1.5;        // for which a sentence stays
const FAST_SECONDS = 0.3;
const SLOWDOWN = 100;             // of the waits that a ring shows
const recorded = window.handloopRecorded || { runs: [], scenes: [], source: {} };
const isRecorded = recorded.runs.length > 0;

let ring, dropped, notes, keys, states, passed, floor, view, played, at;
let playing = true, live = false, hasChosen = false;
let clock = 0;                    // the time of the steps at which playback stands
let left = 0;                     // seconds for which the sentence still stays
let before = 0;

// Begin anew. first = a state before all steps, if there is one.
function begin(first, firstSeq = 0) {
  ring = [];
  dropped = played = at = 0;      // steps that went before ring[0]; that were folded; the one that is shown
  notes = new Notes();
  keys = new Set();
  states = first ? [{ seq: firstSeq, state: first }] : [];
  passed = states.length;         // how many states came to pass up to the step
  floor = emptyView(first);       // the view before ring[0]
  view = structuredClone(floor);
  left = 0;
}

function receive(steps) {
  for (const step of steps) {
    ring.push(notes.take(step));
    if (step.step === 7 && !MYAPP.test(step.component) && keys.size < MOST_KEYS) keys.add(step.key);
  }
  while (!isRecorded && ring.length > RING) {
    reduce(floor, ring.shift(), false);
    dropped += 1;
  }
  if (played < dropped) {
    skip(dropped - played);
    view = structuredClone(floor);
    played = dropped;
  }
  if (!filters.key && !hasChosen && keys.size) filters.key = [...keys][0];
  drawKeys();
}

function receiveState(state, seq) {
  states.push({ seq, state });
  if (states.length > MOST_STATES) {
    states.shift();
    passed = Math.max(1, passed - 1);
  }
  pass();
}

// Let the states that were taken up to the step come to pass.
function pass() {
  const seq = played > dropped ? ring[played - dropped - 1].seq : ring.length ? ring[0].seq - 1 : Infinity;
  for (; passed < states.length && states[passed].seq <= seq; passed += 1) settle(view, states[passed].state);
}
const shownState = () => states[Math.max(0, passed - 1)]?.state;
const newestState = () => states[states.length - 1]?.state;

function skip(count) {
  const text = count === null ? "steps were not recorded meanwhile" : `+${count} events skipped`;
  $("skipped").textContent = text;
  $("skipped").hidden = false;
  floor.step = { gap: count, why: text };
  floor.tokens.clear();
}

const total = () => dropped + ring.length;
const shows = (index) => live || isShown(ring[index], () => ring.slice(index + 1, index + 200));

function fold(isSeen) {
  const step = ring[played - dropped];
  reduce(view, step, isSeen);
  played += 1;
  clock = step.t;
  if (isSeen) {
    at = played;
    left = playing && !live && $("pace").value === "fast" ? FAST_SECONDS : Math.max(LEAST_SECONDS, step.why.length * READ_SECONDS);
  }
  pass();
  return isSeen;
}

// Go on to the next step that is shown. Returns: whether there was one.
function advance() {
  while (played < total()) {
    if (fold(shows(played - dropped))) {
      observe(view.step);
      return true;
    }
  }
  return false;
}

// Show the picture at a position; exact = its step, even if the filters hide it.
function seek(position, exact = false) {
  const target = Math.max(dropped, Math.min(position, total()));
  view = structuredClone(floor);
  played = at = dropped;
  passed = Math.min(1, states.length);
  while (played < target) fold((exact && played === target - 1) || shows(played - dropped));
}

function back() {
  for (let index = at - dropped - 2; index >= 0; index -= 1) if (shows(index)) return seek(index + 1);
  return seek(dropped);
}

function frame(now) {
  const seconds = Math.min(0.1, (now - before) / 1000);
  before = now;
  let changed = false;
  left -= seconds;
  if (live && played < total()) {
    while (advance()) changed = true;
  } else if (playing && left <= 0 && played < total()) {
    advance();
    changed = true;
  } else if ((playing || live) && !isRecorded) {
    // a key that waits may be the last thing that happened: its ring goes on
    clock += seconds / (live ? 1 : SLOWDOWN);
    if ([...view.tokens.values()].some((token) => token.wait)) drawTokens(view, clock);
  }
  if (changed) render();
  requestAnimationFrame(frame);
}

// ---- drawing

let drawnState = null;

function render() {
  const state = shownState();
  drawSteps(view);
  drawTokens(view, clock);
  drawNow(view, state);
  drawQueues(view, state);
  if (state && state !== drawnState) drawState(state);
  drawnState = state;
  $("boxes").hidden = !state;
  $("why").textContent = view.step ? view.step.why : isRecorded ? "Press play, or go on with the right arrow." : HOW_TO_BEGIN;
  Object.assign($("scrub"), { min: dropped, max: total(), value: at });
  $("position").textContent = `step ${at} of ${total()}`;
  $("hidden").textContent = view.hidden && !live ? `${plurally(view.hidden, "step")} hidden so far` : "";
  $("asof").textContent = `As of step ${at}${!isRecorded && played < total() ? `; the program is at step ${total()}` : ""}`;
  $("play").textContent = playing || live ? "Pause" : "Play";
  $("live").setAttribute("aria-pressed", String(live));
  checkExperiments();
  if (!director.isOpen && isRecorded && run) address(`run=${run.name}&step=${at}`);
  director.draw();
}
const HOW_TO_BEGIN = "Make a Foo: with the first experiment, or kubectl apply -f manifests/samples/foo.yaml";

function drawKeys() {
  const options = ["", ...keys];
  if (options.length !== $("of").options.length) {
    $("of").replaceChildren(...options.map((key) => {
      const option = make("option", key ? `only ${key}` : "every key");
      option.value = key;
      return option;
    }));
  }
  $("of").value = filters.key;
}

function follow(key) {
  filters.key = key;
  hasChosen = true;
  if (key) keys.add(key);
  drawKeys();
}

function showSource(number) {
  const { words, path, line, first, text } = recorded.source[number];
  $("source-title").textContent = `(${number}) ${words}: ${path}:${line}`;
  $("code").replaceChildren(...text.split("\n").map((code, index) => {
    const row = make("span", `${String(first + index).padStart(4)}  ${code}\n`);
    if (first + index === line) row.className = "here";
    return row;
  }));
  $("source").hidden = false;
  $("source").scrollIntoView({ block: "nearest" });
}

// ---- recorded runs and addresses

let run = null;
const loaded = new Map();

const address = (text) => {
  if (location.hash !== `#${text}`) history.replaceState(null, "", `#${text}`);
};

window.handloopRun = (one) => loaded.set(one.name, one);

function load(name, then) {
  if (loaded.has(name)) return then(loaded.get(name));
  const script = make("script");
  script.src = `runs/${name}.js`;
  script.addEventListener("load", () => then(loaded.get(name)));
  document.head.append(script);
  return undefined;
}

function openRun(name, then) {
  if (run && run.name === name) return then();
  return load(name, (one) => {
    run = one;
    const [first, ...others] = one.states;
    begin(first && first.state, 0);
    states.push(...others);
    hasChosen = one.key !== undefined;
    filters.key = one.key || "";
    receive(one.steps);
    drawRuns();
    then();
  });
}

function drawRuns() {
  $("recorded").replaceChildren(...recorded.runs.map(({ name, title, about }) => {
    const item = make("li"), link = make("a", title);
    link.href = `#run=${name}`;
    item.append(link, make("p", about));
    if (run && run.name === name) {
      link.setAttribute("aria-current", "true");
      const marks = make("p", undefined, "marks");
      for (const [mark, seq] of Object.entries(run.marks || {})) {
        const there = make("a", mark);
        there.href = `#run=${name}&at=${mark}`;
        there.title = `step ${seq}`;
        marks.append(there);
      }
      item.append(marks);
    }
    return item;
  }));
}

function route() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (!location.hash && director.isNew()) wanted.set("follow", "");
  if (wanted.has("follow")) return director.open(Number(wanted.get("scene")) || 1);
  director.close();
  if (!isRecorded) return render();
  const name = recorded.runs.some((one) => one.name === wanted.get("run")) ? wanted.get("run") : recorded.runs[0].name;
  return openRun(name, () => {
    const position = run.marks?.[wanted.get("at")] ?? Number(wanted.get("step"));
    playing = !position;
    seek(position || 0, true);
    render();
  });
}

// ---- the stream

let connected = false, process = "", end = "";

function listen() {
  const stream = new EventSource("events");
  const noteState = (state) => {
    receiveState(state, state.seq ?? Infinity);
    hear();
  };
  const hear = () => {
    if (!newestState()) return;
    drawHealth(newestState(), connected);
    drawControls(newestState());
    drawEnd();
    render();
  };
  stream.addEventListener("open", () => { connected = true; });
  stream.addEventListener("error", () => {
    connected = false;
    hear();
  });
  stream.addEventListener("snapshot", (event) => {
    const { run: number, missed, state } = JSON.parse(event.data);
    document.body.dataset.snapshots = Number(document.body.dataset.snapshots || 0) + 1;
    if (process && number !== process) location.reload();  // the program was started anew: another token, another ring
    process = number;
    connected = true;
    end = "";
    begin(state, state.seq);
    if (missed !== 0) {
      skip(missed);
      view = structuredClone(floor);
    }
    hear();
  });
  stream.addEventListener("steps", (event) => {
    receive(JSON.parse(event.data));
    if (!playing && !live) render();
  });
  stream.addEventListener("end", (event) => {
    end = JSON.parse(event.data).reason;
    connected = false;
    hear();
  });
  stream.addEventListener("state", (event) => noteState(JSON.parse(event.data)));
}

// When the program ends: why, if it could still tell.
function drawEnd() {
  const election = newestState().election, lost = election && !election.leading;
  $("ended").hidden = connected && !end;
  $("ended").textContent = `The program has ended: ${end || "it does not answer"}. ${lost
    ? "The leader saw another holder in the lease, stopped its workers, and ended the process: two leaders would write at once. A new process waits until the lease is free."
    : "This page goes on with the steps that it has."}`;
}

// ---- buttons and keys

const hold = () => { playing = live = false; };
const ACTS = {
  play: () => { if (playing || live) hold(); else playing = true; },
  back: () => { hold(); back(); },
  next: () => { hold(); advance(); },
  first: () => { hold(); seek(dropped); },
  last: () => { hold(); seek(Infinity); },
  live: () => { live = !live; playing = true; },
};
for (const [name, action] of Object.entries(ACTS)) $(name).addEventListener("click", () => { action(); render(); });
const again = () => { seek(at); render(); };
for (const name of ["bookmarks", "events", "resyncs", "myapp"]) {
  $(name).addEventListener("change", () => { filters[name] = $(name).checked; again(); });
}
$("of").addEventListener("change", () => { follow($("of").value); again(); });
$("pace").addEventListener("change", () => { left = 0; playing = true; render(); });
$("scrub").addEventListener("input", () => { hold(); seek(Number($("scrub").value)); render(); });
$("close").addEventListener("click", () => { $("source").hidden = true; });
const KEYS = { " ": "play", ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" };
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") $("source").hidden = true;
  if (/^(INPUT|SELECT|PRE)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(BUTTON|A|SUMMARY)$/.test(event.target.tagName) && event.key === " ") return;
  const name = KEYS[event.key];
  if (!name) return;
  event.preventDefault();
  if (director.takes(name)) return;
  ACTS[name]();
  render();
});
addEventListener("hashchange", route);

picture(showSource);
begin();
$("runs").hidden = !isRecorded;
$("try").hidden = isRecorded;
if (!isRecorded) listen();
route();
requestAnimationFrame(frame);
