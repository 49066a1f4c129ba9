// SPDX-License-Identifier: Apache-2.0
#include "render/device_content.h"

#include <fmt/format.h>

#include "base/text.h"
#include "render/curves.h"

namespace memlog {
namespace {

// What is live on top of what is left behind, which does not change; over both the devices' own total.
Panel total_panel(const Timeline& timeline, const Style& style) {
  Panel panel{.title = "Device DRAM",
              .remarks = {},
              .unit = Unit::bytes,
              .weight = 1.6,
              .least_top = 0,
              .curves = {},
              .unsampled_peaks = {}};
  const TimelineSeries* dram = find_series(timeline.device_totals, "dram_bytes");
  if (dram == nullptr) return panel;
  if (timeline.device_count > 1) panel.title += fmt::format(", all {} devices", timeline.device_count);
  add_stack(panel, *dram,
            {{find_series(timeline.device_totals, "ghost_bytes"), "ghost of dead processes", style.ghost},
             {find_series(timeline.device_totals, "live_bytes"), "live processes", style.live}});
  panel.curves.push_back(
      curve_of(CurveKind::line, timeline.device_count > 1 ? "total" : "device", style.text, *dram));
  say_peak(panel.curves.back(), Unit::bytes);
  return panel;
}

Panel chip_panel(const Timeline& timeline, const Style& style) {
  Panel panel{.title = "Device DRAM, each device",
              .remarks = {},
              .unit = Unit::bytes,
              .weight = 1.2,
              .least_top = 0,
              .curves = {},
              .unsampled_peaks = {}};
  const TimelineSeries* chips = find_series(timeline.device_totals, "dram_chip_bytes");
  if (chips == nullptr || timeline.device_count < 2) return panel;
  panel.curves.push_back(curve_of(CurveKind::line, "average, min to max", style.series[2], *chips));
  say_peak(panel.curves.back(), Unit::bytes);
  if (!timeline.device_spread.empty()) panel.remarks.push_back(printable(timeline.device_spread));
  return panel;
}

}  // namespace

std::vector<Panel> device_panels(const Timeline& timeline, Theme theme) {
  const Style& style = style_of(theme);
  return {total_panel(timeline, style), chip_panel(timeline, style)};
}

}  // namespace memlog
