// The scene in the plane: second axis up.

class View2D {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.scene = scene;
    this.fit();
  }

  // Show everything, with a margin for arrows and ground.
  fit() {
    const { low, high } = this.scene;
    const width = Math.max(high[0] - low[0], 1e-12), height = Math.max(high[1] - low[1], 1e-12);
    const largest = Math.max(width, height);
    this.centre = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.extent = [Math.max(width, 0.35 * largest) * 1.16, Math.max(height, 0.35 * largest) * 1.16];
    this.zoom = 1;
  }

  scale() {
    const { width, height } = this.size;
    return this.zoom * Math.min(width / this.extent[0], height / this.extent[1]);
  }

  toScreen(p) {
    const s = this.scale();
    return [this.size.width / 2 + s * (p[0] - this.centre[0]), this.size.height / 2 - s * (p[1] - this.centre[1])];
  }

  drag(dx, dy) {
    const s = this.scale();
    this.centre = [this.centre[0] - dx / s, this.centre[1] + dy / s];
  }

  pan(dx, dy) {
    this.drag(dx, dy);
  }

  // The point under the pointer stays where it is.
  wheel(factor, x, y) {
    const s = this.scale(), { width, height } = this.size;
    const px = this.centre[0] + (x - width / 2) / s, py = this.centre[1] - (y - height / 2) / s;
    this.zoom = Math.min(Math.max(this.zoom * factor, 1e-3), 1e5);
    const r = this.scale();
    this.centre = [px - (x - width / 2) / r, py + (y - height / 2) / r];
  }

  draw(k, x, showForces) {
    const c = this.context;
    this.grid();
    c.lineJoin = c.lineCap = "round";
    for (const item of this.scene.items) {
      if (item.kind === "force") continue;
      c.fillStyle = item.colour;
      c.strokeStyle = shade(item.colour, 0.62);
      c.lineWidth = 1.2;
      const painter = this[`draw_${item.kind}`];
      if (painter) painter.call(this, item, k, x);
    }
    if (showForces) {
      for (const item of this.scene.items) if (item.kind === "force") this.arrow(item, k, x);
    }
  }

  grid() {
    const c = this.context, { width, height } = this.size, s = this.scale();
    const step = niceStep(90 / s);
    c.strokeStyle = "#e6e8eb";
    c.lineWidth = 1;
    c.beginPath();
    const left = this.centre[0] - width / 2 / s, low = this.centre[1] - height / 2 / s;
    for (let i = Math.ceil(left / step); i * step < left + width / s; i++) {
      const px = this.toScreen([i * step, 0])[0];
      c.moveTo(px, 0);
      c.lineTo(px, height);
    }
    for (let i = Math.ceil(low / step); i * step < low + height / s; i++) {
      const py = this.toScreen([0, i * step])[1];
      c.moveTo(0, py);
      c.lineTo(width, py);
    }
    c.stroke();
    scaleBar(c, width, height, step * s, step);
  }

  draw_ground(item, k, x) {
    const c = this.context, p = this.toScreen(item.tracks.at.at(k, x)), n = item.tracks.normal.at(k, x);
    const length = Math.hypot(n[0], n[1]) || 1, nx = n[0] / length, ny = -n[1] / length;
    const tx = -ny, ty = nx, far = 2 * (this.size.width + this.size.height) + Math.hypot(p[0], p[1]);
    c.beginPath();
    c.moveTo(p[0] - far * tx, p[1] - far * ty);
    c.lineTo(p[0] + far * tx, p[1] + far * ty);
    c.lineTo(p[0] + far * tx - far * nx, p[1] + far * ty - far * ny);
    c.lineTo(p[0] - far * tx - far * nx, p[1] - far * ty - far * ny);
    c.closePath();
    c.globalAlpha = 0.22;
    c.fill();
    c.globalAlpha = 1;
    c.beginPath();
    c.moveTo(p[0] - far * tx, p[1] - far * ty);
    c.lineTo(p[0] + far * tx, p[1] + far * ty);
    c.lineWidth = 2;
    c.stroke();
  }

  draw_circle(item, k, x) {
    const c = this.context, p = this.toScreen(item.tracks.at.at(k, x)), r = item.radius * this.scale();
    if (!Number.isFinite(p[0] + p[1])) return;
    c.beginPath();
    c.arc(p[0], p[1], Math.max(r, 1.5), 0, 2 * Math.PI);
    c.fill();
    c.stroke();
    if (item.tracks.angle) {
      const a = item.tracks.angle.angle(k, x);
      c.beginPath();
      c.moveTo(p[0], p[1]);
      c.lineTo(p[0] + r * Math.cos(a), p[1] - r * Math.sin(a));
      c.stroke();
    }
  }

  draw_polygon(item, k, x) {
    const c = this.context, at = item.tracks.at.at(k, x);
    const a = item.tracks.angle ? item.tracks.angle.angle(k, x) : 0, cos = Math.cos(a), sin = Math.sin(a);
    c.beginPath();
    for (const [px, py] of item.points) {
      const s = this.toScreen([at[0] + cos * px - sin * py, at[1] + sin * px + cos * py]);
      c.lineTo(s[0], s[1]);
    }
    c.closePath();
    c.fill();
    c.stroke();
  }

  draw_line(item, k, x) {
    const c = this.context, values = item.tracks.points.at(k, x);
    c.beginPath();
    for (let i = 0; i + 1 < values.length; i += 2) {
      const s = this.toScreen([values[i], values[i + 1]]);
      c.lineTo(s[0], s[1]);
    }
    c.strokeStyle = item.colour;
    c.lineWidth = item.width;
    c.stroke();
  }

  draw_spring(item, k, x) {
    const c = this.context, a = this.toScreen(item.tracks.a.at(k, x)), b = this.toScreen(item.tracks.b.at(k, x));
    const half = item.width ? (item.width * this.scale()) / 2 : 6;
    c.beginPath();
    for (const s of zigzag(a, b, item.coils, half)) c.lineTo(s[0], s[1]);
    c.strokeStyle = item.colour;
    c.lineWidth = 1.4;
    c.stroke();
  }

  draw_trace(item, k, x) {
    const c = this.context, track = item.tracks.at;
    c.beginPath();
    for (let i = 0; i <= k; i++) {
      const s = this.toScreen(track.frame(i));
      c.lineTo(s[0], s[1]);
    }
    const now = this.toScreen(track.at(k, x));
    c.lineTo(now[0], now[1]);
    c.strokeStyle = item.colour;
    c.globalAlpha = 0.55;
    c.stroke();
    c.globalAlpha = 1;
  }

  arrow(item, k, x) {
    const p = this.toScreen(item.tracks.at.at(k, x));
    const f = item.tracks.vector.frame(nearer(k, x, this.scene.t.length));
    drawArrow(this.context, p, f[0], -f[1], this.scene, this.size, item.colour);
  }

  place(item, k, x) {
    return this.toScreen(item.tracks.at.at(k, x));
  }
}

