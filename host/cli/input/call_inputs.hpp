// Inputs for one operator, from files or random.
#pragma once
#include <string>
#include <tenon/host/session.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// The option --input NAME=FILE or NAME=random:SHAPE[:DTYPE[:STORAGE]].
Option call_input_option();
/// Returns the inputs by name. Throws Failure (usage) for an invalid shape, dtype or storage, and
/// whatever load_array() throws.
NamedTensors read_call_inputs(const Arguments& arguments);

}  // namespace tenon::cli
