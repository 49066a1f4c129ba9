// SPDX-License-Identifier: Apache-2.0
// What the dashboard knows of a run, and how it grows with each update. Nothing here touches the page.
//
// A view is a timeline as api/v1/runs/ID/timeline gives it (userspace/render/timeline_json.h). New points are
// appended to its columns; a point that a series knows already is left out, so that updates may overlap.
import { readColumns } from "./columns.js";

const MOST_EVENTS = 300;
const SHOWN_AT_FIRST = 8;

// ---- columns that grow ----

function endOf(series, beginMs) {
  if (series.end_ms === undefined) {
    const begin = series.t.reduce((sum, us) => sum + us, 0);
    const last = Array.isArray(series.d) ? series.d[series.d.length - 1] || 0 : series.d || 0;
    series.last_begin_us = begin;
    series.last_mean = series.v.reduce((sum, step) => sum + step, 0);
    series.end_ms = series.t.length ? beginMs + (begin + last) / 1000 : -Infinity;
  }
  return series.end_ms;
}

// Span lengths and bands are left out where all are alike; a point that differs makes them whole.
function extendOptional(series, name, value, count) {
  if (Array.isArray(series[name])) series[name].push(value);
  else if ((series[name] || 0) !== value) {
    series[name] = Array(count).fill(series[name] || 0);
    series[name].push(value);
  }
}

// point: {begin (ms), span (ms), mean, low, high}.
function appendPoint(series, beginMs, point, breakMs) {
  const end = endOf(series, beginMs);
  if (point.begin <= end + 0.0005) return false;
  const count = series.t.length;
  const us = Math.round((point.begin - beginMs) * 1000);
  if (count && point.follows_a_break === true || count && point.begin - end > breakMs) (series.breaks ||= []).push(count);
  series.t.push(us - (count ? series.last_begin_us : 0));
  series.v.push(point.mean - (count ? series.last_mean : 0));
  extendOptional(series, "d", Math.round(point.span * 1000), count);
  extendOptional(series, "lo", point.mean - point.low, count);
  extendOptional(series, "hi", point.high - point.mean, count);
  series.last_begin_us = us;
  series.last_mean = point.mean;
  series.end_ms = point.begin + point.span;
  if (series.peak === null || series.peak === undefined || point.high > series.peak) {
    series.peak = point.high;
    series.peak_ms = point.begin;
  }
  return true;
}

function pointsOf(series, beginMs) {
  const columns = readColumns(series, beginMs);
  return columns.begin.map((begin, at) => ({ begin, span: columns.span[at], mean: columns.mean[at], low: columns.low[at],
    high: columns.high[at], follows_a_break: columns.breaks.has(at) }));
}

function single(ms, value) {
  return { begin: ms, span: 0, mean: value, low: value, high: value };
}

function seriesNamed(list, name) {
  let series = list.find((one) => one.name === name);
  if (!series) list.push(series = { name, peak: null, t: [], v: [] });
  return series;
}

function breakMs(view) {
  return Math.max(3 * view.interval_ms, view.resolution_ms || 0);
}

// Of what is told once an update, however many samples that stands for.
function onceMs(view, model) {
  return Math.max(breakMs(view), 4 * model.refresh_ms);
}

function eventKey(event) {
  return `${event.ms} ${event.kind} ${event.process} ${event.text}`;
}

function mergeBy(key, old, fresh, most) {
  const known = new Set(old.map(key));
  const added = fresh.filter((one) => !known.has(key(one)));
  if (!added.length) return old;
  return old.concat(added).sort((a, b) => (a.ms ?? a.begin_ms) - (b.ms ?? b.begin_ms)).slice(-most);
}

const gapKey = (gap) => `${gap.begin_ms} ${gap.kind} ${gap.text}`;

// ---- a view that follows the run ----

function viewProcess(view, row) {
  let process = view.processes.find((one) => one.id === row.id);
  if (!process) {
    process = { id: row.id, pid: row.pid, name: row.name, end: "running", status: null, signal: null, peak: null, peak_source: "sampled", series: [] };
    view.processes.push(process);
    view.has_strangers = true;
  }
  return process;
}

