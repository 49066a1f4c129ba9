// SPDX-License-Identifier: Apache-2.0
// The report page: unpacks Plotly, draws each run, and wires zoom, theme, scale and the tables.
import { chart, resolutionText, ticksFor } from "./charts.js";
import { textFromBase64Gzip } from "./inflate.js";

const report = JSON.parse(document.getElementById("report-data").textContent);
const state = { log: false, theme: report.theme, range: null, isSyncing: false };
const darkQuery = matchMedia("(prefers-color-scheme: dark)");

function themeName() {
  return state.theme === "auto" ? (darkQuery.matches ? "dark" : "light") : state.theme;
}

// The unpacked source runs as a script element; its hash is in the page's content security policy.
function loadPlotly() {
  const packed = document.getElementById("plotly-gzip");
  const script = document.createElement("script");
  script.textContent = textFromBase64Gzip(packed.textContent);
  packed.remove();
  document.head.append(script);
  if (!window.Plotly) throw new Error("Plotly did not start");
}

function elapsedUnit() {
  const longest = Math.max(...report.runs.map((run) => run.end_ms - run.begin_ms));
  if (longest < 180e3) return { ms: 1000, name: "seconds" };
  return longest < 3 * 3600e3 ? { ms: 60e3, name: "minutes" } : { ms: 3600e3, name: "hours" };
}

function chartOptions() {
  const unit = elapsedUnit();
  const byStart = report.align === "start";
  return { log: state.log, align: report.align, elapsedUnitMs: unit.ms, zoneOffsetMs: report.zone.offset_ms, range: state.range,
    timeTitle: byStart ? `${unit.name} since ${report.runs.length > 1 ? "each" : "the"} start` : `time in ${report.zone.name}` };
}

// Several runs on one clock show one span of time.
function sharedRange() {
  if (report.runs.length < 2) return null;
  const unit = elapsedUnit();
  if (report.align === "start") return [0, Math.max(...report.runs.map((run) => run.end_ms - run.begin_ms)) / unit.ms];
  const offset = report.zone.offset_ms;
  return [Math.min(...report.runs.map((run) => run.begin_ms)) + offset, Math.max(...report.runs.map((run) => run.end_ms)) + offset];
}

const views = report.runs.map((run, index) => ({ run, element: document.getElementById(`chart-${index}`),
  note: document.getElementById(`resolution-${index}`), table: document.getElementById(`processes-${index}`), panels: [] }));

function toMs(value, run) {
  if (report.align === "start") return run.begin_ms + value * elapsedUnit().ms;
  return (typeof value === "number" ? value : Date.parse(`${String(value).replace(" ", "T")}Z`)) - report.zone.offset_ms;
}

function sayResolution(view) {
  const range = view.element.layout.xaxis.range;
  view.note.textContent = resolutionText(view.run, toMs(range[0], view.run), toMs(range[1], view.run));
}

function draw(view) {
  const made = chart(view.run, chartOptions(), report.styles[themeName()]);
  view.panels = made.panels;
  const hidden = view.hidden;
  if (hidden) made.traces.forEach((trace, at) => { trace.visible = hidden[at] ?? trace.visible; });
  view.note.textContent = "";
  return window.Plotly.react(view.element, made.traces, made.layout,
    { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], scrollZoom: false })
    .then(() => sayResolution(view));
}

function drawAll() {
  document.documentElement.dataset.theme = themeName();
  return Promise.all(views.map(draw));
}

// After a zoom: value ticks in binary units again, the other runs follow, and the resolution is said.
function onRelayout(view, change) {
  const update = {};
  for (const panel of view.panels) {
    if (panel.isLane || !Object.keys(change).some((key) => key.startsWith(`${panel.key}.range`) || key === `${panel.key}.autorange`)) continue;
    const ticks = ticksFor(view.element.layout[panel.key].range, panel.unit, panel.height, state.log);
    update[`${panel.key}.tickvals`] = ticks.tickvals;
    update[`${panel.key}.ticktext`] = ticks.ticktext;
  }
  if (Object.keys(update).length && !state.isSyncing) window.Plotly.relayout(view.element, update);
  sayResolution(view);
  if (state.isSyncing || !Object.keys(change).some((key) => key.startsWith("xaxis.range") || key === "xaxis.autorange")) return;
  state.isSyncing = true;
  const range = view.element.layout.xaxis.range.slice();
  Promise.all(views.filter((other) => other !== view).map((other) => window.Plotly.relayout(other.element, { "xaxis.range": range })))
    .then(() => { state.isSyncing = false; });
}

