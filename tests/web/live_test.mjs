// SPDX-License-Identifier: Apache-2.0
// The dashboard in the browser $MEMLOG_CHROMIUM, beside a real recording by $MEMLOG_BINARY of $MEMLOG_WORKLOAD (run.sh
// sets them): a process grows, is killed at the limit of a memory cgroup of the test's own, and the page tells.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test as nodeTest } from "node:test";
import { chromium } from "playwright-core";

const { MEMLOG_BINARY: memlog, MEMLOG_WORKLOAD: workload, MEMLOG_CHROMIUM: executablePath } = process.env;
// A recording takes one Ctrl-C for its end and, where its last process has just ended, another for the dashboard's.
async function endAll(some) {
  for (const child of some) {
    const knock = setInterval(() => child.kill(child.isRecording ? "SIGINT" : "SIGTERM"), 500);
    if (child.exitCode === null && child.signalCode === null) child.kill(child.isRecording ? "SIGINT" : "SIGTERM");
    await child.over;
    clearInterval(knock);
  }
}

// What a test starts ends with it, unless it `stays`.
const test = (name, run) => nodeTest(name, { timeout: 60000 }, async () => {
  const first = children.length;
  try {
    await run();
  } finally {
    await endAll(children.slice(first).filter((child) => !child.stays));
  }
});
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "memlog-live-"));
const database = path.join(folder, "memlog.db");
const eater = path.join(folder, "live-eater");
const children = [];
let browser;
let base;
let cgroup;

function start(command, options = {}) {
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"], ...options });
  child.words = "";
  for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (piece) => { child.words += piece; });
  child.over = new Promise((resolve) => { child.on("exit", (code, signal) => resolve({ code, signal })); });
  children.push(child);
  return child;
}

