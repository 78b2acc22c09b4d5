// Checks of the names, types and initializers of a graph, whether they come from an application,
// from graph.json or from a .tenon file.
#pragma once
#include <string_view>
#include <tenon/host/init.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Requires non-empty UTF-8 without colons and control characters. `what` names the owner: "a
/// value", "an output". Throws Failure (usage).
void check_name_text(std::string_view name, const char* what);

/// Requires valid distribution parameters, and an initial value that the dtype, if known, can hold.
/// Throws Failure (usage).
void check_init(std::string_view name, const Init& init, const tenon_type& type);

/// Requires states to be dense. Throws Failure (usage).
void check_storage(std::string_view name, Role role, const tenon_type& type);

/// Requires names that are UTF-8 without zero bytes and occur once, and elements that are int32 or
/// int64, if their type is known. Throws Failure (usage).
void check_categories(std::string_view value, const tenon_type& type,
                      const std::vector<std::string_view>& names);

/// Requires `cpu`, `cuda`, `cuda:1`, or empty for the session's device; does not check that the
/// machine has it. Throws Failure (usage).
void check_node_device(std::string_view node, std::string_view device);

}  // namespace tenon
