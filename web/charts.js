// SPDX-License-Identifier: Apache-2.0
// From a run as columns of numbers (userspace/render/timeline_json.h says how) to Plotly's traces and layout.
//
// Pure functions: nothing here touches the page, so that the report and the live dashboard draw alike. Times are
// milliseconds since 1970 UTC, sizes bytes.

const BINARY_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const NEAR = 1.7; // a reference line above this many times the data's peak is said in words instead
const SHOWN_PROCESSES = 8;

// ---- words and numbers ----

function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return "unknown";
  let value = Math.abs(bytes);
  if (value < 1024) return `${bytes} B`;
  let unit = 1;
  value /= 1024;
  while (value >= 999.5 && unit + 1 < BINARY_UNITS.length) {
    value /= 1024;
    unit++;
  }
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${bytes < 0 ? "-" : ""}${value.toFixed(decimals)} ${BINARY_UNITS[unit]}`;
}

function formatDuration(ms) {
  if (ms < 1000) return `${Math.round(ms * 1000) / 1000} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86400)} d ${String(Math.floor(seconds / 3600) % 24).padStart(2, "0")} h`;
}

function formatValue(value, unit) {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "nanoseconds") return `${(value / 1e9).toFixed(1)} s`;
  return String(value);
}

function unitOf(name) {
  if (name.endsWith("_bytes")) return "bytes";
  return name.endsWith("_ns") ? "nanoseconds" : "count";
}

// Plotly reads a few tags in texts: what comes from a recording is shown as it is.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function shorten(text, most) {
  const characters = Array.from(String(text));
  if (characters.length <= most) return String(text);
  const tail = Math.floor(most / 3);
  return `${characters.slice(0, most - tail - 1).join("")}\u2026${characters.slice(characters.length - tail).join("")}`;
}

// Ticks at 1, 2 or 5 times a power of ten of one binary unit.
function linearTicks(low, high, unit, most = 6) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const exponent = unit === "bytes" ? Math.min(6, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10))) : 0;
  const factor = unit === "bytes" ? 1024 ** exponent : unit === "nanoseconds" ? 1e9 : 1;
  const suffix = unit === "bytes" ? ` ${BINARY_UNITS[exponent]}` : unit === "nanoseconds" ? " s" : "";
  const rough = Math.max((high - low) / factor / most, 1e-12);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].find((multiple) => multiple * power >= rough * (1 - 1e-9)) * power;
  if (factor === 1) step = Math.max(step, 1);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = { tickvals: [], ticktext: [] };
  for (let index = Math.ceil(low / factor / step - 1e-9); index * step <= (high / factor) * (1 + 1e-9); index++) {
    ticks.tickvals.push(index * step * factor);
    ticks.ticktext.push(index === 0 ? "0" : (index * step).toFixed(decimals) + suffix);
  }
  return ticks;
}

// Ticks at powers of two (of ten for counts), for a logarithmic axis.
function logTicks(low, high, unit, most = 6) {
  const base = unit === "bytes" ? 2 : 10;
  const first = Math.ceil(Math.log(Math.max(low, 1)) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(Math.max(high, 1)) / Math.log(base) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / most));
  const ticks = { tickvals: [], ticktext: [] };
  for (let exponent = first; exponent <= last; exponent += step) {
    const value = base ** exponent;
    ticks.tickvals.push(value);
    ticks.ticktext.push(unit === "bytes" ? formatBytes(value).replace(/\.0+ /, " ") : formatValue(value, unit));
  }
  return ticks;
}

// ---- reading columns ----

function find(series, name) {
  return (series || []).find((one) => one.name === name);
}

function running(deltas) {
  let sum = 0;
  return deltas.map((delta) => (sum += delta));
}

// A series as whole columns: begin and span (ms), mean, low, high, and the indices that follow a break.
function readColumns(series, beginMs) {
  const begin = running(series.t).map((us) => beginMs + us / 1000);
  const mean = running(series.v);
  const span = Array.isArray(series.d) ? series.d.map((us) => us / 1000) : begin.map(() => (series.d || 0) / 1000);
  const low = series.lo ? mean.map((value, at) => value - series.lo[at]) : mean;
  const high = series.hi ? mean.map((value, at) => value + series.hi[at]) : mean;
  return { begin, span, mean, low, high, breaks: new Set(series.breaks || []), unit: unitOf(series.name) };
}

// ---- traces ----

// Where a run's times are drawn: on the calendar shifted by the zone, or since the run's start.
function xMapper(run, options) {
  if (options.align === "start") return (ms) => (ms - run.begin_ms) / options.elapsedUnitMs;
  return (ms) => ms + options.zoneOffsetMs;
}

function hoverText(columns, at) {
  const value = formatValue(columns.mean[at], columns.unit);
  if (columns.low[at] === columns.high[at]) return value;
  return `${value} (${formatValue(columns.low[at], columns.unit)} to ${formatValue(columns.high[at], columns.unit)})`;
}

// Where in its span a point is drawn: in the middle, but a piece's first at its begin and its last at its end, so
// that a line is as long as what was sampled.
function pointShare(columns, at) {
  const isFirst = at === 0 || columns.breaks.has(at);
  const isLast = at === columns.begin.length - 1 || columns.breaks.has(at + 1);
  return isFirst === isLast ? 0.5 : isFirst ? 0 : 1;
}

function lineTrace(columns, x, look) {
  const trace = {
    type: "scatter", mode: columns.begin.length === 1 || look.dots ? "lines+markers" : "lines", connectgaps: false,
    x: [], y: [], text: [], name: plain(shorten(look.name, 28)), legendrank: look.rank ?? 1000, yaxis: look.axis, legendgroup: look.group,
    line: { color: look.color, width: look.width || 1.6, dash: look.dash || "solid", simplify: false },
    marker: { color: look.color, size: 6 }, hovertemplate: "%{text}", visible: look.visible ?? true,
    showlegend: look.showlegend ?? true, meta: look.meta,
  };
  columns.begin.forEach((begin, at) => {
    if (at > 0 && columns.breaks.has(at)) {
      trace.x.push(x(begin));
      trace.y.push(null);
      trace.text.push("");
    }
    trace.x.push(x(begin + columns.span[at] * pointShare(columns, at)));
    trace.y.push((look.values || columns.mean)[at]);
    trace.text.push(hoverText(columns, at));
  });
  return trace;
}

// Minimum to maximum as one outline for each unbroken piece; null where nothing was thinned.
function bandTrace(columns, x, look) {
  if (columns.low.every((low, at) => low === columns.high[at])) return null;
  const outline = { x: [], y: [] };
  const flush = (first, last) => {
    for (let at = first; at < last; at++) {
      outline.x.push(x(columns.begin[at]), x(columns.begin[at] + columns.span[at]));
      outline.y.push(columns.high[at], columns.high[at]);
    }
    for (let at = last; at-- > first;) {
      outline.x.push(x(columns.begin[at] + columns.span[at]), x(columns.begin[at]));
      outline.y.push(Math.max(columns.low[at], look.floor), Math.max(columns.low[at], look.floor));
    }
    outline.x.push(null);
    outline.y.push(null);
  };
  let first = 0;
  for (let at = 1; at <= columns.begin.length; at++) {
    if (at < columns.begin.length && !columns.breaks.has(at)) continue;
    flush(first, at);
    first = at;
  }
  return {
    type: "scatter", mode: "lines", fill: "toself", x: outline.x, y: outline.y, yaxis: look.axis, hoverinfo: "skip",
    legendgroup: look.group, showlegend: false, line: { width: 0.7, color: look.color, simplify: false },
    fillcolor: `${look.color}48`, opacity: 0.9, visible: look.visible ?? true, meta: look.meta,
  };
}

// Filled from floors to floors + mean.
function fillTrace(columns, floors, x, look) {
  const outline = { x: [], y: [] };
  let first = 0;
  for (let at = 1; at <= columns.begin.length; at++) {
    if (at < columns.begin.length && !columns.breaks.has(at)) continue;
    for (let step = first; step < at; step++) {
      outline.x.push(x(columns.begin[step]), x(columns.begin[step] + columns.span[step]));
      outline.y.push(floors[step] + columns.mean[step], floors[step] + columns.mean[step]);
    }
    for (let step = at; step-- > first;) {
      outline.x.push(x(columns.begin[step] + columns.span[step]), x(columns.begin[step]));
      outline.y.push(floors[step], floors[step]);
    }
    outline.x.push(null);
    outline.y.push(null);
    first = at;
  }
  return {
    type: "scatter", mode: "lines", fill: "toself", x: outline.x, y: outline.y, yaxis: look.axis, hoverinfo: "skip",
    legendgroup: look.group, showlegend: false, line: { width: 0 }, fillcolor: `${look.color}99`, meta: look.meta,
  };
}

function processName(process) {
  return process.pid > 0 ? `${process.name || "(no name)"} (${process.pid})` : process.name || "(no name)";
}

function exitsBadly(process) {
  return Boolean(process && (process.status || process.signal));
}

// ---- panels ----

class Panel {
  constructor(title, unit, height) {
    Object.assign(this, { title, unit, height, traces: [], remarks: [], top: 0, leastTop: 0 });
  }
  add(series, run, options, look) {
    const columns = readColumns(series, run.begin_ms);
    const x = xMapper(run, options);
    const all = { ...look, floor: options.log ? 1 : 0 };
    if (look.visible !== "legendonly") this.top = Math.max(this.top, series.peak ?? 0, ...columns.high);
    const band = look.dash ? null : bandTrace(columns, x, all);
    if (band) this.traces.push(band);
    this.traces.push(lineTrace(columns, x, all));
  }
}

// anon, file and shmem of the only process, on top of each other (side by side where the axis is logarithmic).
function addParts(panel, run, options, style, process) {
  const floors = [];
  for (const [name, label, color] of [["anon_bytes", "anonymous", style.anon], ["file_bytes", "file", style.file],
    ["shmem_bytes", "shared memory", style.shmem]]) {
    const series = find(process.series, name);
    if (!series || !series.t.length || !series.peak) continue;
    const columns = readColumns(series, run.begin_ms);
    const look = { name: label, color, group: name, meta: { part: name } };
    const x = xMapper(run, options);
    const own = columns.mean.map((value, at) => floors[at] || 0);
    if (!options.log) panel.traces.push(fillTrace(columns, own, x, look));
    const values = options.log ? columns.mean : columns.mean.map((value, at) => value + own[at]);
    panel.traces.push(lineTrace(columns, x, { ...look, values, width: options.log ? 1.4 : 0.8 }));
    columns.mean.forEach((value, at) => (floors[at] = (floors[at] || 0) + value));
  }
}

function lowest(series, run) {
  return Math.min(...readColumns(series, run.begin_ms).low);
}

function addReference(panel, series, run, options, look) {
  if (!series || !series.t.length) return;
  const least = lowest(series, run);
  if (panel.top > 0 && least <= panel.top * NEAR) panel.add(series, run, options, { ...look, dash: "dash", width: 1.4 });
  else panel.remarks.push(`${look.name} ${formatBytes(least)}`);
}

function addProcesses(panel, run, options, style, name) {
  run.processes.forEach((process, rank) => {
    const series = find(process.series, name);
    if (!series || !series.t.length) return;
    panel.add(series, run, options, {
      name: processName(process), color: style.series[(process.hue ?? rank) % style.series.length], group: `p${process.id}:${process.pid}`,
      visible: process.drawn || rank < SHOWN_PROCESSES ? true : "legendonly", rank: rank < SHOWN_PROCESSES ? 998 : 1001, showlegend: name === "rss_bytes",
      meta: { process: rank, series: name },
    });
  });
  const rest = find(run.rest, name);
  if (rest && rest.t.length) {
    panel.add(rest, run, options, { name: `${run.rest_count} others, summed`, color: style.others, group: "rest", rank: 999,
      meta: { series: `rest ${name}` } });
  }
}

// Peaks between samples: the kernel's high-water mark where it is clearly above all that was sampled.
function addKernelPeaks(panel, run, options, style) {
  const x = xMapper(run, options);
  const trace = { type: "scatter", mode: "markers", name: "peak that only the kernel saw", x: [], y: [], text: [], legendrank: 1000,
    marker: { symbol: "triangle-up", size: 10, color: [] }, hovertemplate: "%{text}<extra></extra>", legendgroup: "kernel" };
  run.processes.slice(0, SHOWN_PROCESSES).forEach((process, rank) => {
    const sampled = find(process.series, "rss_bytes")?.peak ?? 0;
    if (process.peak_source !== "kernel" || process.peak <= sampled * 1.02) return;
    trace.x.push(x(process.ended_ms ?? run.end_ms));
    trace.y.push(process.peak);
    trace.text.push(`${plain(shorten(processName(process), 28))}: peak ${formatBytes(process.peak)}, seen by the kernel only`);
    trace.marker.color.push(style.series[(process.hue ?? rank) % style.series.length]);
    panel.leastTop = Math.max(panel.leastTop, process.peak);
  });
  if (trace.x.length) panel.traces.push(trace);
}

// The highest sample gets words on the chart.
function addPeakLabel(panel, run, options, style) {
  let highest = null;
  for (const process of run.processes) {
    const series = find(process.series, "rss_bytes");
    if (series && series.peak_ms && series.peak > (highest?.peak ?? 0)) highest = series;
  }
  if (!highest) return;
  panel.labels = [{ x: xMapper(run, options)(highest.peak_ms), y: options.log ? Math.log10(highest.peak) : highest.peak,
    text: `<b>${formatBytes(highest.peak)}</b>`, font: { color: style.text, size: 12 }, showarrow: true, arrowhead: 0, arrowwidth: 1,
    arrowcolor: style.text, ax: 0, ay: -18, bgcolor: `${style.background}c0` }];
}

function memoryPanel(run, options, style) {
  const panel = new Panel("Resident memory (RSS)", "bytes", 340);
  const only = run.processes.length === 1 && !run.other_count ? run.processes[0] : null;
  const rss = only && find(only.series, "rss_bytes");
  if (rss) addParts(panel, run, options, style, only);
  if (panel.traces.length) {
    panel.add(rss, run, options, { name: processName(only), color: style.text, group: "rss", meta: { process: 0, series: "rss_bytes" } });
  } else {
    addProcesses(panel, run, options, style, "rss_bytes");
  }
  const limits = (run.cgroups || []).map((cgroup) => [cgroup, find(cgroup.series, "limit_bytes")])
    .filter(([, limit]) => limit && limit.t.length).sort((left, right) => lowest(left[1], run) - lowest(right[1], run));
  if (limits.length) {
    addReference(panel, limits[0][1], run, options, { name: `limit of ${limits[0][0].path}`, color: style.alarm, group: "limit" });
  }
  addReference(panel, find(run.host_series, "mem_available_bytes"), run, options,
    { name: "host memory available, least", color: style.available, group: "available" });
  addKernelPeaks(panel, run, options, style);
  addPeakLabel(panel, run, options, style);
  return panel;
}

function totalsPanel(run, options, style) {
  const panel = new Panel("Swap and huge pages, all processes", "bytes", 110);
  for (const [name, label, color] of [["swap_bytes", "swap", style.swap], ["hugetlb_bytes", "huge pages", style.hugetlb]]) {
    const series = find(run.totals, name);
    if (series && series.t.length) panel.add(series, run, options, { name: label, color, group: name, meta: { series: name } });
  }
  return panel;
}

function scorePanel(run, options, style) {
  const panel = new Panel("oom_score (the kernel kills the highest first)", "count", 110);
  addProcesses(panel, run, options, style, "oom_score");
  panel.leastTop = panel.top > 250 ? 1000 : 10;
  return panel;
}

function devicePanel(run, options, style) {
  const panel = new Panel("Device DRAM", "bytes", 170);
  (run.devices || []).forEach((device, rank) => {
    const color = style.series[rank % style.series.length];
    const dram = find(device.series, "dram_bytes");
    if (dram && dram.t.length) panel.add(dram, run, options, { name: device.name, color, group: `d${rank}` });
    const ghost = find(device.series, "ghost_bytes");
    if (ghost && ghost.peak) {
      panel.add(ghost, run, options, { name: `${device.name}, left by dead processes`, color, group: `g${rank}`, dash: "dash" });
    }
  });
  return panel;
}

function extraPanels(run, options, style) {
  const known = new Set(["rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes", "hugetlb_bytes", "oom_score"]);
  const names = new Set();
  for (const process of run.processes) for (const series of process.series) if (!known.has(series.name)) names.add(series.name);
  return Array.from(names).map((name) => {
    const panel = new Panel(name, unitOf(name), 140);
    addProcesses(panel, run, options, style, name);
    return panel;
  });
}

function eventLook(event, process, style) {
  if (event.kind === "oom_kill") return { symbol: "x", color: style.alarm, size: 12, upright: "solid" };
  if (event.kind === "mark") return { symbol: "diamond", color: style.text, size: 10, upright: "dot" };
  if (event.kind === "exit") return { symbol: "circle", color: exitsBadly(process) ? style.alarm : style.good, size: 8 };
  if (event.kind === "exec" || event.kind === "attach") return { symbol: "triangle-up", color: style.muted, size: 8 };
  return { symbol: "line-ns-open", color: style.muted, size: 8 };
}

function eventLane(run, options, style) {
  const panel = new Panel("Events", "count", 44);
  panel.isLane = true;
  panel.shapes = [];
  const x = xMapper(run, options);
  const trace = { type: "scatter", mode: "markers", x: [], y: [], text: [], name: "events", showlegend: false,
    cliponaxis: false, hovertemplate: "%{text}<extra></extra>", marker: { symbol: [], color: [], size: [] }, meta: { series: "events" } };
  for (const event of run.events || []) {
    const look = eventLook(event, run.processes.find((process) => process.id === event.process), style);
    trace.x.push(x(event.ms));
    trace.y.push(1);
    trace.text.push(plain(shorten(event.text, 120)));
    trace.marker.symbol.push(look.symbol);
    trace.marker.color.push(look.color);
    trace.marker.size.push(look.size);
    if (look.upright) {
      panel.shapes.push({ type: "line", xref: "x", yref: "paper", x0: x(event.ms), x1: x(event.ms), y0: 0, y1: 1, layer: "below",
        line: { color: look.color, width: look.upright === "solid" ? 1.6 : 1, dash: look.upright } });
    }
  }
  for (const gap of run.gaps || []) {
    panel.shapes.push({ type: "rect", xref: "x", yref: "paper", x0: x(gap.begin_ms), x1: x(gap.end_ms), y0: 0, y1: 1,
      layer: "below", fillcolor: style.gap, opacity: 0.2, line: { width: 0 } });
    trace.x.push(x((gap.begin_ms + gap.end_ms) / 2));
    trace.y.push(1);
    trace.text.push(`gap, ${formatDuration(gap.end_ms - gap.begin_ms)}: ${plain(gap.text)}`);
    trace.marker.symbol.push("hash-open");
    trace.marker.color.push(style.muted);
    trace.marker.size.push(8);
  }
  if (trace.x.length) panel.traces.push(trace);
  return panel;
}

// ---- the whole chart ----

// Hatching over a panel where nothing is known.
function gapTrace(run, options, style, top) {
  const x = xMapper(run, options);
  const trace = { type: "scatter", mode: "lines", fill: "toself", x: [], y: [], hoverinfo: "skip", showlegend: false, line: { width: 0 },
    fillcolor: "rgba(0,0,0,0)", fillpattern: { shape: "/", fgcolor: style.gap, bgcolor: "rgba(0,0,0,0)", size: 8, solidity: 0.15 },
    meta: { series: "gaps" } };
  for (const gap of run.gaps || []) {
    trace.x.push(x(gap.begin_ms), x(gap.end_ms), x(gap.end_ms), x(gap.begin_ms), null);
    trace.y.push(options.log ? 1e-3 : 0, options.log ? 1e-3 : 0, top, top, null);
  }
  return trace.x.length ? [trace] : [];
}

function valueAxis(panel, options, style) {
  const high = Math.max(panel.top, panel.leastTop) * 1.1 || (panel.unit === "bytes" ? 1048576 : 1);
  const axis = { zeroline: false, gridcolor: style.grid, linecolor: style.axis, tickfont: { color: style.muted },
    fixedrange: false, tickmode: "array", ticks: "", automargin: true };
  if (!options.log) return { ...axis, range: [0, high], ...linearTicks(0, high, panel.unit, panel.height > 200 ? 6 : 3) };
  const low = Math.max(1, high / (panel.unit === "bytes" ? 4096 : 1000));
  return { ...axis, type: "log", range: [Math.log10(low), Math.log10(high)], ...logTicks(low, high, panel.unit, panel.height > 200 ? 6 : 3) };
}

// The ticks that fit an axis after a zoom; `range` as Plotly gives it.
function ticksFor(range, unit, height, log) {
  const most = height > 200 ? 6 : 3;
  if (log) return logTicks(10 ** range[0], 10 ** range[1], unit, most);
  return linearTicks(range[0], range[1], unit, most);
}

function timeAxis(run, options, style) {
  const x = xMapper(run, options);
  const pad = Math.max((run.end_ms - run.begin_ms) / 120, run.end_ms === run.begin_ms ? Math.max(run.interval_ms, 1000) : 0);
  const axis = { gridcolor: style.grid, linecolor: style.axis, tickfont: { color: style.muted }, zeroline: false, anchor: "free",
    position: 0, range: options.range || [x(run.begin_ms - pad), x(run.end_ms + pad)],
    title: { text: options.timeTitle, font: { color: style.muted, size: 12 }, standoff: 6 } };
  if (options.align === "start") return { ...axis, type: "linear" };
  return { ...axis, type: "date", hoverformat: run.end_ms - run.begin_ms < 60000 ? "%Y-%m-%d %H:%M:%S.%3f" : "%Y-%m-%d %H:%M:%S" };
}

function panelTitle(panel, domainTop, style) {
  const remarks = panel.remarks.length ? `   <span style="color:${style.muted}">${plain(panel.remarks.join("; "))}</span>` : "";
  return { xref: "paper", yref: "paper", x: 0, xanchor: "left", y: domainTop, yanchor: "bottom", showarrow: false,
    text: `<b>${plain(panel.title)}</b>${remarks}`, font: { size: 13, color: style.text } };
}

// run: one of the report's runs; a process may have a `hue`, its place among the colours where that is not its rank,
// and be `drawn` whatever its rank. options: {log, align, elapsedUnitMs, zoneOffsetMs, timeTitle, range}.
// Returns {traces, layout, panels}; panels are in the order of the y axes.
function chart(run, options, style) {
  const panels = [memoryPanel, totalsPanel, scorePanel, devicePanel].map((make) => make(run, options, style))
    .concat(extraPanels(run, options, style), [eventLane(run, options, style)]).filter((panel, at) => at === 0 || panel.traces.length);
  const between = 30;
  const height = panels.reduce((sum, panel) => sum + panel.height + between, 0);
  const margin = { l: 74, r: 250, t: 8, b: 46 };
  const layout = {
    height: height + margin.t + margin.b, margin, paper_bgcolor: style.background, plot_bgcolor: style.plot,
    font: { family: "system-ui, sans-serif", color: style.text, size: 12 }, hovermode: "x unified", dragmode: "zoom",
    hoverlabel: { bgcolor: style.plot, bordercolor: style.axis, font: { color: style.text }, namelength: 40 }, hoversubplots: "axis",
    legend: { bgcolor: "rgba(0,0,0,0)", font: { color: style.text }, groupclick: "togglegroup", tracegroupgap: 0, itemsizing: "constant" },
    xaxis: timeAxis(run, options, style), annotations: [], shapes: [], uirevision: "memlog",
  };
  let below = height;
  panels.forEach((panel, at) => {
    const top = (below - between) / height;
    below -= panel.height + between;
    const key = at === 0 ? "yaxis" : `yaxis${at + 1}`;
    panel.axis = at === 0 ? "y" : `y${at + 1}`;
    panel.key = key;
    layout[key] = panel.isLane
      ? { range: [0, 2], visible: false, fixedrange: true, domain: [Math.max(0, below / height), top] }
      : { ...valueAxis(panel, options, style), domain: [Math.max(0, below / height), top] };
    layout.annotations.push(panelTitle(panel, top, style));
    layout.shapes.push(...(panel.shapes || []));
    layout.annotations.push(...(panel.labels || []).map((label) => ({ ...label, xref: "x", yref: panel.axis })));
    const axisTop = Math.max(panel.top, panel.leastTop) * 1.1 || (panel.unit === "bytes" ? 1048576 : 1);
    if (!panel.isLane) panel.traces.unshift(...gapTrace(run, options, style, axisTop));
    for (const trace of panel.traces) {
      trace.yaxis = panel.axis;
      trace.xaxis = "x";
    }
  });
  if (panels[0].top === 0 && !panels[0].traces.some((trace) => trace.meta?.series !== "gaps")) {
    layout.annotations.push({ xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false, text: "no samples", font: { size: 16, color: style.muted } });
  }
  return { traces: panels.flatMap((panel) => panel.traces), layout, panels };
}

// What a reader must know of the points between two times (ms): how many there are and what each stands for.
function resolutionText(run, beginMs, endMs) {
  let most = 0;
  let widest = 0;
  let isThinned = false;
  for (const process of run.processes) {
    const series = find(process.series, "rss_bytes");
    if (!series) continue;
    const columns = readColumns(series, run.begin_ms);
    let count = 0;
    columns.begin.forEach((begin, at) => {
      if (begin + columns.span[at] < beginMs || begin > endMs) return;
      count++;
      if (columns.span[at] > 0) isThinned = true;
      widest = Math.max(widest, columns.span[at]);
    });
    most = Math.max(most, count);
  }
  if (most === 0) return "no samples in view";
  if (!isThinned) return `every sample is shown: ${most} in view`;
  return `${most} points in view; each covers up to ${formatDuration(widest)}: line = mean, band = minimum to maximum of its samples`;
}

export { chart, formatBytes, formatDuration, formatValue, linearTicks, logTicks, plain, readColumns, resolutionText, ticksFor, unitOf };