async function until(what, holds, patienceMs = 20000) {
  const begin = Date.now();
  while (!(await holds())) {
    if (Date.now() - begin > patienceMs) assert.fail(`never came: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

// `memlog trace --live` on a free port; its address.
async function trace(label, more = [], interval = "100ms") {
  const child = start([memlog, "trace", "--name", "live-eater", "--label", label, "--interval", interval, "--live", "--live-port", "0",
    "--live-refresh-ms", "200", "--db", database, ...more]);
  child.isRecording = true;
  await until("the recording", () => /waiting for|recording live-eater/.test(child.words) && /localhost:\d+/.test(child.words));
  return { child, base: `http://localhost:${/localhost:(\d+)/.exec(child.words)[1]}/` };
}

function makeCgroup(limit) {
  const v1 = "/sys/fs/cgroup/memory";
  const directory = path.join(fs.existsSync(v1) ? v1 : "/sys/fs/cgroup", `memlog-live-test-${process.pid}`);
  fs.mkdirSync(directory);
  fs.writeFileSync(path.join(directory, fs.existsSync(v1) ? "memory.limit_in_bytes" : "memory.max"), limit);
  return directory;
}

async function withPage(url, use, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(url.split("?")[0]) && !/^(data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`); });
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true", null, { timeout: 30000 });
  try {
    await use(page);
  } finally {
    await context.close();
  }
  if (!options.mayComplain) assert.deepEqual(complaints, []);
}

const cell = (page, row, key) => page.locator(`#processes tbody tr >> nth=${row}`).locator("td").nth(["shown", "name", "pid", "state", "rss", "peak", "growth", "left"].indexOf(key)).textContent();
const lastPoint = (page) => page.evaluate(() => {
  const trace = document.getElementById("chart").data.find((one) => one.meta && one.meta.series === "rss_bytes" && one.meta.process === 0);
  return { x: trace.x[trace.x.length - 1], count: trace.x.length };
});

before(async () => {
  assert.equal(process.getuid(), 0, "needs root: memory cgroups and kernel events");
  fs.copyFileSync(workload, eater);
  fs.chmodSync(eater, 0o755);
  cgroup = makeCgroup("64M");
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
});

after(async () => {
  await browser?.close();
  await endAll(children);
  if (cgroup) fs.rmdirSync(cgroup);
  fs.rmSync(folder, { recursive: true });
});

test("a process is seen to grow and to be killed at its cgroup's limit, while the page is open", async () => {
  const recording = await trace("first");
  base = recording.base;
  recording.child.stays = true;
  start([eater, `cgroup=${cgroup}`, "grow=8M", "rate=4M:300ms:40", "sleep=5s"]);
  await withPage(base, async (page) => {
    await page.waitForFunction(() => /MiB/.test(document.querySelector("#processes tbody tr td:nth-child(5)")?.textContent || ""));
    assert.equal(await cell(page, 0, "name"), "live-eater");
    assert.equal(await cell(page, 0, "state"), "running");
    const before = await lastPoint(page);
    await page.waitForFunction(() => /^\+.*iB\/s$/.test(document.querySelector("#processes tbody tr td:nth-child(7)").textContent));
    assert.match(await cell(page, 0, "left"), /^\d/);
    await page.waitForFunction((count) => document.getElementById("chart").data.find((one) => one.meta?.series === "rss_bytes" && one.meta.process === 0).x.length > count + 4, before.count);
    assert.match(await page.locator("#age").textContent(), /^live, data .* old$/);
    await page.waitForFunction(() => document.querySelector("#processes tbody td.state").textContent === "OOM-killed", null, { timeout: 30000 });
    await page.waitForFunction(() => /^ended: .*OOM kill: live-eater/.test(document.getElementById("ending").textContent));
    assert.match(await page.locator("#events li.bad").first().textContent(), /live-eater/);
    assert.match(await page.locator("#age").textContent(), /^not recording; ended/);
    const kills = await page.evaluate(() => document.getElementById("chart").data.find((one) => one.meta?.series === "events").text.filter((text) => /OOM kill/.test(text)).length);
    assert.equal(kills, 1);
  });
  assert.equal(recording.child.exitCode, null); // it goes on serving
});

test("a zoom fetches finer points for its window, and a double click takes it back", () => withPage(base, async (page) => {
  const [from, to] = await page.evaluate(() => document.getElementById("chart").layout.xaxis.range.map(Number));
  const answer = page.waitForResponse((response) => response.url().includes("/timeline?") && response.url().includes("until_ms"));
  await page.evaluate(([a, b]) => window.Plotly.relayout(document.getElementById("chart"), { "xaxis.range": [a, b] }), [from + (to - from) * 0.4, from + (to - from) * 0.6]);
  const timeline = await (await answer).json();
  assert.ok(Math.abs(timeline.begin_ms - (from + (to - from) * 0.4)) < 2, "the window that was zoomed to");
  assert.equal(await page.getAttribute("#follow", "aria-pressed"), "false");
  const whole = page.waitForResponse((response) => response.url().includes("/timeline?") && !response.url().includes("since_ms"));
  await page.keyboard.press("0");
  await whole;
  await page.waitForFunction((first) => Math.abs(document.getElementById("chart").layout.xaxis.range[0] - first) < 1, from);
}));

test("downloads hold what is seen", () => withPage(base, async (page) => {
  const get = async (id) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(id)]);
    return { name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path()) };
  };
  const png = await get("#get-png");
  assert.equal(png.name, "memlog-run-1.png");
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  const html = await get("#get-html");
  assert.match(html.bytes.toString(), /^<!doctype html>/);
  const csv = (await get("#get-csv")).bytes.toString();
  assert.match(csv, /^timestamp_utc,pid,process_name,rss_bytes,/);
  assert.ok(csv.split("\r\n").length > 20);
  // A window of it: fewer rows.
  await page.evaluate(() => {
    const chart = document.getElementById("chart");
    const [a, b] = chart.layout.xaxis.range.map(Number);
    return window.Plotly.relayout(chart, { "xaxis.range": [a + (b - a) * 0.45, a + (b - a) * 0.55] });
  });
  await page.waitForFunction(() => document.getElementById("get-csv").href.includes("until_ms"));
  const part = (await get("#get-csv")).bytes.toString();
  assert.ok(part.split("\r\n").length < csv.split("\r\n").length / 2, "only the window");
}));

