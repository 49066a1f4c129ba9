// SPDX-License-Identifier: Apache-2.0
// Draws every scene of the tests, to be looked at: gallery DIRECTORY [WIDTH HEIGHT SCALE light|dark [start]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "render/html.h"
#include "render/png.h"
#include "support/timelines.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  memlog::ChartOptions options;
  if (argc > 3) {
    options.width = std::atoi(argv[2]);
    options.height = std::atoi(argv[3]);
  }
  if (argc > 4) options.scale = std::atof(argv[4]);
  const std::string theme = argc > 5 ? argv[5] : "light";
  if (theme == "dark") options.theme = memlog::Theme::dark;
  if (argc > 6) options.alignment = memlog::RunAlignment::start;
  for (const memlog::testing::Scene& scene : memlog::testing::scenes()) {
    const auto begin = std::chrono::steady_clock::now();
    const auto png = memlog::render_png(scene.timelines, options);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (!png.ok()) {
      std::fprintf(stderr, "%s: %s: %s\n", scene.name.c_str(), png.error().doing.c_str(),
                   png.error().reason.c_str());
      continue;
    }
    std::ofstream(std::string(argv[1]) + "/" + scene.name + "_" + theme + ".png", std::ios::binary) << *png;
    memlog::HtmlOptions html_options;
    html_options.theme = options.theme;
    html_options.alignment = options.alignment;
    const auto before_html = std::chrono::steady_clock::now();
    const std::string html = memlog::render_html(scene.timelines, html_options);
    const std::chrono::duration<double, std::milli> html_took =
        std::chrono::steady_clock::now() - before_html;
    std::ofstream(std::string(argv[1]) + "/" + scene.name + "_" + theme + ".html", std::ios::binary) << html;
    std::printf("%-12s html %8zu bytes %7.1f ms\n", scene.name.c_str(), html.size(), html_took.count());
    std::printf("%-12s %8zu bytes %7.1f ms\n", scene.name.c_str(), png->size(), took.count());
  }
}
