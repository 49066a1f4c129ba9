// SPDX-License-Identifier: Apache-2.0
#include "render/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "render/html_table.h"
#include "render/timeline_json.h"
#include "render/web_assets.h"

namespace memlog {
namespace {

constexpr size_t kTableBytes = 200'000;  // of all processes' tables; those of events get half as much
constexpr size_t kMostNotes = 20;

std::string theme_css(const char* selector, Theme theme) {
  const Style& style = style_of(theme);
  return fmt::format(
      "{} {{ --background: {}; --plot: {}; --text: {}; --muted: {}; --grid: {}; --axis: {}; --alarm: {}; "
      "}}\n",
      selector, css_colour(style.background), css_colour(style.plot), css_colour(style.text),
      css_colour(style.muted), css_colour(style.grid), css_colour(style.axis), css_colour(style.alarm));
}

std::string all_colours_css(const std::optional<Theme>& theme) {
  const bool is_dark = theme == Theme::dark;
  std::string css = theme_css(":root", is_dark ? Theme::dark : Theme::light);
  if (!theme) css += "@media (prefers-color-scheme: dark) { " + theme_css(":root", Theme::dark) + "}\n";
  css += theme_css(":root[data-theme=light]", Theme::light);
  css += theme_css(":root[data-theme=dark]", Theme::dark);
  return css;
}

bool ended_badly(const Timeline& timeline) {
  return timeline.is_incomplete ||
         std::any_of(timeline.events.begin(), timeline.events.end(),
                     [](const TimelineEvent& event) { return event.kind == EventKind::oom_kill; });
}

std::string page_title(const Timeline& timeline) {
  std::string title = timeline.title.empty() ? timeline.source : timeline.title;
  if (!timeline.host.empty()) title += " on " + timeline.host;
  return title;
}

std::string facts_html(const Timeline& timeline, const HtmlOptions& options) {
  std::string facts = timeline.source;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) facts += (facts.empty() ? "" : " \u00b7 ") + text;
  };
  if (timeline.target != timeline.title) add(timeline.target);
  add(when_text(timeline, options.zone));
  add(fmt::format("{} samples", timeline.sample_count));
  if (!timeline.event_source.empty()) add("events: " + timeline.event_source);
  return html_text(facts);
}

// What is stale or odd about the devices comes first.
std::string notes_html(const Timeline& timeline) {
  std::vector<std::string> notes = timeline.device_ghosts;
  if (!timeline.device_spread.empty()) notes.push_back(timeline.device_spread);
  notes.insert(notes.end(), timeline.notes.begin(), timeline.notes.end());
  if (notes.empty()) return "";
  std::string html = "<ul class=\"notes\">";
  for (size_t at = 0; at < std::min(notes.size(), kMostNotes); ++at) {
    const bool is_ghost = at < timeline.device_ghosts.size();
    html +=
        fmt::format("<li{}>{}</li>", is_ghost ? " class=\"bad\"" : "", html_text(notes[at].substr(0, 500)));
  }
  return html + "</ul>\n";
}

std::string run_html(const Timeline& timeline, size_t index, size_t table_bytes, const HtmlOptions& options) {
  std::string html = "<section>\n<h1>" + html_text(page_title(timeline)) + "</h1>\n";
  html += "<p class=\"facts\">" + facts_html(timeline, options) + "</p>\n";
  if (!timeline.ending.empty()) {
    html += fmt::format("<p class=\"ending{}\">{}</p>\n", ended_badly(timeline) ? " bad" : "",
                        html_text(timeline.ending));
  }
  html += notes_html(timeline);
  html += fmt::format(
      "<div class=\"chart\" id=\"chart-{}\"></div>\n<p class=\"resolution\" id=\"resolution-{}\"></p>\n",
      index, index);
  html += processes_html(timeline, index, table_bytes, options.zone);
  html += events_html(timeline, table_bytes / 2, options.zone);
  return html + "</section>\n";
}

