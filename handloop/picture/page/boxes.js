// The boxes: queues, workers and syncs from the steps, all else from the last state up to the step.

const OLD_SECONDS = 10;           // a key in need of work for so long is no good sign

function table(node, heads, rows) {
  const head = make("tr");
  head.append(...heads.map((text) => {
    const cell = make("th", text);
    cell.scope = "col";
    return cell;
  }));
  node.replaceChildren(head, ...rows.map((cells) => {
    const row = make("tr");
    row.append(...cells.map((cell) => make("td", cell)));
    return row;
  }));
}

function chips(title, keys, count) {
  const box = make("div");
  box.append(make("div", `${title}: ${count}`, "name"), ...keys.slice(0, 8).map((key) => make("div", key, "chip key")));
  if (count > 8) box.append(make("div", `and ${count - 8} more`, "dim"));
  return box;
}

function drawQueues(view, state) {
  const paused = new Set((state?.queues || []).filter((row) => row.paused).map((row) => row.name));
  $("queues").replaceChildren(...[...view.queues].filter(([name]) => isOurs(name)).map(([name, queue]) => {
    const box = make("div"), columns = make("div", undefined, "columns");
    const waiting = [...queue.waiting].map(
      ([key, one]) => `${key}, ${milliseconds(one.seconds)}, failures ${one.failures}${one.says ? `: ${one.says}` : ""}`,
    );
    columns.append(chips("dirty", [...queue.dirty], queue.dirty.size), chips("processing", [...queue.processing], queue.processing.size),
      chips("queue", queue.queued, queue.length), chips("waiting", waiting, waiting.length));
    box.dataset.queue = name;
    box.append(make("div", name + (paused.has(name) ? " (paused)" : ""), "dim"), columns);
    return box;
  }));
  const workers = [...view.workers].filter(([name]) => isOurs(name)).sort();
  $("workers").replaceChildren(...workers.map(([name, work]) => make("li", work ? `${name} ▶ ${work.key}` : `${name} · free`)));
  $("results").replaceChildren(...view.results.slice().reverse().map((one) => make("li",
    `${one.key}, ${milliseconds(one.seconds)}${one.retry === null ? "" : `, again in ${milliseconds(one.retry)}`}${one.error ? `: ${one.error}` : ""}`,
    one.outcome)));
}

function drawState(state) {
  table($("informers"), ["kind", "reflector", "version", "last heard", "watches", "relists", "FIFO", "objects", "indexes (values)", "pending"],
    state.informers.filter((row) => isOurs(row.plural)).map((row) => [
      row.plural, row.retryIn === null ? row.state : `${row.state} ${row.retryIn} s`, row.version || "–",
      row.age === null || row.age === undefined ? "–" : `${row.age} s ago`, row.watches ?? 0,
      Object.entries(row.relists || {}).map(([why, count]) => `${count} ${why}`).join(", ") || "0",
      row.fifo, row.objects, Object.entries(row.indexes).map(([name, count]) => `${name} ${count}`).join(", "),
      row.listeners.map((one) => one.pending).join(", ") || "0",
    ]));
  $("objects").replaceChildren(...state.objects.filter((row) => isOurs(row.kind)).map(({ kind, count, rows }) => {
    const box = make("div"), list = make("table");
    box.append(make("b", `${kind}: ${count}`), list);
    table(list, ["name", "available / desired"], rows.slice(0, 12).map((row) => [row.key, `${row.available ?? 0} / ${row.desired ?? "–"}`]));
    return box;
  }));
}

// What is so now, whatever the picture shows.
function drawHealth(state, connected) {
  const health = [[connected, connected ? "connected" : "not connected"]];
  if (state.ready && connected) {
    const { election, queues, shards, synced } = state;
    const leads = !election || election.leading;
    health.push([synced, `caches ${synced ? "" : "not "}synced`]);
    health.push(shards?.sign ?? [leads, election ? (leads ? "leader" : `standby, holder ${election.holder || "nobody"}`) : "no election"]);
    if (queues.some((row) => row.paused)) health.push([false, "workers paused"]);
    const oldest = Math.max(...queues.map((row) => row.oldest ?? -1));
    if (oldest >= 0) health.push([oldest < OLD_SECONDS, `oldest key ${oldest.toFixed(1)} s`]);
  }
  $("health").replaceChildren(...health.map(([good, text]) => make("li", text, good ? "ok" : "failed")));
}
