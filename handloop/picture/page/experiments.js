// The experiments: three lines each, ticked when the steps that show it were played.

const of = (number, also = () => true) => (one) => one.step === number && also(one.facts, one);
const writes = (verb) => of(10, (facts, one) => facts.verb === verb && one.component.startsWith("deployments"));
const gone = (kind) => of(5, (facts, one) => facts.deleted && one.component === kind);
// Whether such steps were played, in this order.
const inOrder = (steps, ...kinds) => {
  let next = 0;
  for (const step of steps) if (next < kinds.length && kinds[next](step)) next += 1;
  return next === kinds.length;
};
const SHOWN = {
  make: (seen) => inOrder(seen, of(5), of(7), writes("create")),
  scale: (seen) => inOrder(seen, writes("patch"), of(1)),
  "delete-deployment": (seen) => inOrder(seen, gone("Deployment"), of(7), writes("create")),
  touch: (seen) => inOrder(seen, of(7, (facts) => facts.merged || facts.in_flight), of(12)),
  pause: (seen) => inOrder(seen, of(7, (facts) => facts.merged), of(8)),
  fail: (seen) => inOrder(seen, of(11, (facts) => facts.failures >= 3), of(11, (facts) => facts.forgotten >= 3)),
  "kill-watch": (seen) => inOrder(seen, of(1, (facts) => facts.broke !== undefined), of(1, (facts) => facts.opened)),
  expire: (seen) => inOrder(seen, of(1, (facts) => facts.expired), of(2, (facts) => facts.tombstone)),
  "slow-handler": (seen, state) => inOrder(seen, of(5)) && sum(state.informers, (row) => sum(row.listeners, (one) => one.pending)) > 0,
  "lose-done": (seen) => seen.some(of(7, (facts) => facts.in_flight)) && [...view.tokens.values()].some((token) => token.lost),
  delete: (seen) => inOrder(seen, gone("Foo"), gone("Deployment")),
  many: (_, state) => state.objects.some((one) => one.kind === "Foo" && one.count >= 1000),
  clean: (seen) => seen.some(gone("Foo")),
  "steal-lease": () => !$("ended").hidden && played === total(),
};
// The key to follow meanwhile, where it is not the chosen one; "" = every key.
const FOLLOWED = { expire: "default/live-ghost", many: "", clean: "" };
const begun = new Map();  // experiment -> its key, and the steps of it that were played since
const seenOnes = new Set();

function observe(step) {
  for (const { key, steps } of begun.values()) if ((!key || !step.key || step.of === key) && steps.length < RING) steps.push(step);
}

function checkExperiments() {
  const state = shownState();
  let changed = false;
  for (const [name, { steps }] of begun) {
    if (!state || !SHOWN[name](steps, state)) continue;
    seenOnes.add(name);
    begun.delete(name);
    changed = true;
  }
  if (changed) drawControls(newestState());
}

const foosOf = (state) => state.objects.filter((one) => one.kind === "Foo").flatMap((one) => one.rows.map((row) => row.key));

function drawControls(state) {
  const offers = state.controls || [], foos = foosOf(state), chosen = $("key").value;
  choices("key", foos);
  if (foos.includes(chosen)) $("key").value = chosen;
  $("chosen").hidden = !offers.length;
  say("progress", offers.length ? `(${seenOnes.size} of ${offers.length} seen)` : "(off; --debug-controls enables them)");
  for (const offer of offers) {
    const card = document.querySelector(`[data-control="${offer.name}"]`) || newCard(offer);
    const button = card.querySelector("button"), tick = card.querySelector(".tick");
    button.disabled = !connected || Boolean(offer.blocked);
    if (offer.on !== null) button.setAttribute("aria-pressed", String(offer.on));
    card.classList.toggle("seen", seenOnes.has(offer.name));
    const word = offer.blocked || (seenOnes.has(offer.name) ? "✓ seen" : begun.has(offer.name) ? "not yet seen" : "");
    if (tick.textContent !== word) tick.textContent = word;
  }
}

function newCard(offer) {
  const card = make("li"), details = make("details"), head = make("summary"), script = make("ol"), button = make("button", offer.title);
  card.dataset.control = offer.name;
  details.name = "experiment";
  head.append(make("span", offer.title), make("span", "", "tick"));
  const line = (name, text, ...more) => {
    const item = make("li");
    item.append(make("b", name), " ", ...more, make("span", text));
    return item;
  };
  button.addEventListener("click", () => act(offer.name));
  script.append(line("Do", offer.does, button, " "), line("Look at", offer.lookAt), line("Conclude", offer.conclude));
  details.append(head, script);
  card.append(details);
  $("controls").append(card);
  return card;
}

function freeName(state) {
  const foos = foosOf(state);
  let name = "default/my-foo";
  for (let number = 2; foos.includes(name); number += 1) name = `default/my-foo-${number}`;
  return name;
}

// Carry one out, and show what comes from here on.
async function act(name) {
  const key = name === "make" ? freeName(newestState()) : $("key").value;
  const offer = newestState().controls.find((one) => one.name === name);
  if (!offer.on) {  // else this is the end of an experiment, whose steps are still to be played
    const followed = FOLLOWED[name] ?? key;
    begun.set(name, { key: followed, steps: [] });
    seenOnes.delete(name);
    follow(followed);
    seek(Infinity);
  }
  playing = true;
  render();
  const headers = { "Content-Type": "application/json", "X-Handloop-Token": document.querySelector("meta[name=token]").content };
  say("said", "…");
  let done = false;
  try {
    const body = JSON.stringify({ key, replicas: Number($("replicas").value) });
    const answer = await fetch(`controls/${name}`, { method: "POST", headers, body });
    done = answer.ok;
    say("said", (done ? (await answer.json()).said : await answer.text()).trim());
  } catch {
    say("said", "the program did not answer");
  }
  if (done && offer.on !== null) offer.on = !offer.on;  // before the next state says it
  if (done && name === "make") $("key").value = key;
  drawControls(newestState());
}
