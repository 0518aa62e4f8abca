// The director: one Foo in scenes, each a step of the run that it finds by the scene's conditions.

const SEEN = "handloop-seen";
const director = {
  isOpen: false, scene: 1, key: "", found: [],

  isNew() {
    try { return !localStorage.getItem(SEEN); } catch { return false; }
  },

  open(scene) {
    hold();
    this.isOpen = true;
    this.scene = Math.max(1, Math.min(scene, recorded.scenes.length));
    document.body.classList.add("following");
    $("scene").hidden = false;
    if (isRecorded) openRun((recorded.runs.find((one) => one.name === "apply") || recorded.runs[0]).name, render);
    else render();
  },

  close() {
    if (!this.isOpen) return;
    this.isOpen = false;
    document.body.classList.remove("following");
    $("scene").hidden = true;
    try { localStorage.setItem(SEEN, "yes"); } catch { /* a browser that keeps nothing */ }
  },

  leave() {
    this.close();
    playing = true;
    location.hash = isRecorded ? `run=${run.name}&step=${at}` : "play";
  },

  go(scene) {
    if (scene > recorded.scenes.length) this.leave();
    else if (this.positionOf(scene)) this.scene = scene;
  },

  takes(name) {
    if (!this.isOpen) return false;
    this.go({ back: this.scene - 1, first: 1, last: recorded.scenes.length }[name] || this.scene + 1);
    return true;
  },

  // The position of a scene's step, from 1; 0 = it has not come yet. Once found it stays.
  positionOf(scene) {
    const wanted = recorded.scenes[scene - 1];
    if (!wanted || !this.key) return 0;
    if (!this.found[scene]) {
      const from = scene < 3 ? this.begin - dropped : this.positionOf(wanted.after || scene - 1) - dropped;
      if (from < 0) return 0;
      const fits = (step) => step.step === wanted.step && (step.of === this.key || (scene === 1 && shows(ring.indexOf(step))))
        && (!wanted.kind || plural(step.component) === wanted.kind) && step.thread.startsWith(wanted.by)
        && Object.entries(wanted.facts).every(([name, value]) => (value === null ? name in step.facts : step.facts[name] === value));
      const index = wanted.last ? ring.findLastIndex(fits) : ring.findIndex((step, nth) => nth >= from && fits(step));
      if (index >= 0) this.found[scene] = dropped + index + 1;
    }
    return this.found[scene] || 0;
  },

  // Choose the Foo, and let the picture show the scene's step.
  stage() {
    if (!this.isOpen) return;
    if (!this.key || this.run !== run) {
      const first = ring.find((step) => step.step === 2 && step.facts.type === "Added" && plural(step.component) === "foos");
      if (!first) return;
      Object.assign(this, { key: first.of, found: [], run, begin: dropped });
      follow(this.key);
    }
    const position = this.positionOf(this.scene);
    if (position && position !== at) seek(position, true);
  },

  draw() {
    if (!this.isOpen) return;
    const position = this.positionOf(this.scene), scene = recorded.scenes[this.scene - 1], step = position && view.step;
    $("made").hidden = Boolean(this.key);
    const offer = newestState()?.controls?.find((one) => one.name === "make");
    $("make").hidden = !offer || Boolean(offer.blocked);
    say("made-by", $("make").hidden ? "Apply one: kubectl apply -f manifests/samples/foo.yaml" : "");
    $("script").hidden = !position;
    say("scene-title", position ? `(${scene.step}) ${STEPS[scene.step][0]}` : "Follow one Foo");
    say("count", position ? `Scene ${this.scene} of ${recorded.scenes.length}` : "");
    $("on").disabled = !position;
    say("on", this.scene === recorded.scenes.length ? "See all ▶" : "Next ▶");
    $("before").disabled = this.scene === 1;
    if (!position) return;
    const words = { ...step.facts, key: step.key, name: shortKey(step.of), thread: step.thread };
    say("sentence", scene.sentence.replace(/\{(\w+)\}/g, (_, name) => [].concat(words[name]).join(", ")));
    say("reason", scene.reason);
    say("without", scene.without.words);
    say("test", scene.without.test);
    const { path, line, first, text } = recorded.source[scene.step], lines = text.split("\n");
    const code = lines[line - first].trim().startsWith("#") ? line + 1 : line;
    $("line").replaceChildren(make("span", `${path}:${code}`), make("code", lines[code - first].trim()));
    address(`follow&scene=${this.scene}`);
  },
};
