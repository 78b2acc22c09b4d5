// How long nodes and operators took.
#pragma once
#include <string>
#include <tenon/host/profile.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"

namespace tenon::cli {

/// --profile and --profile-html, each of which asks for a profile.
std::vector<Option> profile_options();
inline bool wants_profile(const Arguments& arguments) {
  return arguments.has("profile") || arguments.has("profile-html");
}

/// What is measured is written where it was asked for: the page, and with --profile the text given to `told`.
void give_profile(Context& context, const Arguments& arguments, const std::vector<NodeTime>& times, void (*told)(std::string_view));

/// A line for each operator and for the nodes that took longest: calls, milliseconds, part of the whole, bytes and operations a second.
std::string profile_text(const std::vector<NodeTime>& times, const MachineSpeed& machine);
JsonItem profile_json(const std::vector<NodeTime>& times, const MachineSpeed& machine);

}  // namespace tenon::cli