test("scale, theme, toggles and the keyboard", () => withPage(base, async (page) => {
  await page.keyboard.press("l");
  await page.waitForFunction(() => document.getElementById("chart")._fullLayout.yaxis.type === "log");
  await page.keyboard.press("l");
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.keyboard.press("d");
  assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
  await page.click("#show-none");
  await page.waitForFunction(() => !document.getElementById("chart").data.some((one) => one.meta?.series === "rss_bytes"));
  await page.locator("#processes tbody tr").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("chart").data.some((one) => one.meta?.series === "rss_bytes"));
  await page.keyboard.press("/");
  await page.keyboard.type("no such process");
  await page.waitForFunction(() => document.querySelectorAll("#processes tbody tr:not([hidden])").length === 0);
}));

test("names from a recording are shown as they are and never run; another run can be switched to", async () => {
  const evil = "</script><b>";
  const recording = await trace("<!--<script>", ["--live-exit", "--children"]);
  const child = start([eater, `name=${evil}`, "grow=4M", "sleep=3s"]);
  await withPage(recording.base, async (page) => {
    await page.waitForFunction((name) => document.querySelector("#processes tbody td.name")?.textContent === name, evil);
    assert.match(await page.locator("h1").textContent(), /^<!--<script> on /);
    assert.equal(await page.locator("b, #processes script").count(), 0);
    await page.waitForFunction(() => document.querySelectorAll("#runs option").length === 2);
    await page.selectOption("#runs", "1");
    await page.waitForFunction(() => /^first on/.test(document.querySelector("h1").textContent));
    assert.equal(await cell(page, 0, "state"), "OOM-killed");
    await page.selectOption("#runs", "2");
    await page.waitForFunction(() => !/^first on/.test(document.querySelector("h1").textContent));
    await child.over;
  }, { mayComplain: true });
  assert.equal((await recording.child.over).code, 0); // --live-exit: served only as long as it recorded
});

test("a pause holds the page still, and its end brings what was missed", async () => {
  const recording = await trace("paused");
  start([eater, "rate=1M:100ms:400"]);
  await withPage(recording.base, async (page) => {
    await page.waitForFunction(() => document.getElementById("chart").data?.some((one) => one.meta?.series === "rss_bytes"));
    await page.keyboard.press(" ");
    assert.match(await page.locator("#age").textContent(), /^paused, data/);
    const held = await lastPoint(page);
    await new Promise((resolve) => { setTimeout(resolve, 2000); });
    assert.deepEqual(await lastPoint(page), held);
    await page.keyboard.press(" ");
    await page.waitForFunction((x) => {
      const trace = document.getElementById("chart").data.find((one) => one.meta?.series === "rss_bytes" && one.meta.process === 0);
      return trace.x.filter((one) => one > x).length >= 15; // the two seconds, at 100 ms
    }, held.x);
  });
});

test("a tab that was hidden catches up when it is seen again", async () => {
  const recording = await trace("hidden");
  start([eater, "rate=1M:100ms:100"]);
  await withPage(recording.base, async (page) => {
    await page.waitForFunction(() => document.getElementById("chart").data?.some((one) => one.meta?.series === "rss_bytes"));
    const setHidden = (isHidden) => page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
    await page.evaluate(() => { // ten minutes are over at once
      const real = window.setTimeout;
      window.setTimeout = (work, ms, ...more) => real(work, ms > 20000 ? 0 : ms, ...more);
    });
    await setHidden(true);
    await new Promise((resolve) => { setTimeout(resolve, 500); });
    const held = await lastPoint(page);
    await new Promise((resolve) => { setTimeout(resolve, 2500); });
    assert.deepEqual(await lastPoint(page), held);
    await setHidden(false);
    await page.waitForFunction((x) => {
      const trace = document.getElementById("chart").data.find((one) => one.meta?.series === "rss_bytes" && one.meta.process === 0);
      return trace.x.filter((one) => one > x).length >= 20;
    }, held.x);
    await page.waitForFunction(() => /^live, data/.test(document.getElementById("age").textContent));
  });
});

