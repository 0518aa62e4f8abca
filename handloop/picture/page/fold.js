// What the steps tell, folded: a view is the picture and the queues at one step. No drawing here.

const MYAPP = /^(listener-|delaying-)?(myapp|service|horizontalpodautoscaler)/i;  // and what it owns
const SIDE_WRITES = /^(events|leases)\b/;
const LONGEST = 15;  // shown steps for which an object stays where nothing takes it further
const WORDS_OF_KINDS = { foos: "Foo", deployments: "Deployment" };

// "foos.samplecontroller.k8s.io", "listener-foos-1" and "Foo" are all of "foos"
const plural = (component) => {
  const name = component.replace(/^listener-(.+)-\d+$/, "$1").split(".")[0].toLowerCase();
  return name.replace(/s?$/, "s");
};
const wordOf = (component) => WORDS_OF_KINDS[plural(component)] || component.split(".")[0];
const shortKey = (key) => key.replace(/^default\//, "");

class Notes {
  // Notes on steps, in order: `of` = the key they are worked for, `resync` = only a resync has caused them.
  constructor() {
    this.owners = new Map();     // "deployments default/a" -> the key of the sync that read or wrote it
    this.work = new Map();       // thread -> the queue and key that it works for
    this.resyncs = new Set();    // queue and key that only a resync has added
    this.heard = new Map();      // listener -> whether a resync was the last that it got
  }

  take(step) {
    const { step: number, component, key, facts, thread } = step;
    const id = `${plural(component)} ${key}`;
    step.of = key;
    if (number === 8) this.work.set(thread, { queue: component, key });
    const work = this.work.get(thread);
    if (number === 9 || number === 10) {
      step.of = work ? work.key : key;
      step.resync = Boolean(work) && this.resyncs.has(`${work.queue} ${work.key}`);
      if (work && plural(component) !== "foos") this.owners.set(id, step.of);
    } else if (number > 1 && number < 7) step.of = this.owners.get(id) || key;
    const queued = `${component} ${key}`;
    if (number < 7) step.resync = Boolean(facts.resync) || (facts.types || [facts.type]).every((type) => type === "Sync");
    if (number === 6) this.heard.set(component, step.resync);
    if (number === 7) {
      step.resync = Boolean(this.heard.get(thread)) || (facts.merged && this.resyncs.has(queued));
      this.resyncs[step.resync ? "add" : "delete"](queued);
    }
    if (number === 8 || number > 10) step.resync = this.resyncs.has(queued);
    if (number === 12) this.work.delete(thread);
    return step;
  }
}

const filters = { key: "", bookmarks: false, events: false, resyncs: false, myapp: false };

const foreign = new Set();  // the listeners of other controllers than the Foo controller
const isOurs = (name) => filters.myapp || !(MYAPP.test(name) || foreign.has(name));

// Whether a step is shown. rest: the steps from it on, which say whose block of a watch it was.
function isShown(step, rest) {
  const { step: number, component, facts, thread } = step;
  if (number === 0) return true;
  if (number === 10 && SIDE_WRITES.test(component)) return filters.events;
  if (!isOurs(component) || !isOurs(thread)) return false;
  if (!filters.resyncs && step.resync) return false;
  if (number === 1) {
    if (facts.events === 0) return filters.bookmarks;
    if (!facts.events || !filters.key) return true;
    for (const next of rest()) {
      if (next.thread !== thread) continue;
      if (next.step === 1) break;
      if (next.step === 2 && next.of === filters.key) return true;
    }
    return false;
  }
  if (number === 9 && !facts.worker) return false;
  return !filters.key || step.of === filters.key;
}

function emptyView(state) {
  const view = { tokens: new Map(), fifo: new Map(), queues: new Map(), workers: new Map(),
    objects: new Map(), handled: new Map(), results: [], hidden: 0, shown: 0, step: null };
  if (state) {
    settle(view, state);
    for (const row of state.informers) {
      view.fifo.set(plural(row.plural), row.fifo);
      view.objects.set(plural(row.plural), row.objects);
      for (const [key, version] of row.cached || []) {
        put(view, `c ${object(row.plural, key)}`, { kind: plural(row.plural), key, place: "indexer", stays: true, first: true, version });
      }
    }
    for (const row of state.queues) {
      const queue = queueOf(view, row.name);
      queue.queued = [...row.queued];
      queue.length = row.counts.queued;
      queue.dirty = new Set(row.dirty);
      queue.processing = new Set(row.processing);
      queue.waiting = new Map(row.delayed.map((one) => [one.key, one]));
    }
    for (const one of state.workers) view.workers.set(one.name, one.key ? { key: one.key } : null);
  }
  return view;
}

function queueOf(view, name) {
  if (!view.queues.has(name)) {
    view.queues.set(name, { queued: [], length: 0, dirty: new Set(), processing: new Set(), waiting: new Map() });
  }
  return view.queues.get(name);
}

// Take a step into a view. shown = whether the picture shows it. Step 0: another process begins, or this one goes on.
function reduce(view, step, shown, state) {
  if (step.step === 0) {
    Object.assign(view, step.facts.goes_on ? {} : emptyView(state), { hidden: view.hidden, step });
    for (const name of step.facts.stale || []) {
      const id = `c o ${name}`;
      view.tokens.set(id, { ...view.tokens.get(id), stale: true });
    }
    return;
  }
  count(view, step);
  if (!shown) {
    view.hidden += 1;
    return;
  }
  view.step = step;
  for (const [id, token] of view.tokens) {
    const isOver = (token.brief && token.thread === step.thread) || (token.kind && !token.stays && view.shown - token.moved > LONGEST);
    if (isOver) view.tokens.delete(id);
  }
  view.shown += 1;
  TOKENS[step.step](view, step);
}

// The numbers: FIFOs, queues, workers and syncs, from every step.
function count(view, { step: number, component, key, facts, thread, t }) {
  if (number === 2) view.fifo.set(plural(component), (view.fifo.get(plural(component)) || 0) + (facts.joins ? 0 : 1));
  if (number === 3) view.fifo.set(plural(component), facts.left);
  if (number === 5) view.objects.set(plural(component), facts.objects);
  if (number < 7 || number === 9 || number === 10) return;
  const queue = queueOf(view, component);
  if (number === 7) {
    if (thread.startsWith("delaying-")) queue.waiting.delete(key);
    if (!facts.merged && !facts.in_flight) {
      queue.queued.push(key);
      queue.length += 1;
    }
    queue.dirty.add(key);
    if (facts.in_flight) queue.processing.add(key);
  } else if (number === 8) {
    queue.queued = queue.queued.filter((other) => other !== key);
    queue.length = facts.waiting;
    queue.dirty.delete(key);
    queue.processing.add(key);
    view.workers.set(thread, { key, queue: component, since: t, outcome: "", retry: null });
  } else if (number === 11) {
    if (facts.seconds != null) queue.waiting.set(key, { seconds: facts.seconds, failures: facts.failures });
    const work = view.workers.get(thread);
    if (work) Object.assign(work, "forgotten" in facts ? { outcome: "ok" }
      : { outcome: "waits" in facts ? "waits" : "failed", retry: facts.seconds, error: facts.error || facts.waits });
  } else {
    queue.processing.delete(key);
    if (facts.again) {
      queue.queued.push(key);
      queue.length += 1;
    }
    const work = view.workers.get(thread);
    if (work?.key !== key) return;
    if (work.outcome !== undefined) view.results = [...view.results, { ...work, seconds: t - work.since }].slice(-10);
    view.workers.set(thread, null);
  }
}

// The tokens: of a kind = an object, of none = a key. `brief` ones go with the thread's next step.
const put = (view, id, token, keepsPlace) => {
  if (!keepsPlace) view.tokens.delete(id);  // the last one moved is the last one drawn
  view.tokens.set(id, { count: 1, ...token, moved: view.shown });
};
const object = (component, key) => `o ${plural(component)} ${key}`;
const TOKENS = {
  1: (view, { component, facts, thread }) => {
    const label = "listed" in facts ? `a list: ${facts.listed}` : `${facts.events} × ${wordOf(component)}`;
    if ("listed" in facts || facts.events) put(view, `1 ${component}`, { kind: plural(component), label, place: "reflector", from: "server", thread, brief: true });
  },
  2: (view, { component, key, facts }) => put(view, object(component, key), {
    kind: plural(component), key, place: "fifo", from: "reflector", count: facts.joins + 1, ghost: facts.tombstone }),
  3: (view, { component, key, facts }) => put(view, object(component, key), {
    kind: plural(component), key, place: "loop", from: "fifo", count: facts.types.length,
    ghost: view.tokens.get(object(component, key))?.ghost }),
  4: (view, { component, key }) => cached(view, component, key),
  5: (view, { component, key, facts, thread }) => cached(view, component, key, { brief: Boolean(facts.deleted), thread, version: facts.version, stale: false }),
  6: (view, { component, key }) => {
    put(view, object(component, key), { kind: plural(component), key, place: "handlers", from: "indexer" });
    view.handled.set(component, object(component, key));
  },
  7: (view, { component, key, facts, thread }) => {
    const id = `k ${component} ${key}`, dirty = `y ${component} ${key}`;
    view.tokens.delete(view.handled.get(thread));
    const delayed = thread.startsWith("delaying-");
    if (delayed) view.tokens.delete(`d ${component} ${key}`);
    const before = view.tokens.get(facts.in_flight ? dirty : id);
    put(view, facts.in_flight ? dirty : id, { key, place: "queue", from: delayed ? "waiting" : "handlers", dirty: facts.in_flight,
      count: facts.merged ? (before?.count || 1) + 1 : 1 });
  },
  8: (view, { component, key, thread }) => {
    for (const [id, token] of view.tokens) if (token.worker === thread) view.tokens.delete(id);
    put(view, `k ${component} ${key}`, { key, place: "worker", from: "queue", worker: thread });
  },
  9: (view, { component, key, facts, thread }) => {
    if (facts.worker) {
      put(view, `r ${thread}`, { kind: plural(component), key, place: "worker", from: "indexer", thread, brief: true, missing: !facts.found });
    }
  },
  10: (view, { component, key, facts, thread }) => put(view, `w ${thread}`, {
    kind: plural(component), label: `${facts.verb} ${wordOf(component)}: ${facts.code}`, key, place: "server", from: "worker", thread, brief: true }),
  11: (view, { component, key, facts }) => {
    if (facts.seconds != null) put(view, `d ${component} ${key}`, { key, place: "waiting", from: "worker", wait: facts.seconds });
  },
  12: (view, { component, key, facts }) => {
    const id = `k ${component} ${key}`, dirty = `y ${component} ${key}`;
    view.tokens.delete(dirty);
    view.tokens.delete(id);
    if (facts.again) put(view, id, { key, place: "queue", from: "worker" });
  },
};

// Whether the picture shows a token: of what the cache held before the first step, that of the followed key.
const isMine = ({ kind, key, first }) => !kind || (isOurs(kind)
  && !(first && filters.key && (notes.owners.get(`${kind} ${key}`) || key) !== filters.key));

// In the Indexer an object stays, until it is deleted.
function cached(view, component, key, change = {}) {
  const id = `c ${object(component, key)}`, { version, stale } = view.tokens.get(id) || {};
  view.tokens.delete(object(component, key));
  const isFew = sum(view.objects.values(), (objects) => objects) <= 4;  // then each keeps its place
  put(view, id, { kind: plural(component), key, place: "indexer", from: "loop", stays: true, version, stale, ...change }, isFew);
}

// A state came to pass: a key that is stuck there was left behind by its worker, which is free.
function settle(view, state) {
  for (const name of state.foreign || []) foreign.add(name);
  for (const { name: queue, stuck } of state.queues) {
    for (const key of stuck || []) {
      for (const [name, work] of view.workers) if (work?.key === key && work.queue === queue) view.workers.set(name, null);
      const id = `k ${queue} ${key}`;
      if (view.tokens.get(id)?.worker) put(view, id, { key, place: "queue", from: "worker", lost: true });
    }
  }
}
