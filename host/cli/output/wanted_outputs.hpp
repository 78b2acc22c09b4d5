// --output NAME[=FILE]: the outputs to compute, and where they go.
#pragma once
#include <map>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/output/output_paths.hpp"

namespace tenon::cli {

/// Names of outputs, and the file of each; an empty one: it is printed. None: all outputs are printed.
using WantedOutputs = std::map<std::string, std::string>;

Option output_option();
/// Throws Failure (usage) for what is not NAME or NAME=FILE, and for a name that comes twice.
WantedOutputs wanted_outputs(const Arguments& arguments);
void add_output_files(std::vector<NamedFile>& files, const WantedOutputs& wanted);
/// Writes files, and prints the other outputs, or all as JSON. Throws Failure where a file cannot be written.
void give_outputs(const Context& context, const NamedTensors& outputs, const WantedOutputs& wanted);

}  // namespace tenon::cli
