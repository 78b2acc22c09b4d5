// How long operators took.
#pragma once
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"

namespace tenon::cli {

Option profile_option();
/// A line for each operator, the longest first: calls, milliseconds and part of the whole.
std::string profile_text(const std::vector<NodeTime>& times);
/// An object for each node.
JsonItem profile_json(const std::vector<NodeTime>& times);

}  // namespace tenon::cli
