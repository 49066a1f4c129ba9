// SPDX-License-Identifier: Apache-2.0
// The dashboard: the table at once from the facts in the page, then a timeline, the stream of updates, and last the
// charting library. All addresses are relative, for the page may be behind a tunnel or a proxy's path.
import { formatDuration } from "./numbers.js";
import { LiveChart, drawSketch, loadPlotly } from "./live_chart.js";
import { MOST_EVENTS, appendTimeline, eventKey, gapKey, isShown, longestSeries, mergeBy, newModel, takeFacts, takeUpdate } from "./live_data.js";
import { ProcessTable } from "./live_table.js";

const POINTS_AT_FIRST = 240; // little, over a slow tunnel
const POINTS = 600;
const MOST_POINTS = 1500; // of a series that grows; then the timeline is asked for anew
const HIDDEN_MS = 30000;  // a tab that is hidden longer stops listening and catches up on its return
const MOST_LISTED = 200;

const byId = (id) => document.getElementById(id);
const boot = JSON.parse(byId("boot").textContent);
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const state = { model: null, view: null, kind: "whole", log: false, theme: remembered("theme") || "auto", isPaused: false, follow: true, spanMs: 0, window: null,
  revision: 1, isPlotted: false, source: null, heard: 0, isLost: false, ticket: 0, retry: 0 };

function remembered(key) {
  try { return localStorage.getItem(`memlog.${key}`); } catch { return null; }
}

function remember(key, value) {
  try { localStorage.setItem(`memlog.${key}`, value); } catch { /* a private window keeps nothing */ }
}

function themeName() {
  return state.theme === "auto" ? (darkQuery.matches ? "dark" : "light") : state.theme;
}

const style = () => boot.styles[themeName()];
const runPath = () => `api/v1/runs/${state.model.run.id}`;
const serverNow = () => Date.now() + (state.model ? state.model.clock_ms : 0);
const isRunning = () => state.model && state.model.run.state === "running";

async function ask(path) {
  const answer = await fetch(path, { credentials: "same-origin" });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(problem.error || `the server answered ${answer.status}`), { status: answer.status });
  }
  return answer.json();
}

// ---- what is on the page ----

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function trouble(text) {
  byId("trouble").hidden = !text;
  say(byId("trouble"), text || "");
}

function clock(ms) {
  return `${new Date(ms).toISOString().slice(11, 19)}`;
}

function showHead() {
  const { run, verdict, events } = state.model;
  say(byId("title"), `${run.label || run.target} on ${run.host}`);
  const facts = [`run ${run.id}`, run.label ? run.target : null, `since ${new Date(run.started_ms).toISOString().slice(0, 19).replace("T", " ")} UTC`,
    `every ${formatDuration(run.interval_ms)}`, `events: ${run.event_source}`, state.model.host.mem_total_bytes === null ? null : memoryWords()];
  say(byId("facts"), facts.filter(Boolean).join(" \u00b7 "));
  const kill = events.filter((event) => event.kind === "oom_kill").pop();
  const ending = byId("ending");
  const words = [run.state === "running" ? null : run.state === "interrupted" ? "interrupted: its recorder is gone" : `ended: ${run.end_reason}`,
    verdict || (kill ? `${kill.text} at ${clock(kill.ms)}` : run.oom_kill_count ? `${run.oom_kill_count} OOM ${run.oom_kill_count === 1 ? "kill" : "kills"}` : null)];
  say(ending, words.filter(Boolean).join(" \u00b7 "));
  ending.hidden = !ending.textContent;
  byId("pause").hidden = byId("follow").hidden = run.state !== "running";
  ending.classList.toggle("bad", Boolean(run.oom_kill_count || run.state === "interrupted"));
}

function memoryWords() {
  const { mem_available_bytes: available, mem_total_bytes: total } = state.model.host;
  return available === null ? null : `host ${Math.round((available / total) * 100)} % available`;
}

