// Time: play, pause, speed, scrub; the scene and its pointer; events that flash.

const FLASH = 700; // milliseconds an event is seen

class Player {
  constructor(data) {
    this.data = data;
    this.span = data.span;
    this.time = this.span[0];
    this.playing = false;
    this.listeners = [];
    this.flashes = [];
    this.events = data.events.map(([t, kind, name]) => ({ t, kind, name }));
    this.canvas = document.getElementById("scene");
    if (this.canvas && data.scene) this.setUpScene(data.scene);
    this.setUpControls();
  }

  get length() {
    return this.span[1] - this.span[0];
  }

  // --- controls ---------------------------------------------------------------------------------------------

  setUpControls() {
    const byId = (id) => document.getElementById(id);
    this.button = byId("play");
    this.scrub = byId("scrub");
    this.clock = byId("clock");
    this.speedBox = byId("speed");
    this.loopBox = byId("loop");
    this.forcesBox = byId("forces");
    this.fillSpeeds();
    this.button.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => {
      this.pause();
      this.seek(this.span[0] + (this.scrub.value / 10000) * this.length);
    });
    byId("previous").addEventListener("click", () => this.toEvent(-1));
    byId("next").addEventListener("click", () => this.toEvent(1));
    if (this.forcesBox) this.forcesBox.addEventListener("change", () => this.show());
    const fit = byId("fit");
    if (fit) fit.addEventListener("click", () => { this.view.fit(); this.show(); });
    document.addEventListener("keydown", (event) => {
      if (/^(INPUT|SELECT|BUTTON|TEXTAREA)$/.test(event.target.tagName)) return;
      if (event.key === " ") { event.preventDefault(); this.toggle(); }
      if (event.key === "ArrowRight") this.seek(this.time + this.length / 300);
      if (event.key === "ArrowLeft") this.seek(this.time - this.length / 300);
    });
  }

  // Speeds around one that shows the run in about ten seconds, or in real time if that takes less than thirty.
  fillSpeeds() {
    const usual = this.length >= 3 && this.length <= 30 ? 1 : niceStep(Math.max(this.length, 1e-300) / 12);
    for (const factor of [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10]) {
      const option = document.createElement("option");
      option.value = String(factor * usual);
      option.textContent = `${short(factor * usual, 3)} ×`;
      option.selected = factor === 1;
      this.speedBox.append(option);
    }
  }

  get speed() {
    return Number(this.speedBox.value);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (!(this.length > 0)) return;
    if (this.time >= this.span[1]) this.seek(this.span[0]);
    this.playing = true;
    this.button.textContent = "Pause";
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.button.textContent = "Play";
  }

  tick(now) {
    if (!this.playing) return;
    const step = (Math.max(now - this.last, 0) / 1000) * this.speed;
    this.last = Math.max(now, this.last);
    let next = this.time + step;
    if (next >= this.span[1]) {
      if (this.loopBox.checked) next = this.span[0];
      else { next = this.span[1]; this.pause(); }
    }
    for (const event of this.events) {
      if (event.t > this.time && event.t <= next) this.flashes.push({ event, start: this.last });
    }
    if (this.flashes.length > 40) this.flashes.splice(0, this.flashes.length - 40);
    this.time = next;
    this.show();
    requestAnimationFrame((later) => this.tick(later));
  }

  seek(t) {
    this.time = Math.min(Math.max(t, this.span[0]), this.span[1]);
    this.flashes = [];
    this.show();
  }

  toEvent(direction) {
    this.pause();
    const slack = 1e-9 * this.length;
    const later = this.events.filter((e) => direction * (e.t - this.time) > slack);
    if (later.length) this.seek(direction > 0 ? later[0].t : later[later.length - 1].t);
  }

  onTime(listener) {
    this.listeners.push(listener);
  }

  show() {
    this.scrub.value = String(this.length > 0 ? Math.round((10000 * (this.time - this.span[0])) / this.length) : 0);
    this.clock.textContent = `t = ${short(this.time, 6)}`;
    if (this.view) this.draw();
    for (const listener of this.listeners) listener(this.time);
  }

  // --- scene ------------------------------------------------------------------------------------------------

  setUpScene(packed) {
    const items = packed.items.map((item) => {
      const tracks = {};
      for (const name of Object.keys(item.tracks)) tracks[name] = new Track(item.tracks[name]);
      return { ...item, tracks };
    });
    this.scene = { ...packed, t: doubles(packed.t), items };
    this.view = packed.dim === 3 ? new View3D(this.canvas, this.scene) : new View2D(this.canvas, this.scene);
    this.resize();
    window.addEventListener("resize", () => { this.resize(); this.show(); });
    this.setUpPointer();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    this.view.size = { width: Math.max(box.width, 50), height: Math.max(box.height, 50) };
    this.canvas.width = Math.round(this.view.size.width * ratio);
    this.canvas.height = Math.round(this.view.size.height * ratio);
    this.ratio = ratio;
  }

  setUpPointer() {
    const fingers = new Map();
    const canvas = this.canvas;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    const lift = (event) => fingers.delete(event.pointerId);
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointermove", (event) => {
      const from = fingers.get(event.pointerId);
      if (!from) return;
      const to = [event.clientX, event.clientY];
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const spread = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
        const box = canvas.getBoundingClientRect();
        this.view.wheel(spread(to) / spread(from), (to[0] + other[0]) / 2 - box.left, (to[1] + other[1]) / 2 - box.top);
        this.view.pan((to[0] - from[0]) / 2, (to[1] - from[1]) / 2);
      } else if (event.shiftKey || event.buttons & 6) {
        this.view.pan(to[0] - from[0], to[1] - from[1]);
      } else {
        this.view.drag(to[0] - from[0], to[1] - from[1]);
      }
      fingers.set(event.pointerId, to);
      this.show();
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.view.wheel(Math.exp(-0.0015 * event.deltaY), event.clientX - box.left, event.clientY - box.top);
      this.show();
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { this.view.fit(); this.show(); });
  }

  draw() {
    const c = this.view.context, t = this.scene.t;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.view.size.width, this.view.size.height);
    const k = before(t, this.time), length = k + 1 < t.length ? t[k + 1] - t[k] : 0;
    const x = length > 0 ? (this.time - t[k]) / length : 0;
    this.view.draw(k, x, !this.forcesBox || this.forcesBox.checked);
    this.drawFlashes(k, x);
  }

  // Rings where contacts change their mode, and the news in the corner.
  drawFlashes(k, x) {
    const c = this.view.context, now = performance.now();
    let shown = this.flashes.map((flash) => ({ event: flash.event, age: (now - flash.start) / FLASH }));
    if (!this.playing && !shown.length) {
      const near = 1e-6 * this.length;
      shown = this.events.filter((e) => Math.abs(e.t - this.time) <= near).map((event) => ({ event, age: 0.35 }));
    }
    shown = shown.filter((flash) => flash.age >= 0 && flash.age < 1);
    let line = 0;
    for (const { event, age } of shown.slice(-8)) {
      c.globalAlpha = 1 - age * age;
      c.fillStyle = c.strokeStyle = kindColour(event.kind);
      c.font = "600 13px system-ui, sans-serif";
      c.fillText(`${event.kind}  ${event.name}`, 12, 22 + 17 * line++);
      const item = this.scene.items.find(
        (i) => i.kind === "force" && (i.law === event.name || `${i.law} friction` === event.name));
      if (item) {
        const p = this.view.place(item, k, x);
        c.lineWidth = 3;
        c.beginPath();
        c.arc(p[0], p[1], 5 + 22 * age, 0, 2 * Math.PI);
        c.stroke();
      }
      c.globalAlpha = 1;
    }
  }
}
