// The director: one Foo in scenes, each a step of the run that it finds by the scene's conditions.

const SEEN = "handloop-seen";
const director = {
  isOpen: false, scene: 1, key: "", script: [],

  isNew() {
    try { return recorded.scenes.length && !localStorage.getItem(SEEN); } catch { return false; }
  },

  open(scene) {
    hold();
    this.isOpen = true;
    this.scene = Math.max(1, Math.min(scene, recorded.scenes.length));
    document.body.classList.add("following");
    $("scene").hidden = false;
    if (isRecorded) openRun((recorded.runs.find((one) => one.name === "apply") || recorded.runs[0]).name);
    render();
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
    else if (this.script[scene - 1]) this.scene = scene;
  },

  takes(name) {
    if (!this.isOpen) return false;
    this.go({ back: this.scene - 1, first: 1, last: recorded.scenes.length }[name] || this.scene + 1);
    return true;
  },

  // Find each scene's step behind that of another scene. They are shown in the order in which the steps came.
  find() {
    const found = [];
    recorded.scenes.forEach((scene, nth) => {
      const from = nth < 2 ? 0 : found[(scene.after || nth) - 1];
      const fits = (step, index) => from >= 0 && index >= from && step.step === scene.step
        && (step.step === 1 ? shows(index) : step.of === this.key) && step.thread.startsWith(scene.by)
        && (!scene.kind || plural(step.component) === scene.kind)
        && Object.entries(scene.facts).every(([name, value]) => (value === null ? name in step.facts : step.facts[name] === value));
      found.push(ring.findIndex(fits));
    });
    this.script = recorded.scenes.map((scene, nth) => ({ ...scene, position: found[nth] < 0 ? 0 : dropped + found[nth] + 1 }))
      .filter((scene) => scene.position).sort((one, other) => one.position - other.position);
  },

  // Choose the Foo, and let the picture show the scene's step.
  stage() {
    if (!this.isOpen) return;
    if (!this.key || this.run !== run) {
      const first = ring.find((step) => step.step === 2 && step.facts.type === "Added" && plural(step.component) === "foos");
      if (!first) return;
      Object.assign(this, { key: first.of, run });
      follow(this.key);
    }
    this.find();
    const scene = this.script[this.scene - 1];
    if (scene && scene.position !== at) seek(scene.position, true);
  },

  draw() {
    if (!this.isOpen) return;
    const scene = this.script[this.scene - 1], { step } = view;
    $("made").hidden = Boolean(this.key);
    const offer = newestState()?.controls?.find((one) => one.name === "make");
    $("make").hidden = !offer || Boolean(offer.blocked);
    say("made-by", $("make").hidden ? "Apply one: kubectl apply -f manifests/samples/foo.yaml" : "");
    $("script").hidden = !scene;
    say("scene-title", scene ? `(${scene.step}) ${STEPS[scene.step][0]}` : "Follow one Foo");
    say("count", scene ? `${this.scene} of ${recorded.scenes.length}` : "");
    $("on").disabled = !scene;
    say("on", this.scene === recorded.scenes.length ? "See all ▶" : "Next ▶");
    $("before").disabled = this.scene === 1;
    if (!scene) return;
    const words = { ...step.facts, key: step.key, name: shortKey(step.of), thread: step.thread };
    say("sentence", scene.sentence.replace(/\{(\w+)\}/g, (_, name) => [].concat(words[name]).join(", ")));
    say("reason", scene.reason);
    if (scene.docs) $("docs").href = scene.docs;
    say("without", scene.without.words);
    say("test", scene.without.test);
    const { path, line, first, text } = recorded.source[scene.code], lines = text.split("\n");
    const code = lines[line - first].trim().startsWith("#") ? line + 1 : line;
    $("line").replaceChildren(make("span", `${path}:${code}`), make("code", lines[code - first].trim()));
    address(`follow&scene=${this.scene}`);
  },
};
