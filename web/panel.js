// SPDX-License-Identifier: Apache-2.0
// A panel: curves that share a value axis.
import { readColumns } from "./columns.js";
import { bandTrace, fillTrace, lineTrace, xMapper } from "./traces.js";

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

// Fills of the parts on top of each other (side by side where the axis is logarithmic); those that are always 0 are left out.
function addStack(panel, run, options, parts) {
  const floors = [];
  for (const { series, name, color } of parts) {
    if (!series || !series.t.length || !series.peak) continue;
    const columns = readColumns(series, run.begin_ms);
    const look = { name, color, group: `part ${name}`, meta: { part: series.name } };
    const x = xMapper(run, options);
    const own = columns.mean.map((value, at) => floors[at] || 0);
    if (!options.log) panel.traces.push(fillTrace(columns, own, x, look));
    const values = options.log ? columns.mean : columns.mean.map((value, at) => value + own[at]);
    panel.traces.push(lineTrace(columns, x, { ...look, values, width: options.log ? 1.4 : 0.8 }));
    columns.mean.forEach((value, at) => (floors[at] = (floors[at] || 0) + value));
  }
}

export { Panel, addStack };
