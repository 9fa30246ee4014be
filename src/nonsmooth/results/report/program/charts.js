// Time plots on the same instants: one cursor, one zoom, one present.

const LINES = ["#1f6fb2", "#d9602b", "#2a9168", "#b5559a", "#c28f10", "#3aa3c4", "#5c5c5c", "#6f4fa8", "#8a5a2b", "#5b8c2a", "#c23b4e", "#2f4f8f"];

class Charts {
  constructor(data, player) {
    this.box = document.getElementById("charts");
    this.player = player;
    this.t = Array.from(doubles(data.t));
    this.span = data.span;
    this.plots = [];
    this.busy = false;
    for (const panel of data.panels) this.add(panel);
    player.onTime((t) => this.mark(t));
    window.addEventListener("resize", () => this.resize());
  }

  width() {
    return Math.max(this.box.clientWidth - 4, 280);
  }

  add(panel) {
    const holder = document.createElement("div");
    holder.className = "chart";
    const head = document.createElement("h3");
    head.textContent = panel.label + (panel.left_out > 0 ? ` (${panel.left_out} more not drawn)` : "");
    holder.append(head);
    this.box.append(holder);
    const plot = panel.kind === "modes" ? this.strips(panel, holder) : this.lines(panel, holder);
    const line = document.createElement("div");
    line.className = "present";
    plot.over.append(line);
    this.clickable(plot);
    this.plots.push({ plot, line });
  }

  // What all panels share.
  common(height) {
    return {
      width: this.width(),
      height,
      cursor: { sync: { key: "run" }, drag: { x: true, y: false }, focus: { prox: 24 } },
      scales: { x: { time: false, range: (u, low, high) => (u.seen = high > low ? [low, high] : [low - 0.5, low + 0.5]) } },
      hooks: {
        setScale: [(u, key) => { if (key === "x") this.follow(u); }],
        drawAxes: [(u) => this.eventLines(u)], // above the grid, below the curves
      },
    };
  }

  axes(first) {
    const grid = { stroke: "#e9ebee", width: 1 }, ticks = { stroke: "#c9ced6", width: 1, size: 4 };
    const look = { stroke: "#4b5563", font: "11px system-ui, sans-serif", grid, ticks };
    return [
      { ...look, size: 26, values: (u, splits) => splits.map((v) => short(v, digits(splits, 7))) },
      { ...look, size: 66, values: (u, splits) => splits.map((v) => (v === null ? "" : short(v, digits(splits, 4)))), ...first },
    ];
  }

  lines(panel, holder) {
    const log = panel.scale === "log";
    const options = this.common(168);
    options.axes = this.axes({});
    if (log) options.scales.y = { distr: 3 };
    else if (panel.kind === "lines") options.scales.y = { range: heights };
    options.series = [{ label: "t", value: (u, v) => short(v, 8) }];
    const values = [this.t];
    panel.series.forEach((row, i) => {
      const colour = LINES[i % LINES.length];
      const series = {
        label: row.name, stroke: colour, width: 1.3, spanGaps: true, points: { show: false },
        value: (u, v) => short(v, 6),
      };
      if (panel.kind === "steps") series.paths = uPlot.paths.stepped({ align: -1 });
      if (panel.kind === "stems") { series.paths = stems; series.width = 1; }
      options.series.push(series);
      values.push(curve(row));
    });
    return new uPlot(options, values, holder);
  }

  // One strip per law, coloured by mode.
  strips(panel, holder) {
    const rows = panel.strips.map((strip) => ({
      name: strip.name, begin: doubles(strip.begin), end: doubles(strip.end), mode: new Uint8Array(bytes(strip.mode)),
    }));
    const options = this.common(44 + 20 * rows.length);
    options.scales.y = { range: [0, rows.length] };
    options.legend = { show: false };
    options.axes = this.axes({
      size: 110, grid: { show: false }, ticks: { show: false }, splits: rows.map((_, i) => rows.length - i - 0.5),
      values: () => rows.map((row) => (row.name.length > 18 ? row.name.slice(0, 17) + "…" : row.name)),
    });
    options.series = [{}, { label: "", points: { show: false }, width: 0 }];
    const colours = {};
    for (const entry of panel.legend) colours[entry.mode] = entry.colour;
    options.hooks.draw = [(u) => drawStrips(u, rows, colours)];
    const plot = new uPlot(options, [this.t, this.t.map(() => null)], holder);
    const legend = document.createElement("p");
    legend.className = "legend";
    for (const entry of panel.legend) {
      const patch = document.createElement("span");
      patch.className = "patch";
      patch.style.background = entry.colour;
      legend.append(patch, document.createTextNode(entry.word));
    }
    holder.append(legend);
    return plot;
  }

