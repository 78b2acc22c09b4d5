// What names, types and first values of a graph must be, whether they come from an application, from graph.json or from a .tenon file.
#pragma once
#include <string_view>
#include <tenon/host/init.hpp>

#include "graph/model.hpp"

namespace tenon {

/// UTF-8 without colons and control characters, not empty. `what` is whose name it is: "a value", "an output". Throws Failure (usage).
void check_name_text(std::string_view name, const char* what);

/// Numbers that the rule can draw from, and a value that the dtype holds if it is known. Throws Failure (usage).
void check_init(std::string_view name, const Init& init, const tenon_type& type);

/// States are dense. Throws Failure (usage).
void check_storage(std::string_view name, Role role, const tenon_type& type);

/// `cpu`, `cuda`, `cuda:1`, or empty for the session's device; whether this machine has it is not asked. Throws Failure (usage).
void check_node_device(std::string_view node, std::string_view device);

}  // namespace tenon
