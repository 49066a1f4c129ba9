// SPDX-License-Identifier: Apache-2.0
// The charts: a quick sketch until Plotly is there, then charts.js's.
import { chart, resolutionText, ticksFor } from "./charts.js";
import { readColumns } from "./columns.js";
import { drawnRun } from "./live_data.js";

const SVG = "http://www.w3.org/2000/svg";
const NARROW_PX = 820;

function svgElement(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// The resident sets as plain lines: what can be drawn before the charting library has come.
function drawSketch(element, model, view, style) {
  const run = drawnRun(model, view);
  const [width, height] = [1000, 300];
  const span = Math.max(1, view.end_ms - view.begin_ms);
  const lines = run.processes.map((process) => [process, process.series.find((series) => series.name === "rss_bytes")])
    .filter(([, series]) => series && series.t.length).map(([process, series]) => [process, readColumns(series, view.begin_ms)]);
  const top = Math.max(1, ...lines.flatMap(([, columns]) => columns.high)) * 1.1;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", width: "100%", height });
  for (const [process, columns] of lines) {
    let path = "";
    columns.begin.forEach((begin, at) => {
      const x = ((begin - view.begin_ms) / span) * width;
      const y = height - (columns.mean[at] / top) * height;
      path += `${at === 0 || columns.breaks.has(at) ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    });
    svg.append(svgElement("path", { d: path, fill: "none", stroke: style.series[process.hue % style.series.length], "stroke-width": 1.6,
      "vector-effect": "non-scaling-stroke" }));
  }
  element.replaceChildren(svg);
}

function loadPlotly(source) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.fetchPriority = "low";
    script.onload = () => (window.Plotly ? resolve() : reject(new Error("the charting library did not start")));
    script.onerror = () => reject(new Error("the charting library could not be loaded"));
    document.head.append(script);
  });
}

// Words at the right edge would be cut off there.
function turnLabels(layout) {
  const [from, to] = layout.xaxis.range.map((value) => (typeof value === "number" ? value : Date.parse(value)));
  for (const label of layout.annotations) {
    if (label.xref !== "x" || (label.x - from) / (to - from) < 0.85) continue;
    label.ax = -34;
    label.ay = -12;
  }
}

// On a narrow screen the legend goes below and the margins away.
function fitTo(layout, width, entries) {
  turnLabels(layout);
  if (width >= NARROW_PX) return;
  const plotted = layout.height - layout.margin.t - layout.margin.b;
  const below = 64;
  const lines = 12 + 20 * Math.ceil(entries / Math.max(1, Math.floor((width - 68) / 190)));
  layout.legend = { ...layout.legend, orientation: "h", x: 0, y: -below / plotted, yanchor: "top" };
  layout.margin = { ...layout.margin, l: 58, r: 10, b: below + lines };
  layout.height = plotted + layout.margin.t + layout.margin.b;
  layout.xaxis = { ...layout.xaxis, tickangle: 0, nticks: Math.max(3, Math.floor(width / 110)) };
  for (const annotation of layout.annotations) {
    if (annotation.xref !== "paper" || !annotation.font) continue;
    annotation.font.size = 11;
    annotation.text = annotation.text.replace(/ {3}<span.*$/, ""); // a panel's remarks have no room
  }
}

class LiveChart {
  // onWindow([beginMs, endMs]): the user has zoomed; onWhole(): and wants all again.
  constructor(element, note, { onWindow, onWhole }) {
    Object.assign(this, { element, note, onWindow, onWhole, panels: [], isDrawing: false, isWired: false });
  }

  // state: {log, range (ms or null)}. One drawing at a time; the newest that was asked for meanwhile follows.
  draw(model, view, style, state) {
    if (this.isDrawing) {
      this.next = [model, view, style, state];
      return;
    }
    this.isDrawing = true;
    this.paint(model, view, style, state).finally(() => {
      this.isDrawing = false;
      const next = this.next;
      this.next = null;
      if (next) this.draw(...next);
    });
  }

  async paint(model, view, style, state) {
    const zone = -new Date(view.end_ms).getTimezoneOffset() * 60000;
    const run = drawnRun(model, view);
    const offset = state.isLocal ? zone : 0;
    const made = chart(run, { log: state.log, align: "clock", elapsedUnitMs: 1000, zoneOffsetMs: offset,
      timeTitle: state.isLocal ? "local time" : "time in UTC", range: state.range ? state.range.map((ms) => ms + offset) : null }, style);
    fitTo(made.layout, this.element.clientWidth, made.traces.filter((trace) => trace.showlegend !== false).length);
    made.layout.uirevision = state.revision;
    this.offset = offset;
    this.log = state.log;
    this.panels = made.panels;
    this.run = run;
    await window.Plotly.react(this.element, made.traces, made.layout,
      { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], scrollZoom: false });
    if (!this.isWired) {
      this.isWired = true;
      this.element.on("plotly_relayout", (change) => this.onRelayout(change));
      this.element.on("plotly_doubleclick", () => { this.onWhole(); return false; });
      this.element.on("plotly_legendclick", (click) => {
        const meta = this.element.data[click.curveNumber].meta;
        if (meta && meta.process !== undefined) this.onHide(this.run.processes[meta.process].id);
        return meta === undefined || meta.process === undefined;
      });
    }
    this.sayResolution();
  }

  toMs(value) {
    return (typeof value === "number" ? value : Date.parse(`${String(value).replace(" ", "T")}Z`)) - this.offset;
  }

  range() {
    return this.element.layout.xaxis.range.map((value) => this.toMs(value));
  }

  sayResolution() {
    this.note.textContent = resolutionText(this.run, ...this.range());
  }

  onRelayout(change) {
    const update = {};
    for (const panel of this.panels) {
      if (panel.isLane || !Object.keys(change).some((key) => key.startsWith(`${panel.key}.range`) || key === `${panel.key}.autorange`)) continue;
      const ticks = ticksFor(this.element.layout[panel.key].range, panel.unit, panel.height, this.log);
      update[`${panel.key}.tickvals`] = ticks.tickvals;
      update[`${panel.key}.ticktext`] = ticks.ticktext;
    }
    if (Object.keys(update).length) window.Plotly.relayout(this.element, update);
    if (change["xaxis.autorange"]) this.onWhole();
    else if (Object.keys(change).some((key) => key.startsWith("xaxis.range"))) this.onWindow(this.range());
  }
}

export { LiveChart, drawSketch, loadPlotly };
