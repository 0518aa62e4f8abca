// The live page: a ring of steps, from a stream or a recording, and its playback.

const RING = 5000;
const MOST_STATES = 400;
const READ_SECONDS = 0.06;        // to read one letter
const LEAST_SECONDS = 1.5;        // for which a sentence stays
const SEEN_SECONDS = 1.5;         // for a sentence that was seen
const FAST_SECONDS = 0.3;
const GLIDE_SECONDS = 0.2;        // for a step between two moments
const MOST_GLIDE_SECONDS = 3;     // for all steps between two moments
const recorded = window.handloopRecorded;
const isRecorded = recorded.runs.length > 0;

let ring, dropped, notes, keys, states, passed, floor, view, played, at, seen;
let playing = true, live = false, hasChosen = false;
let left = 0;                     // seconds for which the sentence still stays
let before = 0;

// Begin anew. first = a state before all steps, if any.
function begin(first, firstSeq = 0) {
  ring = [];
  dropped = played = at = 0;      // steps that went before ring[0]; that were folded; the one that is shown
  notes = new Notes();
  keys = new Set();
  seen = new Set();               // the sentences that were read
  states = first ? [{ seq: firstSeq, state: first }] : [];
  passed = states.length;         // how many states came to pass up to the step
  floor = emptyView(first);       // the view before ring[0]
  view = structuredClone(floor);
  left = 0;
}