// All of another, later timeline of the same run.
function appendTimeline(view, tail) {
  const pairs = [[view.totals, tail.totals], [view.host_series, tail.host_series], [view.rest, tail.rest]];
  for (const process of tail.processes) {
    const own = viewProcess(view, process);
    Object.assign(own, { ended_ms: process.ended_ms, end: process.end, status: process.status, signal: process.signal,
      peak: process.peak, peak_source: process.peak_source });
    pairs.push([own.series, process.series]);
  }
  for (const [kind, key] of [["cgroups", "path"], ["devices", "name"]]) {
    for (const part of tail[kind]) {
      let own = view[kind].find((one) => one[key] === part[key]);
      if (!own) view[kind].push(own = { [key]: part[key], series: [] });
      pairs.push([own.series, part.series]);
    }
  }
  for (const [own, fresh] of pairs) {
    for (const series of fresh) {
      for (const point of pointsOf(series, tail.begin_ms)) appendPoint(seriesNamed(own, series.name), view.begin_ms, point, breakMs(view));
    }
  }
  view.events = mergeBy(eventKey, view.events, tail.events, MOST_EVENTS);
  view.gaps = mergeBy(gapKey, view.gaps, tail.gaps, MOST_EVENTS);
  view.end_ms = Math.max(view.end_ms, tail.end_ms);
}

function addRow(view, model, row, update) {
  const facts = model.rows.get(row[0]);
  const process = viewProcess(view, facts);
  const add = (name, ms, value) => {
    if (value !== null && value !== undefined) appendPoint(seriesNamed(process.series, name), view.begin_ms, single(ms, value), onceMs(view, model));
  };
  const ms = update.begin_ms + row[1];
  if (row[7]) {
    for (const point of pointsOf(row[7], update.begin_ms)) appendPoint(seriesNamed(process.series, "rss_bytes"), view.begin_ms, point, breakMs(view));
  } else {
    add("rss_bytes", ms, row[2]);
  }
  const rank = view.processes.indexOf(process);
  if (rank < SHOWN_AT_FIRST) add("oom_score", ms, row[4]);
  if (update.parts) ["anon_bytes", "file_bytes", "shmem_bytes"].forEach((name, at) => add(name, ms, update.parts[at]));
  process.peak = facts.peak_rss_bytes;
}

