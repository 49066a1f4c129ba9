// SPDX-License-Identifier: Apache-2.0
// A report as one HTML file that needs nothing else: charts, facts and the table of processes.
//
// It stays under kMostHtmlBytes whatever the runs' length: points are merged (no extreme is lost) until it does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

// The pieces that every page of memlog's is made of: the colours of both themes as CSS variables (unset: as the
// browser prefers), and a template whose {{places}} get their values; a value is never searched for places.
std::string colours_css(const std::optional<Theme>& theme);
std::string fill_in(std::string_view page,
                    std::span<const std::pair<std::string_view, std::string_view>> values);

}  // namespace memlog
