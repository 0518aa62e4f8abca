// The director: one Foo in scenes, each a step of the recording that it finds by the scene's conditions.
// Scene 0 has no step. A scene asks what breaks without its part, and the next press answers.

const SEEN = "handloop-seen";
const INTRO = 0;
const director = {
  isOpen: false, scene: INTRO, key: "", script: [], answered: new Set(),

  isNew() {
    try { return recorded.scenes.length && !localStorage.getItem(SEEN); } catch { return false; }
  },

  open(scene) {
    hold();
    this.isOpen = true;
    this.scene = Math.max(INTRO, Math.min(scene, recorded.scenes.length - 1));
    document.body.classList.add("following");
    $("scene").hidden = false;
    if (isRecorded) openRun((recorded.runs.find((one) => one.name === "apply") || recorded.runs[0]).name);
    this.show();
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
    const asks = this.script[this.scene]?.without && !this.answered.has(this.scene);
    if (scene > this.scene && asks) this.answered.add(this.scene);
    else if (scene >= recorded.scenes.length) this.leave();
    else if (this.script[scene]) {
      this.scene = scene;
      history.pushState(null, "", `#follow&scene=${scene}`);
      this.show();
    }
  },

  // After a turn: no source of another scene, and the lit step in view.
  show() {
    ACTS.close();
    render();
    if (narrow.matches) (document.querySelector(".place.on") || $("picture")).scrollIntoView({ block: "center" });
  },

  takes(name) {
    if (!this.isOpen) return false;
    this.go({ back: this.scene - 1, earlier: this.scene - 1, first: INTRO, last: recorded.scenes.length - 1 }[name] ?? this.scene + 1);
    return true;
  },

  // Find each scene's step behind that of another scene. They are shown in the order in which the steps came.
  find() {
    const found = [];
    recorded.scenes.forEach((scene, nth) => {
      const from = nth < 2 ? 0 : found[scene.after || nth - 1];
      const fits = (step, index) => from >= 0 && index >= from && step.step === scene.step
        && (step.step === 1 ? shows(index) : step.of === this.key) && step.thread.startsWith(scene.by)
        && (!scene.kind || plural(step.component) === scene.kind)
        && Object.entries(scene.facts).every(([name, value]) => (value === null ? name in step.facts : step.facts[name] === value));
      found.push(this.key && scene.step ? ring.findIndex(fits) : -1);
    });
    const [intro, ...others] = recorded.scenes.map((scene, nth) => ({ ...scene, position: found[nth] < 0 ? 0 : dropped + found[nth] + 1 }));
    this.script = [intro, ...others.filter((scene) => scene.position).sort((one, other) => one.position - other.position)];
  },

  // Choose the Foo, and let the picture show the scene's step.
  stage() {
    if (!this.isOpen) return;
    if (!this.key || this.run !== run) {
      const first = ring.find((step) => step.step === 2 && step.facts.type === "Added" && plural(step.component) === "foos");
      this.key = first ? first.of : "";
      this.run = run;
      if (first) follow(this.key);
    }
    this.find();
    const position = this.script[this.scene]?.position ?? at;
    if (position !== at) seek(position, true);
  },

  draw() {
    if (!this.isOpen) return;
    const scene = this.script[this.scene], last = recorded.scenes.length - 1, { step } = view, isIntro = this.scene === INTRO;
    const offer = newestState()?.controls?.find((one) => one.name === "make");
    $("made").hidden = Boolean(this.key);
    $("make").hidden = !offer || Boolean(offer.blocked);
    say("made-by", $("make").hidden ? "Create one: kubectl apply -f manifests/samples/foo.yaml" : "");
    say("count", `${this.scene} of ${last}`);
    $("on").disabled = !this.script[this.scene + 1] && this.scene < last;
    $("before").disabled = isIntro;
    $("legend").hidden = !isIntro;
    $("script").hidden = isIntro || !scene;
    $("reasons").hidden = !scene;
    $("docs").hidden = isIntro;
    say("scene-title", isIntro ? "Follow one Foo" : scene ? `(${scene.step}) ${WORDS[scene.step]}` : "…");
    if (!scene) return say("sentence", "This step has not happened yet.");
    const words = step ? { ...step.facts, ...this.foo(), key: step.key, name: shortKey(step.of || ""), thread: step.thread } : {};
    say("sentence", scene.sentence.replace(/\{(\w+)\}/g, (_, name) => [].concat(words[name]).join(", ")));
    say("reason", scene.reason);
    if (scene.docs) $("docs").href = scene.docs;
    if (isIntro) return say("on", "Next ▶");
    const [, part, answer] = scene.without?.words.match(/^(.*?): (.*)$/s) || [], isAnswered = this.answered.has(this.scene);
    say("part", part || "");
    say("without", answer || "");
    say("test", scene.without?.test || "");
    $("asked").hidden = !part;
    $("answer").hidden = !isAnswered;
    say("on", part && !isAnswered ? "Answer ▶" : this.scene === last ? "See all ▶" : "Next ▶");
    const { path, line, first, text } = recorded.source[scene.code], lines = text.split("\n");
    const code = lines[line - first].trim().startsWith("#") ? line + 1 : line;
    return $("line").replaceChildren(make("span", `${path}:${code}`), make("code", lines[code - first].trim()));
  },

  // The replicas of the Foo, wanted and available.
  foo() {
    return (isRecorded ? shownState() : newestState())?.objects.flatMap((one) => one.rows).find((row) => row.key === this.key) || {};
  },
};
