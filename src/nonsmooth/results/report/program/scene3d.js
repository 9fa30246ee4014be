// The scene in space, third axis up: perspective, flat shading, far before near. No WebGL.

class View3D {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.scene = scene;
    this.fit();
  }

  fit() {
    const { low, high } = this.scene;
    this.target = low.map((v, i) => (v + high[i]) / 2);
    this.radius = Math.max(0.5 * Math.hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]), 1e-12);
    this.yaw = -0.9;
    this.pitch = 0.38;
    this.distance = 3.1 * this.radius;
    this.orient();
  }

  // Axes of the camera: right, up, towards the viewer.
  orient() {
    const cy = Math.cos(this.yaw), sy = Math.sin(this.yaw), cp = Math.cos(this.pitch), sp = Math.sin(this.pitch);
    this.right = [-sy, cy, 0];
    this.back = [cy * cp, sy * cp, sp];
    this.up = [-cy * sp, -sy * sp, cp];
    this.eye = this.target.map((v, i) => v + this.distance * this.back[i]);
  }

  drag(dx, dy) {
    this.yaw -= 0.008 * dx;
    this.pitch = Math.min(Math.max(this.pitch + 0.008 * dy, -1.55), 1.55);
    this.orient();
  }

  pan(dx, dy) {
    const s = this.distance / this.focal();
    this.target = this.target.map((v, i) => v - s * dx * this.right[i] + s * dy * this.up[i]);
    this.orient();
  }

  wheel(factor) {
    this.distance = Math.min(Math.max(this.distance / factor, 1e-3 * this.radius), 1e3 * this.radius);
    this.orient();
  }

  focal() {
    return 1.35 * Math.min(this.size.width, this.size.height);
  }

  // [x, y on screen, depth]; depth <= 0 is behind the viewer.
  project(p) {
    const d = [p[0] - this.eye[0], p[1] - this.eye[1], p[2] - this.eye[2]];
    const depth = -(d[0] * this.back[0] + d[1] * this.back[1] + d[2] * this.back[2]);
    const s = this.focal() / Math.max(depth, 1e-9 * this.radius);
    const x = d[0] * this.right[0] + d[1] * this.right[1] + d[2] * this.right[2];
    const y = d[0] * this.up[0] + d[1] * this.up[1] + d[2] * this.up[2];
    return [this.size.width / 2 + s * x, this.size.height / 2 - s * y, depth];
  }

  draw(k, x, showForces) {
    this.near = 0.02 * this.radius;
    this.list = [];
    for (const item of this.scene.items) {
      const collect = this[`collect_${item.kind}`];
      if (collect) collect.call(this, item, k, x);
    }
    this.list.sort((a, b) => b.depth - a.depth);
    const c = this.context;
    c.lineJoin = c.lineCap = "round";
    for (const part of this.list) part.paint(c);
    if (showForces) for (const item of this.scene.items) if (item.kind === "force") this.arrow(item, k, x);
    this.axes();
  }

  face(points, colour, edge) {
    const flat = points.map((p) => this.project(p));
    if (flat.some((p) => !(p[2] > this.near))) return;
    const depth = flat.reduce((sum, p) => sum + p[2], 0) / flat.length;
    this.list.push({
      depth,
      paint: (c) => {
        c.beginPath();
        for (const p of flat) c.lineTo(p[0], p[1]);
        c.closePath();
        c.fillStyle = colour;
        c.fill();
        c.strokeStyle = edge;
        c.lineWidth = 1;
        c.stroke();
      },
    });
  }

  path(points, colour, width, lift = 0) {
    const flat = points.map((p) => this.project(p)).filter((p) => p[2] > this.near);
    for (let i = 0; i + 1 < flat.length; i++) {
      const a = flat[i], b = flat[i + 1];
      this.list.push({
        depth: (a[2] + b[2]) / 2 - lift,
        paint: (c) => {
          c.beginPath();
          c.moveTo(a[0], a[1]);
          c.lineTo(b[0], b[1]);
          c.strokeStyle = colour;
          c.lineWidth = width;
          c.stroke();
        },
      });
    }
  }

  collect_ground(item, k, x) {
    const at = item.tracks.at.at(k, x), n = unit(item.tracks.normal.at(k, x));
    const e1 = unit(Math.abs(n[2]) < 0.9 ? cross([0, 0, 1], n) : cross([1, 0, 0], n)), e2 = cross(n, e1);
    // the foot of the middle of the scene; cells of a nice size around it
    const shift = n.reduce((sum, v, i) => sum + v * (this.target[i] - at[i]), 0);
    const foot = this.target.map((v, i) => v - shift * n[i]);
    const cell = niceStep(0.28 * this.radius), cells = 7;
    const below = n.reduce((sum, v, i) => sum + v * (this.eye[i] - at[i]), 0) < 0;
    for (let i = -cells; i < cells; i++) {
      for (let j = -cells; j < cells; j++) {
        const corner = (a, b) => foot.map((v, m) => v + cell * (a * e1[m] + b * e2[m]));
        const points = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
        const flat = points.map((p) => this.project(p));
        if (flat.some((p) => !(p[2] > this.near))) continue;
        this.list.push({
          depth: below ? -1 : 1e30, // the ground lies behind everything on it, before everything seen from below
          paint: (c) => {
            c.beginPath();
            for (const p of flat) c.lineTo(p[0], p[1]);
            c.closePath();
            c.fillStyle = (i + j) % 2 ? "#e3ddd0" : "#ece7dc";
            c.globalAlpha = below ? 0.35 : 1;
            c.fill();
            c.globalAlpha = 1;
          },
        });
      }
    }
  }

  collect_mesh(item, k, x) {
    const at = item.tracks.at.at(k, x), R = matrix(item.tracks.rotation, k, x);
    const corners = item.vertices.map((v) => [
      at[0] + R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
      at[1] + R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
      at[2] + R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    ]);
    for (const face of item.faces) {
      const points = face.map((i) => corners[i]);
      const n = unit(cross(minus(points[1], points[0]), minus(points[2], points[0])));
      if (dot(n, minus(this.eye, points[0])) <= 0) continue;
      const light = 0.62 + 0.38 * Math.max(0, 0.35 * n[0] * this.back[0] + 0.35 * n[1] * this.back[1] + 0.8 * n[2]);
      this.face(points, shade(item.colour, Math.min(light * 1.02, 1)), shade(item.colour, 0.5));
    }
  }

  collect_sphere(item, k, x) {
    const at = item.tracks.at.at(k, x), p = this.project(at);
    if (!(p[2] > this.near)) return;
    const r = (item.radius * this.focal()) / p[2];
    this.list.push({
      depth: p[2],
      paint: (c) => {
        const glow = c.createRadialGradient(p[0] - 0.35 * r, p[1] - 0.4 * r, 0.1 * r, p[0], p[1], Math.max(r, 1));
        glow.addColorStop(0, shade(item.colour, 1.45));
        glow.addColorStop(1, shade(item.colour, 0.62));
        c.beginPath();
        c.arc(p[0], p[1], Math.max(r, 1), 0, 2 * Math.PI);
        c.fillStyle = glow;
        c.fill();
      },
    });
    if (!item.tracks.rotation || r < 4) return;
    // the visible half of two great circles shows how the sphere turns
    const R = matrix(item.tracks.rotation, k, x), axis = unit(minus(this.eye, at));
    for (const [i, j] of [[0, 1], [0, 2]]) {
      let run = [];
      for (let m = 0; m <= 48; m++) {
        const cos = Math.cos((m * Math.PI) / 24), sin = Math.sin((m * Math.PI) / 24);
        const d = [0, 1, 2].map((row) => cos * R[3 * row + i] + sin * R[3 * row + j]);
        if (dot(d, axis) > 0.02) run.push(d.map((v, n) => at[n] + item.radius * v));
        if (dot(d, axis) <= 0.02 || m === 48) {
          if (run.length > 1) this.path(run, shade(item.colour, 0.45), 1, 2 * item.radius);
          run = [];
        }
      }
    }
  }

  collect_line(item, k, x) {
    const v = item.tracks.points.at(k, x), points = [];
    for (let i = 0; i + 2 < v.length; i += 3) points.push([v[i], v[i + 1], v[i + 2]]);
    this.path(points, item.colour, item.width);
  }

  collect_spring(item, k, x) {
    const a = this.project(item.tracks.a.at(k, x)), b = this.project(item.tracks.b.at(k, x));
    if (!(a[2] > this.near && b[2] > this.near)) return;
    const half = item.width ? (item.width * this.focal()) / (a[2] + b[2]) : 5;
    this.list.push({
      depth: (a[2] + b[2]) / 2,
      paint: (c) => {
        c.beginPath();
        for (const s of zigzag(a, b, item.coils, half)) c.lineTo(s[0], s[1]);
        c.strokeStyle = item.colour;
        c.lineWidth = 1.4;
        c.stroke();
      },
    });
  }

  collect_trace(item, k, x) {
    const points = [];
    for (let i = 0; i <= k; i++) points.push(item.tracks.at.frame(i));
    points.push(item.tracks.at.at(k, x));
    this.path(points, item.colour, 1.2);
  }

  arrow(item, k, x) {
    const p = item.tracks.at.at(k, x), f = item.tracks.vector.frame(nearer(k, x, this.scene.t.length));
    const size = Math.hypot(f[0], f[1], f[2]);
    const end = this.project(p);
    if (!(size > 0) || !(end[2] > this.near)) return;
    const length = (0.5 * this.radius * Math.min(size / this.scene.force_scale, 1.25)) / size;
    const start = this.project(p.map((v, i) => v - length * f[i]));
    if (!(start[2] > this.near)) return;
    const long = Math.hypot(end[0] - start[0], end[1] - start[1]);
    const reach = 0.2 * Math.min(this.size.width, this.size.height);
    const scene = { force_scale: reach / Math.max(long, 1e-9) };
    drawArrow(this.context, end, (end[0] - start[0]) / long, (end[1] - start[1]) / long, scene, this.size, item.colour);
  }

  place(item, k, x) {
    return this.project(item.tracks.at.at(k, x));
  }

  // A small tripod in the corner.
  axes() {
    const c = this.context, o = [34, this.size.height - 34];
    ["x", "y", "z"].forEach((name, i) => {
      const end = [o[0] + 24 * this.right[i], o[1] - 24 * this.up[i]];
      c.strokeStyle = c.fillStyle = ["#c0392b", "#27864a", "#2b5fc0"][i];
      c.lineWidth = 1.6;
      c.beginPath();
      c.moveTo(o[0], o[1]);
      c.lineTo(end[0], end[1]);
      c.stroke();
      c.font = "11px system-ui, sans-serif";
      c.fillText(name, end[0] + 2, end[1] - 2);
    });
  }
}

const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
function unit(a) {
  const length = Math.hypot(a[0], a[1], a[2]) || 1;
  return [a[0] / length, a[1] / length, a[2] / length];
}

// Rotation matrix (rows) of a track of quaternions, the identity without one.
function matrix(track, k, x) {
  if (!track) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const [w, a, b, c] = track.rotation(k, x);
  return [
    1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b),
    2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a),
    2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b),
  ];
}