const nearer = (k, x, n) => (x > 0.5 && k + 1 < n ? k + 1 : k);

// 1, 2 or 5 times a power of ten, not below `least`.
function niceStep(least) {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= least * 0.999) return factor * power;
  return 10 * power;
}

function scaleBar(c, width, height, pixels, length) {
  c.strokeStyle = c.fillStyle = "#6b7280";
  c.lineWidth = 2;
  c.beginPath();
  c.moveTo(width - 14 - pixels, height - 14);
  c.lineTo(width - 14, height - 14);
  c.stroke();
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "center";
  c.fillText(short(length, 3), width - 14 - pixels / 2, height - 19);
  c.textAlign = "left";
}

function zigzag(a, b, coils, half) {
  const dx = b[0] - a[0], dy = b[1] - a[1], length = Math.hypot(dx, dy) || 1;
  const nx = -dy / length, ny = dx / length, points = [a];
  const n = 2 * coils;
  for (let i = 0; i < n; i++) {
    const x = 0.12 + (0.76 * (i + 0.5)) / n, side = i % 2 ? -half : half;
    points.push([a[0] + x * dx + side * nx, a[1] + x * dy + side * ny]);
  }
  points.splice(1, 0, [a[0] + 0.12 * dx, a[1] + 0.12 * dy]);
  points.push([a[0] + 0.88 * dx, a[1] + 0.88 * dy], b);
  return points;
}

// A force as an arrow that ends at p; length in proportion, cut off for impacts.
function drawArrow(c, p, fx, fy, scene, size, colour) {
  const force = Math.hypot(fx, fy);
  if (!(force > 0) || !Number.isFinite(p[0] + p[1])) return;
  const length = Math.min(force / scene.force_scale, 1.25) * 0.2 * Math.min(size.width, size.height);
  if (length < 2) return;
  const ux = fx / force, uy = fy / force, head = Math.min(9, 0.45 * length);
  const from = [p[0] - length * ux, p[1] - length * uy];
  c.strokeStyle = c.fillStyle = colour;
  c.lineWidth = 2.2;
  c.beginPath();
  c.moveTo(from[0], from[1]);
  c.lineTo(p[0] - head * ux, p[1] - head * uy);
  c.stroke();
  c.beginPath();
  c.moveTo(p[0], p[1]);
  c.lineTo(p[0] - head * (ux - 0.5 * uy), p[1] - head * (uy + 0.5 * ux));
  c.lineTo(p[0] - head * (ux + 0.5 * uy), p[1] - head * (uy - 0.5 * ux));
  c.closePath();
  c.fill();
}
