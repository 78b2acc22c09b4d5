// A plan's memory as a picture.
#pragma once
#include <string>
#include <tenon/plan_info.hpp>

namespace tenon {

/// SVG: steps across, offset up, a box for each use with its name, bytes and steps as the title; workspaces are grey. A value's box ends
/// where another one takes its memory over. The dashed line is the lower bound.
std::string draw_memory(const PlanInfo& plan);

}  // namespace tenon