std::string data_json(std::span<const Timeline> timelines, const HtmlOptions& options,
                      const JsonBudget& budget) {
  const int64_t begin_ns = timelines.empty() ? 0 : timelines.front().begin_ns;
  std::string json = fmt::format(
      "{{\"format\":1,\"theme\":\"{}\",\"align\":\"{}\",\"zone\":{{\"name\":{},\"offset_ms\":{}}},\"styles\":"
      "{{\"light\":{},"
      "\"dark\":{}}},\"runs\":[",
      !options.theme                  ? "auto"
      : *options.theme == Theme::dark ? "dark"
                                      : "light",
      options.alignment == RunAlignment::start ? "start" : "clock",
      json_string(zone_name(begin_ns, options.zone)), zone_offset_s(begin_ns, options.zone) * 1000,
      style_json(Theme::light), style_json(Theme::dark));
  for (const Timeline& timeline : timelines) {
    if (json.back() != '[') json += ',';
    json += timeline_json(timeline, budget);
  }
  return json + "]}";
}

// Less of everything, so that `data_bytes` come down to what the rest of the page leaves; false: it is at its least.
bool shrink(JsonBudget& budget, size_t other_bytes, size_t data_bytes) {
  if (budget.points <= 64 && budget.processes <= kNamedInPages && budget.events == 0) return false;
  const double room = other_bytes < kMostHtmlBytes ? static_cast<double>(kMostHtmlBytes - other_bytes) : 0;
  const double factor = std::min(0.8, room / static_cast<double>(data_bytes) * 0.95);
  const auto less = [&](size_t value, size_t least) {
    return std::max(least, static_cast<size_t>(static_cast<double>(value) * factor));
  };
  budget.points = less(budget.points, 64);
  budget.processes = less(budget.processes, kNamedInPages);
  budget.events = less(budget.events, 0);
  budget.gaps = less(budget.gaps, 0);
  return true;
}

}  // namespace

std::string render_html(std::span<const Timeline> timelines, const HtmlOptions& options) {
  const WebAssets assets = web_assets();
  std::string runs;
  std::string title = "memlog";
  for (size_t index = 0; index < timelines.size(); ++index) {
    runs += run_html(timelines[index], index, kTableBytes / timelines.size(), options);
    if (index == 0) title = page_title(timelines[index]);
  }
  if (timelines.size() > 1) title += fmt::format(" and {} more", timelines.size() - 1);
  const std::string colours = all_colours_css(options.theme);
  const std::string plotly = base64(assets.plotly_gzip);
  const std::string hashes =
      fmt::format("'sha256-{}' 'sha256-{}'", base64(bytes_of_hex(assets.script_sha256)),
                  base64(bytes_of_hex(assets.plotly_sha256)));
  const std::string title_html = html_text(title);
  JsonBudget budget;
  budget.points /= std::max<size_t>(1, timelines.size());
  while (true) {
    const std::string data = data_json(timelines, options, budget);
    const std::pair<std::string_view, std::string_view> values[] = {{"script_hashes", hashes},
                                                                    {"title", title_html},
                                                                    {"colours", colours},
                                                                    {"style", assets.style},
                                                                    {"runs", runs},
                                                                    {"data", data},
                                                                    {"plotly", plotly},
                                                                    {"plotly_licence", assets.plotly_licence},
                                                                    {"script", assets.script}};
    std::string page = fill_in(assets.page, values);
    if (page.size() <= kMostHtmlBytes || !shrink(budget, page.size() - data.size(), data.size())) return page;
  }
}

std::string fill_in(std::string_view page,
                    std::span<const std::pair<std::string_view, std::string_view>> values) {
  std::string filled;
  while (!page.empty()) {
    const size_t open = page.find("{{");
    filled += page.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [known, value] : values) {
      if (known == name) filled += value;
    }
    page.remove_prefix(close + 2);
  }
  return filled;
}

std::string colours_css(const std::optional<Theme>& theme) { return all_colours_css(theme); }

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      case '\0':
        break;
      default:
        html += c;
    }
  }
  return html;
}

}  // namespace memlog
