// Profiles of nodes and operators.
#pragma once
#include <string>
#include <tenon/host/profile.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"

namespace tenon::cli {

/// --profile and --profile-html, each of which enables profiling.
std::vector<Option> profile_options();
inline bool requests_profile(const Arguments& arguments) {
  return arguments.has("profile") || arguments.has("profile-html");
}

/// Writes the page of --profile-html and, with --profile, passes the text to `write`.
void give_profile(Context& context, const Arguments& arguments, const std::vector<NodeTime>& times,
                  void (*write)(std::string_view));

/// Returns tables of operators and of the slowest nodes: calls, milliseconds, share of the total,
/// GB/s and GFLOP/s.
std::string profile_text(const std::vector<NodeTime>& times, const MachineSpeed& machine);
JsonItem profile_json(const std::vector<NodeTime>& times, const MachineSpeed& machine);

}  // namespace tenon::cli