function addSums(view, model, update) {
  const ms = update.run.last_ms;
  const steps = onceMs(view, model);
  const running = Array.from(model.rows.values()).filter((row) => row.end === "running");
  const sum = (rows, name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  for (const [series, key] of [["swap_bytes", "swap_bytes"], ["hugetlb_bytes", "hugetlb_bytes"]]) {
    const total = sum(running, key);
    if (total > 0 || view.totals.some((one) => one.name === series)) {
      appendPoint(seriesNamed(view.totals, series), view.begin_ms, single(ms, total), steps);
    }
  }
  if (view.rest.length) {
    const named = new Set(view.processes.slice(0, SHOWN_AT_FIRST).map((process) => process.id));
    appendPoint(view.rest[0], view.begin_ms, single(ms, sum(running.filter((row) => !named.has(row.id)), "rss_bytes")), steps);
  }
  if (update.host.mem_available_bytes !== null) {
    appendPoint(seriesNamed(view.host_series, "mem_available_bytes"), view.begin_ms, single(ms, update.host.mem_available_bytes), steps);
  }
  for (const cgroup of update.cgroups) {
    const own = view.cgroups.find((one) => one.path === cgroup.path);
    if (own && cgroup.limit_bytes !== null) {
      appendPoint(seriesNamed(own.series, "limit_bytes"), view.begin_ms, single(ms, cgroup.limit_bytes), steps);
    }
  }
}

// ---- the run ----

function newModel(facts, refreshMs) {
  const model = { refresh_ms: refreshMs, run: facts.run, verdict: facts.verdict, cursor: facts.cursor, rows: new Map(), order: [], events: [], gaps: [], shown: new Map(),
    host: facts.host, cgroups: facts.cgroups, lost: facts.gaps, running_count: facts.running_count, clock_ms: facts.now_ms - Date.now() };
  for (const row of facts.processes) model.rows.set(row.id, row);
  return model;
}

// Facts that were asked for anew.
function takeFacts(model, facts) {
  Object.assign(model, { run: facts.run, verdict: facts.verdict, cursor: facts.cursor, host: facts.host, cgroups: facts.cgroups, lost: facts.gaps,
    running_count: facts.running_count, clock_ms: facts.now_ms - Date.now() });
  for (const row of facts.processes) model.rows.set(row.id, row);
}

// What is left of the nearest limit: the cgroup's or the host's.
function findRoom(model, row) {
  Object.assign(row, { room_bytes: model.host.mem_available_bytes, room_of: "host" });
  for (const cgroup of model.cgroups) {
    if (cgroup.path !== row.cgroup || cgroup.limit_bytes === null || cgroup.current_bytes === null) continue;
    const room = Math.max(0, cgroup.limit_bytes - cgroup.current_bytes);
    if (row.room_bytes === null || room < row.room_bytes) Object.assign(row, { room_bytes: room, room_of: cgroup.path });
  }
}

function secondsToLimit(row) {
  if (!(row.growth_bytes_per_s >= 1024) || row.room_bytes === null) return null;
  return row.room_bytes / row.growth_bytes_per_s;
}

// An update of the stream. view: null, or the timeline that follows it. Answers the events that are new.
function takeUpdate(model, view, update, cursor) {
  const endedBefore = model.run.state !== "running";
  Object.assign(model, { run: update.run, host: update.host, cgroups: update.cgroups, lost: update.gaps, running_count: update.running_count,
    clock_ms: update.now_ms - Date.now(), cursor });
  for (const facts of update.processes) model.rows.set(facts.id, facts);
  for (const row of update.rows) {
    const own = model.rows.get(row[0]);
    if (!own) continue;
    Object.assign(own, { last_ms: update.begin_ms + row[1], rss_bytes: row[2], swap_bytes: row[3], oom_score: row[4],
      peak_rss_bytes: Math.max(own.peak_rss_bytes ?? 0, row[2] ?? 0, row[7]?.peak ?? 0), growth_bytes_per_s: row[5], hugetlb_bytes: row[6] });
    findRoom(model, own);
    own.seconds_to_limit = secondsToLimit(own);
  }
  const known = new Set(model.events.map(eventKey));
  const fresh = update.events.filter((event) => !known.has(eventKey(event)));
  model.events = mergeBy(eventKey, model.events, update.events, MOST_EVENTS);
  model.gaps = mergeBy(gapKey, model.gaps, update.new_gaps, MOST_EVENTS);
  const isUnknown = update.rows.some((row) => !model.rows.has(row[0]));
  if (view && !update.too_much) {
    for (const row of update.rows) if (model.rows.has(row[0])) addRow(view, model, row, update);
    for (const facts of update.processes) {
      const process = view.processes.find((one) => one.id === facts.id);
      if (process && facts.ended_ms !== null) Object.assign(process, { ended_ms: facts.ended_ms, end: facts.end, status: facts.status, signal: facts.signal });
    }
    addSums(view, model, update);
    view.events = mergeBy(eventKey, view.events, update.events, MOST_EVENTS);
    view.gaps = mergeBy(gapKey, view.gaps, update.new_gaps, MOST_EVENTS);
    view.end_ms = Math.max(view.end_ms, update.run.last_ms);
  }
  return { fresh, isUnknown: isUnknown || update.too_much, hasEnded: !endedBefore && update.run.state !== "running" };
}

// Whether a process is drawn: what the user chose, else the first eight of the view.
function isShown(model, view, id) {
  if (model.shown.has(id)) return model.shown.get(id);
  const rank = view ? view.processes.findIndex((process) => process.id === id) : -1;
  return rank >= 0 && rank < SHOWN_AT_FIRST;
}

// The view with only the processes that are drawn; each keeps its colour.
function drawnRun(model, view) {
  const processes = view.processes.map((process, rank) => ({ ...process, hue: rank, drawn: true })).filter((process) => isShown(model, view, process.id));
  const isDefault = processes.length === Math.min(SHOWN_AT_FIRST, view.processes.length) && processes.every((process) => process.hue < SHOWN_AT_FIRST);
  return { ...view, processes, rest: isDefault ? view.rest : [], other_count: view.processes.length > 1 ? Math.max(1, view.other_count) : view.other_count };
}

function longestSeries(view) {
  let most = 0;
  for (const process of view.processes) for (const series of process.series) most = Math.max(most, series.t.length);
  return most;
}

export { MOST_EVENTS, appendTimeline, drawnRun, eventKey, gapKey, isShown, longestSeries, mergeBy, newModel, takeFacts, takeUpdate };
