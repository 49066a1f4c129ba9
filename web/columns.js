// SPDX-License-Identifier: Apache-2.0
// Series as they are packed in a page (userspace/render/timeline_json.h) as whole columns again.
import { unitOf } from "./numbers.js";

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

export { find, readColumns };
