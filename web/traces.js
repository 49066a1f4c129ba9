// SPDX-License-Identifier: Apache-2.0
// From columns of numbers to Plotly's traces: lines with bands, and fills. Nothing is joined over a break.
import { formatValue, plain, shorten } from "./numbers.js";

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

export { bandTrace, fillTrace, lineTrace, xMapper };
