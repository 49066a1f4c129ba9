// SPDX-License-Identifier: Apache-2.0
// The panels of host memory: resident sets, swap and huge pages, oom_score, and what else was asked for.
import { find, readColumns } from "./columns.js";
import { formatBytes, plain, shorten, unitOf } from "./numbers.js";
import { Panel, addStack } from "./panel.js";
import { xMapper } from "./traces.js";

const NEAR = 1.7; // a reference line above this many times the data's peak is said in words instead
const SHOWN_PROCESSES = 8;

function processName(process) {
  return process.pid > 0 ? `${process.name || "(no name)"} (${process.pid})` : process.name || "(no name)";
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
  if (rss) {
    addStack(panel, run, options, [{ series: find(only.series, "anon_bytes"), name: "anonymous", color: style.anon },
      { series: find(only.series, "file_bytes"), name: "file", color: style.file },
      { series: find(only.series, "shmem_bytes"), name: "shared memory", color: style.shmem }]);
  }
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

export { extraPanels, memoryPanel, scorePanel, totalsPanel };
