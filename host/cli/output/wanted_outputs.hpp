// --output NAME[=FILE]: the outputs to compute, and where they go.
#pragma once
#include <map>
#include <string>
#include <tenon/host/arrays.hpp>
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
/// Whether every output goes to a .npy file, so that none needs to be held as a whole.
bool all_to_npy(const Context& context, const WantedOutputs& wanted);
/// Takes the outputs of batches, as run_each_batch() gives them, to their .npy files. None is there before commit().
class BatchFiles {
 public:
  explicit BatchFiles(const WantedOutputs& wanted) : wanted_(wanted) {}
  void take(const NamedTensors& outputs, std::int64_t rows);
  void commit();

 private:
  const WantedOutputs& wanted_;
  std::map<std::string, NpyWriter> files_;  // by output
};
/// Writes files, and prints the other outputs, or all as JSON, in the graph's order. Throws Failure if a file cannot be written.
void give_outputs(const Context& context, const Graph& graph, const NamedTensors& outputs, const WantedOutputs& wanted);

}  // namespace tenon::cli