function receive(steps) {
  for (const step of steps) {
    ring.push(notes.take(step));
    if (step.step === 7 && isOurs(step.component) && keys.size < 200) keys.add(step.key);
  }
  while (!isRecorded && ring.length > RING) {
    reduce(floor, ring.shift(), false);
    dropped += 1;
  }
  if (played < dropped) {
    skip(dropped - played);
    seek(dropped);
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

// Let the states up to the step come to pass.
function pass() {
  const seq = played > dropped ? ring[played - dropped - 1].seq : ring.length ? ring[0].seq - 1 : Infinity;
  for (; passed < states.length && states[passed].seq <= seq; passed += 1) settle(view, states[passed].state);
}
const shownState = () => states[Math.max(0, passed - 1)]?.state;
const newestState = () => states[states.length - 1]?.state;

function skip(count) {
  const text = count === null ? "steps were not recorded meanwhile" : `+${count} events skipped`;
  say("skipped", text);
  floor.step = { why: text, facts: {} };
  floor.tokens.clear();
}

const total = () => dropped + ring.length;
const shows = (index) => live || isShown(ring[index], () => ring.slice(index + 1, index + 200));

function fold(isSeen) {
  const step = ring[played - dropped];
  reduce(view, step, isSeen, states.findLast((one) => one.seq <= step.seq)?.state);
  played += 1;
  if (isSeen) {
    at = played;
    left = secondsFor(step);
  }
  pass();
  return isSeen;
}

// How long a step that was just folded stays.
function secondsFor({ why }) {
  const pace = $("pace").value, told = moments.get(at);
  if (pace === "fast") return FAST_SECONDS;
  if (pace === "moments" && !told && at < total()) {
    const stops = [0, ...moments.keys(), total()], next = stops.find((one) => one > at), last = stops.findLast((one) => one < at);
    return Math.min(GLIDE_SECONDS, MOST_GLIDE_SECONDS / (next - last));
  }
  const text = told || why, kind = text.replace(/\d+/g, "");
  if (seen.has(kind)) return SEEN_SECONDS;
  seen.add(kind);
  return Math.max(LEAST_SECONDS, text.length * READ_SECONDS);
}

// The position of the moment that is shown, and of the others: -1 = the one before, 1 = the next.
function momentAt(offset = 0) {
  const stops = [...moments.keys()], here = stops.findLastIndex((one) => one <= at);
  return stops[here + offset - (offset < 0 && stops[here] < at ? -1 : 0)];
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

// Show a position; exact = its step, even if the filters hide it.
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
  left -= Math.min(0.1, (now - before) / 1000);
  before = now;
  let changed = false;
  if (live && played < total()) {
    while (advance()) changed = true;
  } else if (playing && left <= 0 && played < total()) {
    advance();
    changed = true;
  }
  if (changed) render();
  requestAnimationFrame(frame);
}

let drawnState = null;

function render() {
  director.stage();
  const state = shownState();
  document.body.classList.toggle("live", live);
  drawSteps(view);
  drawTokens(view);
  drawNow(view, state);
  drawQueues(view, state);
  if (state && state !== drawnState) drawState(state);
  drawnState = state;
  $("boxes").hidden = !state;
  say("steps-title", `Twelve steps${CONTROLLERS[state?.foo] || ""}`);
  const why = view.step ? view.step.why : isRecorded ? "Press play, or the right arrow." : HOW_TO_BEGIN, told = moments.get(momentAt()) || "";
  const glides = playing && $("pace").value === "moments" && !moments.has(at) && at < total();
  say("says", told);
  say("why", why);
  $("why").classList.toggle("passing", glides || told === why);
  document.body.classList.toggle("told", glides || moments.has(at));
  Object.assign($("scrub"), { min: dropped, max: total(), value: at });
  say("position", `step ${at} of ${total()}`);
  say("hidden", view.hidden && !live ? `${plurally(view.hidden, "step")} hidden so far` : "");
  say("asof", `As of step ${at}${isRecorded || played === total() ? "" : `; the program is at step ${total()}`}`);
  say("play", playing || live ? "Pause" : "Play");
  $("live").setAttribute("aria-pressed", String(live));
  checkExperiments();
  if (isRecorded && run) {
    const here = `run=${run.name}&step=${at}`;
    $("whole").href = `#${here}`;
    if (!director.isOpen && !document.body.classList.contains("embed")) address(here);
  }
  director.draw();
}
const CONTROLLERS = { plain: ", plain controller", production: ", production controller" };
const HOW_TO_BEGIN = "Create a Foo with an experiment, or run kubectl apply -f manifests/samples/foo.yaml";

function drawKeys() {
  choices("of", ["", ...keys], (key) => (key ? `only ${key}` : "every key"));
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
  say("source-title", `(${number}) ${words}: ${path}:${line}`);
  $("code").replaceChildren(...text.split("\n").map((code, index) => {
    const row = make("span", `${String(first + index).padStart(4)}  ${code}\n`);
    if (first + index === line) row.className = "here";
    return row;
  }));
  $("source").hidden = false;
  $("source").scrollIntoView({ block: "nearest" });
}

const NOISE = ["bookmarks", "events", "resyncs", "myapp"];
let run = null, moments = new Map();  // position -> what is said there

const address = (text) => {
  if (location.hash !== `#${text}`) history.replaceState(null, "", `#${text}`);
};

function openRun(name) {
  if (run?.name === name) return;
  run = JSON.parse($(`run-${name}`).textContent);
  const [first, ...others] = grown(run.states);
  begin(first?.state);
  states.push(...others);
  hasChosen = true;
  filters.key = run.key;
  for (const name of NOISE) $(name).checked = filters[name] = run.shows.includes(name);
  const gaps = run.steps.filter((step) => !step.step).map((step) => [step.seq, step.why]);
  const told = Object.entries(run.says || {}).map(([mark, words]) => [run.marks[mark], words]);
  moments = new Map(told.length ? [...gaps, ...told].sort(([one], [other]) => one - other) : []);
  Object.assign($("pace").options[0], { hidden: !moments.size, disabled: !moments.size });
  $("pace").value = moments.size ? "moments" : "read";
  receive(run.steps);
  drawRuns();
}

// Each state stands as what differs from the one before, by path.
function grown(changed) {
  let state = {};
  return changed.map(({ seq, changes }) => {
    state = structuredClone(state);
    for (const [path, value] of Object.entries(changes)) {
      const names = path.split("/"), last = names.pop();
      if (path) names.reduce((node, name) => node[name], state)[last] = value;
      else state = value;
    }
    return { seq, state };
  });
}

function drawRuns() {
  $("recorded").replaceChildren(...recorded.runs.map(({ name, title, about }) => {
    const item = make("li"), marks = make("ol"), link = (text, to) => {
      const made = make("a", text);
      made.href = `#run=${name}${to}`;
      return made;
    };
    item.append(link(title, ""), make("p", about));
    if (run.name === name) {
      item.firstChild.setAttribute("aria-current", "true");
      marks.append(...Object.keys(run.marks || {}).filter((mark) => !moments.size || run.says[mark]).map((mark) => {
        const row = make("li");
        row.append(link(run.says?.[mark] || mark, `&at=${mark}`));
        return row;
      }));
      item.append(marks);
    }
    return item;
  }));
}

function route() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  document.body.classList.toggle("embed", wanted.has("embed"));
  if (!location.hash && director.isNew()) wanted.set("follow", "");
  if (wanted.has("follow")) return director.open(Number(wanted.get("scene")));
  director.close();
  if (!isRecorded) return render();
  const name = recorded.runs.some((one) => one.name === wanted.get("run")) ? wanted.get("run") : recorded.runs[0].name;
  openRun(name);
  const position = run.marks?.[wanted.get("at")] ?? Number(wanted.get("step"));
  hold();
  playing = !position;
  seek(position || 0, true);
  return render();
}

let connected = false, process = "", end = "";

function listen() {
  const stream = new EventSource("events");
  const on = (name, then) => stream.addEventListener(name, (event) => then(event.data && JSON.parse(event.data)));
  const hear = () => {
    if (!newestState()) return;
    drawHealth(newestState(), connected);
    drawControls(newestState());
    drawEnd();
    render();
  };
  on("open", () => { connected = true; });
  on("error", () => {
    connected = false;
    hear();
  });
  on("snapshot", ({ run: number, missed, state }) => {
    document.body.dataset.snapshots = Number(document.body.dataset.snapshots || 0) + 1;
    if (process && number !== process) location.reload();  // the program was started anew: another token, another ring
    process = number;
    connected = true;
    end = "";
    begin(state, state.seq);
    if (missed !== 0) {
      skip(missed);
      seek(dropped);
    }
    hear();
  });
  on("steps", (steps) => {
    receive(steps);
    if (!playing && !live) render();
  });
  on("end", ({ reason }) => {
    end = reason;
    connected = false;
    hear();
    scrollTo(0, 0);
  });
  on("state", (state) => {
    receiveState(state, state.seq ?? Infinity);
    hear();
  });
}

// Why the program ended, if it could still tell.
function drawEnd() {
  const election = newestState().election, lost = election && !election.leading;
  $("ended").hidden = connected && !end;
  $("ended").textContent = `The program has ended: ${end || "it does not answer"}. ${lost
    ? "The leader found another holder in the lease, and stopped, because two leaders would both write. A new process waits until the lease is free."
    : "This page continues with the steps that it has received."}`;
}

const hold = () => { playing = live = false; };
const ACTS = {
  play: () => { left = 0; if (playing || live) hold(); else playing = true; },
  back: () => { hold(); back(); },
  next: () => { hold(); advance(); },
  earlier: () => { hold(); seek(momentAt(-1) || dropped, true); },
  later: () => { hold(); seek(momentAt(1) || total(), true); },
  first: () => { hold(); seek(dropped); },
  last: () => { hold(); seek(Infinity, true); },
  live: () => { live = !live; playing = true; seek(at); },
  before: () => director.go(director.scene - 1),
  on: () => director.go(director.scene + 1),
  leave: () => director.leave(),
  line: () => showSource(director.script[director.scene].code),
  make: () => { director.scene = 1; act("make"); },
  close: () => { $("source").hidden = true; },
};
for (const [name, action] of Object.entries(ACTS)) $(name)?.addEventListener("click", () => { action(); render(); });
addEventListener("click", (event) => {
  const step = event.target.closest("[data-step]");
  if (step) showSource(step.dataset.step);
});
const again = () => { seek(at); render(); };
for (const name of NOISE) {
  $(name).addEventListener("change", () => { filters[name] = $(name).checked; again(); });
}
$("of").addEventListener("change", () => { follow($("of").value); again(); });
$("pace").addEventListener("change", () => { hold(); ACTS.play(); render(); });
$("scrub").addEventListener("input", () => { hold(); seek(Number($("scrub").value)); render(); });
const KEYS = { " ": "play", ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", PageUp: "earlier", PageDown: "later" };
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") ACTS.close();
  if (event.target.matches?.("g.step") && onStep(event.key)) return event.preventDefault();
  if (/^(INPUT|SELECT|PRE)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(BUTTON|A|SUMMARY)$/.test(event.target.tagName) && event.key === " ") return;
  const name = KEYS[event.key];
  if (!name || (name.endsWith("er") && !director.isOpen && !moments.size)) return;
  event.preventDefault();
  if (!director.takes(name)) ACTS[name]();
  render();
});
let touched = null;
addEventListener("touchstart", (event) => { [touched] = event.changedTouches; });
addEventListener("touchend", (event) => {
  const [{ clientX, clientY }] = event.changedTouches, x = clientX - touched.clientX;
  if (event.target.closest?.("pre, .scroll, input")) return;  // it is moved, not the scene
  if (Math.abs(x) > 60 && Math.abs(clientY - touched.clientY) < 40) director.takes(x < 0 ? "next" : "back");
  render();
});
addEventListener("hashchange", route);
narrow.addEventListener("change", () => { picture(); render(); });

picture();
begin();
$("runs").hidden = !isRecorded;
$("live").hidden = isRecorded;
$("try").hidden = isRecorded;
if (!isRecorded) listen();
route();
requestAnimationFrame(frame);