// How old what is seen is: the first thing to know of a page that claims to be live.
function showAge() {
  if (!state.model) return;
  const { run } = state.model;
  const age = serverNow() - run.last_ms;
  const limit = 3 * run.interval_ms + 2 * boot.refresh_ms + 2000;
  const look = state.isPaused ? "paused" : !isRunning() ? "over" : state.isLost ? "lost" : age > limit ? "late" : "good";
  const ago = `${formatDuration(Math.max(0, Math.round(age / 100) * 100))} old`;
  const words = { paused: `paused, data ${ago}`, over: `not recording; ended ${formatDuration(Math.max(0, age))} ago`, lost: `connection lost, data ${ago}`,
    late: `no new data, ${ago}`, good: `live, data ${ago}` }[look];
  say(byId("age"), words);
  byId("light").className = look;
}

function showEvents() {
  const { events, gaps, lost } = state.model;
  const list = byId("events");
  const items = events.concat(gaps.map((gap) => ({ ms: gap.begin_ms, kind: "gap", text: `gap, ${formatDuration(gap.end_ms - gap.begin_ms)}: ${gap.text}` })))
    .sort((a, b) => b.ms - a.ms).slice(0, MOST_LISTED);
  list.replaceChildren(...items.map((event) => {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = clock(event.ms);
    time.dateTime = new Date(event.ms).toISOString();
    const row = state.model.rows.get(event.process);
    const isBad = event.kind === "oom_kill" || (event.kind === "exit" && row && (row.status || row.signal));
    item.className = isBad ? "bad" : event.kind;
    item.append(time, document.createTextNode(` ${event.text}`));
    return item;
  }));
  const words = [lost.late ? `${lost.late} late or missed ticks` : null, lost.lost ? `${lost.lost} events or records lost` : null];
  say(byId("gap-note"), words.filter(Boolean).join(", ") || (events.length ? "" : "none yet"));
}

function showCounts() {
  const { model, view } = state;
  const shown = view ? view.processes.filter((process) => isShown(model, view, process.id)).length : 0;
  const more = model.run.process_count > model.rows.size ? `, the ${model.rows.size} largest listed` : "";
  say(byId("counts"), `${model.running_count} running of ${model.run.process_count}${more}; ${shown} drawn`);
}

function showDownloads() {
  const query = new URLSearchParams();
  const [since, until] = seen();
  if (since !== null) query.set("since_ms", since.toFixed(3));
  if (until !== null) query.set("until_ms", until.toFixed(3));
  const shown = state.view ? state.view.processes.filter((process) => isShown(state.model, state.view, process.id)) : [];
  const isChosen = state.model.shown.size > 0 && shown.length > 0 && shown.length <= 60;
  if (isChosen) query.set("only", shown.map((process) => process.pid).join(","));
  const csv = new URLSearchParams(query);
  query.set("theme", themeName());
  byId("get-png").href = `${runPath()}/picture.png?${query}`;
  byId("get-html").href = `${runPath()}/report.html?${query}`;
  byId("get-csv").href = `${runPath()}/samples.csv?${csv}`;
}

// The span of time that is seen; null: to the run's own end.
function seen() {
  if (state.window) return state.window;
  if (state.spanMs && state.view) return [state.view.end_ms - state.spanMs, state.follow && isRunning() ? null : state.view.end_ms];
  return [null, null];
}

function showTable() {
  table.update(state.model.rows);
  showCounts();
}

function showChart() {
  const { model, view } = state;
  if (!view) return;
  byId("follow").setAttribute("aria-pressed", String(state.follow));
  showDownloads();
  if (!window.Plotly) return drawSketch(byId("sketch"), model, view, style());
  const [since, until] = seen();
  const pad = (until ?? view.end_ms) - (since ?? view.begin_ms);
  const range = since === null ? null : [since, (until ?? view.end_ms) + (until === null ? pad / 60 : 0)];
  liveChart.draw(model, view, style(), { log: state.log, range, revision: `${model.run.id} ${state.revision}`, isLocal: false });
}

