// --output NAME[=FILE]: outputs to compute and the files to write them to; --gradient:
// gradients as additional outputs grad_NAME.
#pragma once
#include <map>
#include <string>
#include <tenon/host/arrays.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "cli/command.hpp"
#include "cli/output/output_paths.hpp"

namespace tenon::cli {

/// Names of outputs and their files; outputs with an empty file name are printed. If the map is
/// empty, all outputs are printed.
using RequestedOutputs = std::map<std::string, std::string>;

Option output_option();
/// Throws Failure (usage) for values that are not NAME or NAME=FILE, and for repeated names.
RequestedOutputs requested_outputs(const Arguments& arguments);
void add_output_files(std::vector<NamedFile>& files, const RequestedOutputs& requested);
/// Returns whether every output goes to a .npy file, so that none needs to be held in memory as a
/// whole.
bool all_to_npy(const Context& context, const Graph& graph, const RequestedOutputs& requested);
/// Writes the outputs of batches, as delivered by run_each_batch(), to their .npy files. The files
/// do not exist before commit().
class BatchFiles {
 public:
  explicit BatchFiles(const RequestedOutputs& requested) : requested_(requested) {}
  void take(const NamedTensors& outputs, std::int64_t rows);
  void commit();

 private:
  const RequestedOutputs& requested_;
  std::map<std::string, NpyWriter> files_;  // by output name
};
/// Writes files, and prints the other outputs (with --json, all of them) in the graph's order.
/// Throws Failure if a file cannot be written.
void give_outputs(const Context& context, const Graph& graph, const NamedTensors& outputs,
                  const RequestedOutputs& requested);

/// Returns whether inputs of the dtype have gradients.
bool has_gradient(DType dtype);
/// Adds the gradients that are not empty as outputs with these names. Throws Failure (usage) if all
/// are empty; `differentiated` names the value in the error.
void add_gradient_outputs(Graph& graph, const std::vector<Value>& gradients,
                          const std::vector<std::string>& names, const std::string& differentiated);
/// Throws Failure (usage) if --output names only outputs that are not gradients.
void require_requested_gradient(const RequestedOutputs& requested);

}  // namespace tenon::cli
