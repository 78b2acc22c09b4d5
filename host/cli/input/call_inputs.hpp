// Inputs for one operator, from files or random.
#pragma once
#include <string>
#include <tenon/host/session.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// The option --input NAME=FILE or NAME=random:SHAPE[:DTYPE[:STORAGE]].
Option call_input_option();
/// What it asks for, by name. Throws Failure: (usage) for what is no shape, dtype or storage, and as load_array().
NamedTensors read_call_inputs(const Arguments& arguments);

}  // namespace tenon::cli
