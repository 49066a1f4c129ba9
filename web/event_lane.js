// SPDX-License-Identifier: Apache-2.0
// The lane of events, and the hatching where nothing is known.
import { formatDuration, plain, shorten } from "./numbers.js";
import { Panel } from "./panel.js";
import { xMapper } from "./traces.js";

function exitsBadly(process) {
  return Boolean(process && (process.status || process.signal));
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

export { eventLane, gapTrace };
