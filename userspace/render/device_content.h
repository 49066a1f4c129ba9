// SPDX-License-Identifier: Apache-2.0
// The panels of device memory: what all chips hold, whose it is, and how far the chips differ.
#pragma once

#include <vector>

#include "model/timeline.h"
#include "render/chart_content.h"

namespace memlog {

// None where nothing is known of any device. Single devices are not drawn: pages show them on demand.
std::vector<Panel> device_panels(const Timeline& timeline, Theme theme);

}  // namespace memlog
