// SPDX-License-Identifier: Apache-2.0
// A report as one HTML file that needs nothing else: charts, facts and the table of processes.
//
// It stays under kMostHtmlBytes whatever the runs' length: points are merged (no extreme is lost) until it does.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/timeline.h"
#include "render/chart_layout.h"

namespace memlog {

inline constexpr size_t kMostHtmlBytes = 1'500'000;

struct HtmlOptions {
  std::optional<Theme> theme;  // unset: as the reader's browser prefers
  Zone zone = Zone::utc;
  RunAlignment alignment = RunAlignment::clock;
};

std::string render_html(std::span<const Timeline> timelines, const HtmlOptions& options);

// `text` for an HTML element or a quoted attribute; broken UTF-8 becomes U+FFFD.
std::string html_text(std::string_view text);

}  // namespace memlog
