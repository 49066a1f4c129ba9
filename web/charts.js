// SPDX-License-Identifier: Apache-2.0
// From a run as columns of numbers (userspace/render/timeline_json.h says how) to Plotly's traces and layout.
//
// Pure functions: nothing here touches the page, so that the report and the live dashboard draw alike. Times are
// milliseconds since 1970 UTC, sizes bytes. Each module's names are its own: the build joins them into one script.
import { find, readColumns } from "./columns.js";
import { devicePanel, deviceTotalPanel } from "./device_panels.js";
import { eventLane, gapTrace } from "./event_lane.js";
import { extraPanels, memoryPanel, scorePanel, totalsPanel } from "./memory_panels.js";
import { formatBytes, formatDuration, formatValue, linearTicks, logTicks, plain, unitOf } from "./numbers.js";
import { xMapper } from "./traces.js";

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
  const panels = [memoryPanel, totalsPanel, scorePanel, deviceTotalPanel, devicePanel].map((make) => make(run, options, style))
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