test("a server that dies is back, and the page goes on", async () => {
  const recording = await trace("killed");
  start([eater, "rate=1M:100ms:120"]);
  await withPage(recording.base, async (page) => {
    await page.waitForFunction(() => document.getElementById("chart").data?.some((one) => one.meta?.series === "rss_bytes"));
    const childrenOf = (pid) => fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
    const [keeper] = childrenOf(recording.child.pid);
    const [server] = childrenOf(keeper);
    process.kill(server, "SIGKILL");
    await page.waitForFunction(() => /^connection lost/.test(document.getElementById("age").textContent));
    const held = await lastPoint(page);
    await page.waitForFunction(() => /^live, data/.test(document.getElementById("age").textContent), null, { timeout: 30000 });
    await page.waitForFunction((x) => {
      const trace = document.getElementById("chart").data.find((one) => one.meta?.series === "rss_bytes" && one.meta.process === 0);
      return trace.x[trace.x.length - 1] > x;
    }, held.x);
  }, { mayComplain: true });
});

test("two hundred processes: what is drawn stays as it was chosen while updates come", async () => {
  const recording = await trace("many", [], "500ms");
  start([eater, "fork=200", "rate=64K:200ms:100", "end", "wait"]);
  await until("all processes", async () => (await (await fetch(`${recording.base}api/v1/runs/last`)).json()).running_count === 201);
  await withPage(recording.base, async (page) => {
    const drawn = () => page.evaluate(() => document.getElementById("chart").data.filter((one) => one.meta?.series === "rss_bytes" && one.meta.process !== undefined).length);
    await page.waitForFunction(() => document.querySelectorAll("#processes tbody tr").length === 201);
    assert.ok(await drawn() <= 16); // eight, each with or without a band
    await page.click("#show-none");
    for (const row of [3, 77, 150]) await page.locator("#processes tbody tr").nth(row).click();
    const chosen = () => page.evaluate(() => Array.from(document.querySelectorAll("#processes tbody tr.shown"), (row) => row.dataset.id).sort());
    const before = await chosen();
    assert.equal(before.length, 3);
    const { count } = await lastPoint(page);
    await page.waitForFunction((many) => document.getElementById("chart").data.find((one) => one.meta?.series === "rss_bytes" && one.meta.process === 0).x.length > many + 2, count);
    assert.deepEqual(await chosen(), before);
    await page.click("#show-all");
    await page.waitForFunction(() => new Set(document.getElementById("chart").data.filter((one) => one.meta?.series === "rss_bytes" && one.meta.process !== undefined).map((one) => one.meta.process)).size >= 190);
  });
});

test("behind a proxy that strips a path everything is found, the stream too", async () => {
  const recording = await trace("proxied");
  start([eater, "rate=1M:100ms:100"]);
  const target = new URL(recording.base);
  const proxy = http.createServer((request, response) => {
    if (!request.url.startsWith("/x/y/")) return response.writeHead(404).end();
    const onward = http.request({ host: "127.0.0.1", port: target.port, path: request.url.slice(4), headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => onward.destroy());
    onward.on("error", () => response.destroy());
    onward.end();
    return undefined;
  });
  await new Promise((resolve) => { proxy.listen(0, "127.0.0.1", resolve); });
  try {
    await withPage(`http://localhost:${proxy.address().port}/x/y/`, async (page) => {
      await page.waitForFunction(() => document.getElementById("chart").data?.some((one) => one.meta?.series === "rss_bytes"));
      const { count } = await lastPoint(page);
      await page.waitForFunction((many) => document.getElementById("chart").data.find((one) => one.meta?.series === "rss_bytes" && one.meta.process === 0).x.length > many + 3, count);
    });
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
});