function showAll() {
  showHead();
  showTable();
  showChart();
  showEvents();
  showAge();
}

// ---- what is asked of the server ----

function timelinePath(since, until, points) {
  const query = new URLSearchParams({ points: String(points) });
  if (since !== null) query.set("since_ms", since.toFixed(3));
  if (until !== null) query.set("until_ms", until.toFixed(3));
  return `${runPath()}/timeline?${query}`;
}

// The timeline of what is to be seen. An answer that comes after a newer question is dropped.
async function loadView(points) {
  const ticket = ++state.ticket;
  let [since, until] = seen();
  if (state.spanMs && !state.window) since = Math.max(state.model.run.started_ms, (until ?? state.model.run.last_ms) - state.spanMs);
  const view = await ask(timelinePath(since, until, points));
  if (ticket !== state.ticket) return;
  view.is_live = until === null;
  view.is_whole = since === null;
  state.view = view;
  state.loaded = performance.now();
  takeHappenings(view);
  state.revision++;
  if (view.is_live && view.end_ms < state.model.run.last_ms) await fillTail();  // an update was faster than this answer
  showAll();
}

function tryView(points = POINTS) {
  return loadView(points).then(() => trouble(""), (problem) => trouble(problem.message));
}

// Soon, and once for many reasons.
function reloadSoon(delay = 1500) {
  clearTimeout(state.reload);
  state.reload = setTimeout(() => { if (!state.isPaused && !document.hidden) tryView(); }, delay);
}

async function loadFacts() {
  takeFacts(state.model, await ask(runPath()));
}

// Appends what was stored since the view's end.
async function fillTail() {
  const { view, model } = state;
  const missed = model.run.last_ms - view.end_ms;
  const overlap = Math.min(2 * model.run.interval_ms, 5000);
  const points = Math.min(POINTS, Math.max(60, Math.ceil(missed / Math.max(1, model.run.interval_ms))));
  const tail = await ask(timelinePath(Math.max(view.begin_ms, view.end_ms - overlap), null, points));
  if (state.view !== view) return;
  appendTimeline(view, tail);
  takeHappenings(tail);
}

function takeHappenings(timeline) {
  for (const [kind, key] of [["events", eventKey], ["gaps", gapKey]]) state.model[kind] = mergeBy(key, state.model[kind], timeline[kind], MOST_EVENTS);
}

// What was missed since the page last heard something.
async function backfill() {
  await loadFacts();
  const { view, model } = state;
  if (!view || (view.is_live && (longestSeries(view) > MOST_POINTS || model.run.last_ms - view.end_ms > 6 * 3600e3))) await loadView(POINTS);
  else if (view.is_live && model.run.last_ms > view.end_ms) await fillTail();
  showAll();
}

function listen() {
  hangUp();
  if (!isRunning()) return;
  const source = state.source = new EventSource(`${runPath()}/stream?since=${encodeURIComponent(state.model.cursor)}`);
  source.addEventListener("update", (event) => {
    state.heard = performance.now();
    state.isLost = false;
    onUpdate(JSON.parse(event.data), event.lastEventId);
  });
  source.onopen = () => {
    state.isLost = false;
    trouble("");
    showAge();
  };
  source.onerror = () => {
    state.isLost = true;
    showAge();
    if (source.readyState === EventSource.CLOSED) retryLater(source);
  };
}

// The browser gives up on a server that answers with an error: so does a tunnel that comes back.
function retryLater(source) {
  clearTimeout(state.retry);
  state.retry = setTimeout(() => {
    if (state.source !== source || state.isPaused) return;
    backfill().then(listen, () => retryLater(source));
  }, 2000);
}

function hangUp() {
  clearTimeout(state.retry);
  if (state.source) state.source.close();
  state.source = null;
}

