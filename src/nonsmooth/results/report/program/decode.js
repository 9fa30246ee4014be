// Arrays out of base64 text, and places at any time.

function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

const doubles = (text) => new Float64Array(bytes(text));
const singles = (text) => new Float32Array(bytes(text));

// A row of a plot; what is not finite becomes null, which the plots leave out.
function curve(row) {
  const values = singles(row.f4);
  const out = new Array(values.length);
  for (let i = 0; i < values.length; i++) out[i] = Number.isFinite(values[i]) ? row.base + values[i] : null;
  return out;
}

// A moving place: rows of n numbers, one row per frame or one for all.
class Track {
  constructor(data) {
    this.n = data.n;
    if (data.fixed) {
      this.values = Float64Array.from(data.fixed, (v) => (v === null ? NaN : v));
      this.fixed = true;
    } else if (data.f4) {
      this.values = singles(data.f4);
    } else {
      const levels = new Uint16Array(bytes(data.u2));
      this.values = new Float32Array(levels.length);
      for (let i = 0; i < levels.length; i++) {
        const j = i % data.n;
        this.values[i] = data.low[j] + data.scale[j] * levels[i];
      }
    }
  }

  // Linear between frames k and k + 1.
  at(k, x) {
    const n = this.n, out = new Array(n);
    if (this.fixed) {
      for (let i = 0; i < n; i++) out[i] = this.values[i];
      return out;
    }
    const a = k * n, last = this.values.length / n - 1, b = Math.min(k + 1, last) * n;
    for (let i = 0; i < n; i++) out[i] = this.values[a + i] + x * (this.values[b + i] - this.values[a + i]);
    return out;
  }

  // The value of frame k, for what is not to be blended: forces.
  frame(k) {
    return this.at(k, 0);
  }

  // An angle, the short way round.
  angle(k, x) {
    if (this.fixed) return this.values[0];
    const a = this.values[k], b = this.values[Math.min(k + 1, this.values.length - 1)];
    const turn = 2 * Math.PI;
    return a + x * (b - a - turn * Math.round((b - a) / turn));
  }

  // A unit quaternion, the short way round.
  rotation(k, x) {
    if (this.fixed) return Array.from(this.values);
    const a = this.at(k, 0), b = this.at(k, 1);
    const dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    const sign = dot < 0 ? -1 : 1;
    const q = a.map((v, i) => v + x * (sign * b[i] - v));
    const length = Math.hypot(q[0], q[1], q[2], q[3]) || 1;
    return q.map((v) => v / length);
  }
}

// Largest k with t[k] <= value, within 0 ... length - 1.
function before(t, value) {
  let low = 0, high = t.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (t[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

// A number of about `digits` digits.
function short(value, digits = 5) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
}

const KINDS = {
  impact: "#d1343a", close: "#e07b28", open: "#2e9e5b", stick: "#7b4bb3", slip: "#2f7fd0", reversal: "#1f9fb0",
  touch: "#b08a1e", zeno: "#b02a8a", switch: "#3366aa", breakpoint: "#777777", event: "#555555",
};
const kindColour = (kind) => KINDS[kind] || "#555555";

// A hexadecimal colour, darker (factor < 1) or lighter (factor > 1).
function shade(colour, factor) {
  const match = /^#([0-9a-f]{6})$/i.exec(colour);
  if (!match) return colour;
  const value = parseInt(match[1], 16);
  const mix = (c) => Math.round(factor <= 1 ? c * factor : c + (255 - c) * (factor - 1));
  return `rgb(${mix(value >> 16)},${mix((value >> 8) & 255)},${mix(value & 255)})`;
}