function traceGroup(view, rank) {
  return view.element.data.map((trace, at) => [trace, at]).filter(([trace]) => trace.meta && trace.meta.process === rank).map(([, at]) => at);
}

function setShown(view, ranks, isShown) {
  const indices = ranks.flatMap((rank) => traceGroup(view, rank));
  if (indices.length) window.Plotly.restyle(view.element, { visible: isShown ? true : "legendonly" }, indices);
}

function markRows(view) {
  if (!view.table) return;
  for (const row of view.table.tBodies[0].rows) {
    const indices = traceGroup(view, Number(row.dataset.rank));
    const isShown = indices.length > 0 && view.element.data[indices[0]].visible !== "legendonly";
    row.classList.toggle("shown", isShown);
    const color = indices.length ? view.element.data[indices[0]].line.color : "transparent";
    row.cells[0].style.setProperty("--series", isShown ? color : "transparent");
  }
}

function sortTable(table, column, header) {
  const isDown = header.getAttribute("aria-sort") !== "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value !== undefined ? Number(cell.dataset.value || "-1") : cell.textContent;
  };
  const rows = Array.from(table.tBodies[0].rows).sort((left, right) => {
    const a = key(left);
    const b = key(right);
    const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
    return isDown ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

function wireTable(view) {
  if (!view.table) return;
  Array.from(view.table.tHead.rows[0].cells).forEach((header, column) => {
    header.addEventListener("click", () => sortTable(view.table, column, header));
  });
  view.table.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || String(getSelection())) return;
    setShown(view, [Number(row.dataset.rank)], !row.classList.contains("shown"));
  });
}

function wireButtons() {
  const button = (name, action) => document.querySelectorAll(`[data-action=${name}]`).forEach((element) => {
    element.addEventListener("click", () => action(element));
  });
  const keepVisibility = () => views.forEach((view) => { view.hidden = view.element.data.map((trace) => trace.visible); });
  button("scale", (element) => {
    state.log = !state.log;
    element.textContent = state.log ? "Linear scale" : "Logarithmic scale";
    views.forEach((view) => { view.hidden = null; });
    drawAll();
  });
  button("theme", () => {
    keepVisibility();
    state.theme = themeName() === "dark" ? "light" : "dark";
    drawAll();
  });
  button("reset", () => {
    views.forEach((view) => { view.hidden = null; });
    drawAll();
  });
  const ranks = (view) => view.run.processes.map((process, rank) => rank);
  button("all", () => views.forEach((view) => setShown(view, ranks(view), true)));
  button("none", () => views.forEach((view) => setShown(view, ranks(view), false)));
}

// On paper the page is light and as wide as the sheet.
function wirePrinting() {
  let before = null;
  addEventListener("beforeprint", () => {
    before = state.theme;
    state.theme = "light";
    document.documentElement.dataset.theme = "light";
    for (const view of views) {
      const made = chart(view.run, chartOptions(), report.styles.light);
      window.Plotly.react(view.element, made.traces, { ...made.layout, width: 1000 });
    }
  });
  addEventListener("afterprint", () => {
    state.theme = before;
    drawAll();
  });
}

function start() {
  loadPlotly();
  state.range = sharedRange();
  drawAll().then(() => {
    for (const view of views) {
      view.element.on("plotly_relayout", (change) => onRelayout(view, change));
      view.element.on("plotly_restyle", () => markRows(view));
      view.element.on("plotly_afterplot", () => markRows(view));
      markRows(view);
    }
    document.documentElement.dataset.ready = "true";
  });
  views.forEach(wireTable);
  wireButtons();
  wirePrinting();
  darkQuery.addEventListener("change", () => { if (state.theme === "auto") drawAll(); });
}

try {
  start();
} catch (problem) {
  document.querySelectorAll(".chart").forEach((element) => {
    element.textContent = `The chart cannot be drawn in this browser: ${problem.message}. The facts and tables of this page are whole.`;
  });
}