function onUpdate(update, cursor) {
  if (update.run.id !== state.model.run.id) return;
  const view = state.view && state.view.is_live ? state.view : null;
  const { isUnknown, hasEnded, fresh } = takeUpdate(state.model, view, update, cursor);
  if (isUnknown) loadFacts().then(() => { reloadSoon(); showTable(); }, () => {});
  if (view && (view.has_strangers && view.processes.length > 8 || longestSeries(view) > MOST_POINTS)) {
    view.has_strangers = false;
    if (performance.now() - (state.loaded || 0) > 5000) reloadSoon();
  }
  if (hasEnded || fresh.some((event) => event.kind === "oom_kill")) {
    loadFacts().then(showAll, () => {});
    if (hasEnded) {
      hangUp();
      loadRuns();
    }
  }
  showHead();
  showTable();
  showEvents();
  if (!document.hidden && view) showChart();
  showAge();
}

// ---- runs ----

async function loadRuns() {
  const { runs } = await ask("api/v1/runs?limit=200");
  const select = byId("runs");
  if (select === document.activeElement && select.options.length) return;
  select.replaceChildren(...runs.map((run) => {
    const words = [`${run.id}`, run.label || run.target, run.state === "running" ? "recording" : null, run.oom_kill_count ? "OOM" : null];
    const option = new Option(words.filter(Boolean).join(" \u00b7 ").slice(0, 70), run.id);
    option.selected = state.model && run.id === state.model.run.id;
    return option;
  }));
}

async function switchRun(id) {
  hangUp();
  try {
    const facts = await ask(`api/v1/runs/${encodeURIComponent(id)}`);
    history.replaceState(null, "", `?run=${facts.run.id}`);
    begin(facts);
    await loadView(POINTS);
    trouble("");
  } catch (problem) {
    trouble(problem.message);
  }
}

function begin(facts) {
  Object.assign(state, { model: newModel(facts, boot.refresh_ms), view: null, window: null, spanMs: 0, follow: true, revision: state.revision + 1 });
  setPaused(false);
  byId("span").value = "0";
  document.title = `${facts.run.label || facts.run.target} - memlog`;
  table.clear();
  showHead();
  showTable();
  showEvents();
  showAge();
  listen();
}

// ---- what the user does ----

function setPaused(isPaused) {
  if (state.isPaused === isPaused) return;
  state.isPaused = isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  say(byId("pause"), isPaused ? "Resume" : "Pause");
  if (isPaused) hangUp();
  else if (state.model) catchUp();
  showAge();
}

function catchUp() {
  backfill().then(listen, (problem) => {
    state.isLost = true;
    trouble(problem.message);
    retryLater(state.source);
  });
}

function setWindow(window) {
  state.window = window;
  state.follow = false;
  showDownloads();
  byId("follow").setAttribute("aria-pressed", "false");
  clearTimeout(state.zoom);
  state.zoom = setTimeout(() => tryView(), 250);
}

function showWhole() {
  Object.assign(state, { window: null, spanMs: 0, follow: true });
  byId("span").value = "0";
  tryView();
}

function setSpan(ms) {
  Object.assign(state, { window: null, spanMs: ms, follow: true });
  tryView();
}

function zoomBy(factor) {
  if (!state.view) return;
  const [since, until] = window.Plotly && liveChart.run ? liveChart.range() : [state.view.begin_ms, state.view.end_ms];
  const half = Math.max(50, ((until - since) * factor) / 2);
  const middle = (since + until) / 2;
  setWindow([Math.max(0, middle - half), middle + half]);
}

function setShown(ids, isOn) {
  for (const id of ids) state.model.shown.set(id, isOn);
  showTable();
  showChart();
}

