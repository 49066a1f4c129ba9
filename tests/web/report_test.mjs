// SPDX-License-Identifier: Apache-2.0
// Opens the reports in the folder $MEMLOG_GALLERY in the browser $MEMLOG_CHROMIUM (run.sh sets both).
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test as nodeTest } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = process.env.MEMLOG_GALLERY;
const MiB = 1048576;
let browser;

const test = (name, run) => nodeTest(name, { timeout: 90000 }, run);

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.MEMLOG_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser.close());

// Opens a scene and fails on any error or request beside the file itself.
async function withPage(name, use) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, offline: true });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const url = pathToFileURL(path.join(folder, `${name}.html`)).href;
  page.on("request", (request) => { if (request.url() !== url && !request.url().startsWith("data:")) complaints.push(`request: ${request.url()}`); });
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true", null, { timeout: 60000 });
  try {
    await use(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(complaints, []);
}

const plot = (page, expression) => page.evaluate(expression);

for (const file of fs.readdirSync(folder).filter((one) => one.endsWith(".html"))) {
  test(`${file} opens offline without an error or a request`, () => withPage(file.replace(/\.html$/, ""), async (page) => {
    assert.ok(await page.locator(".chart .main-svg").count() > 0);
  }));
}

test("names from a recording are shown as they are and never run", () => withPage("hostile_light", async (page) => {
  const legend = await page.locator(".legendtext").allTextContents();
  assert.equal(legend[0], "</script><b> (7)");
  assert.match(await page.locator("h1").first().textContent(), /^<!--<script>x+ on build-17$/);
  assert.equal(await page.locator(".ending").textContent(), "<img src=x onerror=alert(1)>");
  assert.equal(await page.locator("img").count(), 0);
}));

test("hover tells the value that was sampled", () => withPage("hostile_light", async (page) => {
  const spot = await plot(page, () => {
    const chart = document.getElementById("chart-0");
    const box = chart.getBoundingClientRect();
    const { xaxis, yaxis } = chart._fullLayout;
    const trace = chart.data.find((one) => one.meta && one.meta.process === 0);
    return { x: box.left + xaxis._offset + xaxis.d2p(trace.x[1]), y: box.top + yaxis._offset + yaxis.d2p(trace.y[1]) };
  });
  await page.mouse.move(spot.x - 3, spot.y);
  await page.mouse.move(spot.x, spot.y);
  await page.waitForSelector(".hoverlayer .legend", { timeout: 10000 });
  const words = (await page.locator(".hoverlayer").textContent());
  assert.match(words, /12:00:01/);
  assert.ok(words.includes("</script><b> (7) : 2.00 MiB"), words);
  assert.ok(words.includes("(9) : 6 B"), words);
}));

test("values on the chart are the data's, extremes of thinned points included", () => withPage("spike_light", async (page) => {
  const highest = await plot(page, () => Math.max(...document.getElementById("chart-0").data.flatMap((trace) => trace.y)));
  assert.equal(highest, 9 * 1024 * MiB);
  const text = await plot(page, () => document.getElementById("chart-0").data.find((one) => one.meta?.process === 0 && one.text).text[1234]);
  assert.match(text, /^117 MiB \(\d+(\.\d+)? MiB to 9\.00 GiB\)$/);
}));

test("no line joins what a gap divides", () => withPage("gap_light", async (page) => {
  const trace = await plot(page, () => {
    const { x, y, connectgaps } = document.getElementById("chart-0").data.find((one) => one.meta?.process === 0);
    return { x, y, connectgaps };
  });
  assert.equal(trace.connectgaps, false);
  assert.equal(trace.y.length, 23);
  assert.deepEqual(trace.y.slice(9, 13), [200 * MiB, 200 * MiB, null, 260 * MiB]);
  assert.equal(trace.x[12] - trace.x[10], 50000);
}));

test("buttons switch scale and theme, hide and show processes", () => withPage("oom_light", async (page) => {
  await page.click("[data-action=scale]");
  assert.equal(await plot(page, () => document.getElementById("chart-0")._fullLayout.yaxis.type), "log");
  await page.click("[data-action=scale]");
  await page.click("[data-action=theme]");
  assert.equal(await plot(page, () => document.documentElement.dataset.theme), "dark");
  await page.click("[data-action=none]");
  const shown = () => plot(page, () => document.getElementById("chart-0").data
    .filter((trace) => trace.meta?.process !== undefined && trace.visible !== "legendonly").length);
  assert.equal(await shown(), 0);
  await page.click(".processes tbody tr >> nth=1");
  assert.ok(await shown() > 0);
  assert.equal(await page.locator(".processes tbody tr.shown").count(), 1);
}));

test("the table sorts by a column's numbers", () => withPage("many_light", async (page) => {
  const first = () => page.locator(".processes tbody tr").first().locator("td").nth(1).textContent();
  await page.click(".processes th >> nth=2");
  assert.equal(await first(), "2001");
  await page.click(".processes th >> nth=2");
  assert.equal(await first(), "2200");
}));

test("a zoom says how much each point covers and keeps binary ticks", () => withPage("single_light", async (page) => {
  const note = page.locator("#resolution-0");
  assert.match(await note.textContent(), /^900 points in view; each covers up to 3\.6 s/);
  await plot(page, () => {
    const chart = document.getElementById("chart-0");
    const [from] = chart.layout.xaxis.range;
    return window.Plotly.relayout(chart, { "xaxis.range": [from, from + 400000], "yaxis.range[0]": 0, "yaxis.range[1]": 3 * 1048576 });
  });
  assert.match(await note.textContent(), /^\d\d points in view; each covers up to 3\.6 s/);
  const ticks = await plot(page, () => document.getElementById("chart-0").layout.yaxis.ticktext);
  assert.ok(ticks.includes("1 MiB") || ticks.includes("1.0 MiB"), ticks.join());
}));

test("several runs share one span of time, and a zoom of one zooms all", () => withPage("stacked_light", async (page) => {
  const ranges = () => plot(page, () => [0, 1, 2].map((index) => document.getElementById(`chart-${index}`).layout.xaxis.range.map(Number)));
  const before = await ranges();
  assert.deepEqual(before[0], before[2]);
  await plot(page, () => {
    const chart = document.getElementById("chart-0");
    const [from] = chart.layout.xaxis.range;
    return window.Plotly.relayout(chart, { "xaxis.range[0]": from, "xaxis.range[1]": from + 60000 });
  });
  await page.waitForFunction(() => {
    const range = document.getElementById("chart-2").layout.xaxis.range;
    return range[1] - range[0] === 60000;
  });
}));

test("devices are drawn together, and each one when its name is clicked", () => withPage("device_8_ghost_light", async (page) => {
  const shown = () => plot(page, () => document.getElementById("chart-0").data
    .filter((trace) => trace.meta?.device !== undefined && trace.visible !== "legendonly").map((trace) => trace.meta.device));
  assert.deepEqual(await shown(), []);
  const titles = await page.locator(".annotation-text").allTextContents();
  assert.ok(titles.some((title) => title.startsWith("Device DRAM, all 8 devices")), titles.join("|"));
  assert.ok(titles.some((title) => title.includes("not in lockstep: 612 MiB in device 0 to 4.00 GiB in device 1")));
  const ghost = await plot(page, () => document.getElementById("chart-0").data
    .find((trace) => trace.meta?.part === "ghost_bytes" && trace.text).text[0]);
  assert.equal(ghost, "4.00 GiB");
  const legend = page.locator(".legendtext", { hasText: /^device 1$/ });
  await legend.scrollIntoViewIfNeeded();
  await page.locator(".traces", { has: legend }).locator(".legendtoggle").click({ force: true });
  await page.waitForFunction(() => document.getElementById("chart-0").data
    .some((trace) => trace.meta?.device === 1 && trace.visible === true), null, { timeout: 10000 });
}));

test("the page prints in light colours", () => withPage("single_light", async (page) => {
  const pdf = await page.pdf({ format: "A4", landscape: true });
  assert.ok(pdf.length > 20000);
}));