  // A zoom of one panel is a zoom of all.
  follow(u) {
    if (this.busy) return;
    this.busy = true;
    const { min, max } = u.scales.x;
    for (const { plot } of this.plots) {
      if (plot !== u && (plot.scales.x.min !== min || plot.scales.x.max !== max)) plot.setScale("x", { min, max });
    }
    this.busy = false;
    this.mark(this.player.time);
  }

  clickable(plot) {
    let from = null;
    plot.over.addEventListener("mousedown", (event) => { from = event.clientX; });
    plot.over.addEventListener("mouseup", (event) => {
      if (from !== null && Math.abs(event.clientX - from) < 3) {
        const box = plot.over.getBoundingClientRect();
        this.player.pause();
        this.player.seek(plot.posToVal(event.clientX - box.left, "x"));
      }
      from = null;
    });
  }

  mark(t) {
    for (const { plot, line } of this.plots) {
      const x = plot.valToPos(t, "x");
      const inside = x >= 0 && x <= plot.over.clientWidth;
      line.style.display = inside ? "block" : "none";
      if (inside) line.style.transform = `translateX(${x}px)`;
    }
  }

  // Faint lines at the events, as long as they do not cover the picture.
  eventLines(u) {
    const { min, max } = u.scales.x, shown = this.player.events.filter((e) => e.t >= min && e.t <= max);
    if (!shown.length || shown.length > 150) return;
    const c = u.ctx, { top, height } = u.bbox;
    c.save();
    c.globalAlpha = 0.32;
    c.lineWidth = 1;
    for (const event of shown) {
      const x = Math.round(u.valToPos(event.t, "x", true)) + 0.5;
      c.strokeStyle = kindColour(event.kind);
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, top + height);
      c.stroke();
    }
    c.restore();
  }

  resize() {
    for (const { plot } of this.plots) plot.setSize({ width: this.width(), height: plot.height });
    this.mark(this.player.time);
  }
}

// Vertical strokes from zero: an impact stands out, sustained contact is a band.
function stems(u, index, from, to) {
  const path = new Path2D(), x = u.data[0], y = u.data[index];
  const zero = u.valToPos(0, "y", true);
  for (let i = from; i <= to; i++) {
    if (!y[i]) continue;
    const px = u.valToPos(x[i], "x", true);
    path.moveTo(px, zero);
    path.lineTo(px, u.valToPos(y[i], "y", true));
  }
  return { stroke: path, fill: null, clip: null, band: null, gaps: null, flags: 0 };
}

function drawStrips(u, rows, colours) {
  const c = u.ctx, { left, top, width, height } = u.bbox, row = height / rows.length;
  const { min, max } = u.scales.x;
  c.save();
  c.beginPath();
  c.rect(left, top, width, height);
  c.clip();
  rows.forEach((strip, i) => {
    for (let k = 0; k < strip.mode.length; k++) {
      if (strip.end[k] < min || strip.begin[k] > max) continue;
      const a = u.valToPos(Math.max(strip.begin[k], min), "x", true), b = u.valToPos(Math.min(strip.end[k], max), "x", true);
      c.fillStyle = colours[strip.mode[k] - 8] || "#b9c1cc";
      c.fillRect(a, top + row * i + 0.16 * row, Math.max(b - a, strip.mode[k] === 8 ? 0 : 1.5), 0.68 * row);
    }
  });
  c.restore();
}

// Digits that tell marks of an axis apart, at least `least`.
function digits(splits, least) {
  const marks = splits.filter((v) => v !== null);
  if (marks.length < 2) return least;
  const largest = Math.max(...marks.map(Math.abs)), step = Math.abs(marks[1] - marks[0]);
  return Math.min(Math.max(least, Math.ceil(Math.log10(largest / step)) + 1), 12);
}

// Range of what is seen: the visible points, and where lines from the points beside them enter the picture. The range of x is the one
// just asked for (u.seen): u.scales still holds the former one while ranges are made.
function heights(u, low, high) {
  const t = u.data[0];
  for (const edge of u.seen || []) {
    const i = before(t, edge), j = i + 1;
    if (!(t[i] < edge && edge < t[j])) continue;
    for (let k = 1; k < u.data.length; k++) {
      const a = u.data[k][i], b = u.data[k][j];
      if (!u.series[k].show || a == null || b == null) continue;
      const v = a + ((b - a) * (edge - t[i])) / (t[j] - t[i]);
      low = low === null ? v : Math.min(low, v);
      high = high === null ? v : Math.max(high, v);
    }
  }
  return low === null ? [0, 1] : uPlot.rangeNum(low, high, 0.1, true);
}
