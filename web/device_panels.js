// SPDX-License-Identifier: Apache-2.0
// The panels of device memory: what all devices hold and whose it is, and how far they differ; single devices on demand.
import { find } from "./columns.js";
import { Panel, addStack } from "./panel.js";

function deviceTotalPanel(run, options, style) {
  const many = run.device_count > 1;
  const panel = new Panel(many ? `Device DRAM, all ${run.device_count} devices` : "Device DRAM", "bytes", 170);
  const total = find(run.device_totals, "dram_bytes");
  if (!total || !total.t.length) return panel;
  addStack(panel, run, options, [{ series: find(run.device_totals, "ghost_bytes"), name: "device DRAM, ghost of dead ones", color: style.ghost },
    { series: find(run.device_totals, "live_bytes"), name: "device DRAM, live processes", color: style.live }]);
  panel.add(total, run, options, { name: many ? "device DRAM, total" : "device DRAM", color: style.text, group: "devices", meta: { series: "device total" } });
  return panel;
}

function devicePanel(run, options, style) {
  const panel = new Panel("Device DRAM, each device", "bytes", 150);
  const chips = find(run.device_totals, "dram_chip_bytes");
  if (!chips || !chips.t.length || !(run.device_count > 1)) return panel;
  if (run.device_spread) panel.remarks.push(run.device_spread);
  panel.add(chips, run, options, { name: "average device, min to max", color: style.series[2], group: "chips", meta: { series: "device average" } });
  (run.devices || []).forEach((device, rank) => {
    const dram = find(device.series, "dram_bytes");
    if (!dram || !dram.t.length) return;
    panel.add(dram, run, options, { name: device.name, color: style.series[rank % style.series.length], group: `device ${rank}`,
      visible: "legendonly", rank: 1002, meta: { device: rank } });
  });
  return panel;
}

export { devicePanel, deviceTotalPanel };