function wireButtons() {
  byId("pause").addEventListener("click", () => setPaused(!state.isPaused));
  byId("follow").addEventListener("click", () => (state.follow ? setWindow(seenNow()) : follow()));
  byId("span").addEventListener("change", (event) => setSpan(Number(event.target.value)));
  byId("scale").addEventListener("click", (event) => {
    state.log = !state.log;
    event.target.setAttribute("aria-pressed", String(state.log));
    state.revision++;
    showChart();
  });
  byId("theme").addEventListener("click", () => {
    state.theme = themeName() === "dark" ? "light" : "dark";
    remember("theme", state.theme);
    applyTheme();
  });
  byId("runs").addEventListener("change", (event) => switchRun(event.target.value));
  byId("filter").addEventListener("input", (event) => {
    table.filter = event.target.value.trim().toLowerCase();
    showTable();
  });
  byId("show-all").addEventListener("click", () => setShown(state.view ? state.view.processes.map((process) => process.id) : [], true));
  byId("show-none").addEventListener("click", () => setShown(state.view ? state.view.processes.map((process) => process.id) : [], false));
  byId("show-top").addEventListener("click", () => { state.model.shown.clear(); showTable(); showChart(); });
}

function seenNow() {
  return window.Plotly && liveChart.run ? liveChart.range() : [state.view.begin_ms, state.view.end_ms];
}

function follow() {
  Object.assign(state, { window: null, follow: true });
  tryView();
}

function applyTheme() {
  document.documentElement.dataset.theme = themeName();
  if (state.model) showTable();
  showChart();
}

function wireKeys() {
  const keys = { " ": () => setPaused(!state.isPaused), f: () => byId("follow").click(), l: () => byId("scale").click(), d: () => byId("theme").click(),
    "/": () => byId("filter").focus(), "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), 0: showWhole };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target === byId("filter")) byId("filter").blur();
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === " " && /^(BUTTON|A)$/.test(event.target.tagName)) return;
    const action = keys[event.key];
    if (!action || !state.model) return;
    event.preventDefault();
    action();
  });
}

function wireVisibility() {
  document.addEventListener("visibilitychange", () => {
    clearTimeout(state.hiding);
    if (document.hidden) {
      state.hiding = setTimeout(hangUp, HIDDEN_MS);
    } else if (state.model && !state.isPaused) {
      showAge();
      if (state.source) showChart();
      else if (isRunning()) catchUp();
    }
  });
}

// ---- begin ----

const table = new ProcessTable(byId("processes"), {
  isShown: (id) => isShown(state.model, state.view, id),
  colorOf: (id) => style().series[Math.max(0, state.view.processes.findIndex((process) => process.id === id)) % style().series.length],
  toggle: (id) => {
    if (state.view && state.view.processes.some((process) => process.id === id)) setShown([id], !isShown(state.model, state.view, id));
  },
});
const liveChart = new LiveChart(byId("chart"), byId("resolution"), { onWindow: setWindow, onWhole: showWhole });
liveChart.onHide = (id) => setShown([id], false);

async function start() {
  applyTheme();
  wireButtons();
  wireKeys();
  wireVisibility();
  darkQuery.addEventListener("change", () => { if (state.theme === "auto") applyTheme(); });
  setInterval(showAge, 500);
  setInterval(() => { if (!document.hidden) loadRuns().catch(() => {}); }, 30000);
  while (!boot.facts) {
    trouble("waiting for the recording to begin");
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    boot.facts = await ask("api/v1/runs/last").catch(() => null);
  }
  trouble("");
  begin(boot.facts);
  document.documentElement.dataset.table = "ready";
  const view = tryView(POINTS_AT_FIRST);
  const library = loadPlotly(byId("script").dataset.plotly);  // asked for last, so that it holds nothing else up
  library.catch(() => {});
  await view;
  loadRuns().catch(() => {});
  await library;
  byId("sketch").remove();
  showChart();
  document.documentElement.dataset.ready = "true";
}

start().catch((problem) => trouble(`The charts cannot be drawn: ${problem.message}. The table is whole.`));
