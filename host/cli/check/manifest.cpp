#include "cli/check/check.hpp"

namespace tenon::cli {
namespace {

std::string missing_doc(const OperatorInfo& info) {
  if (info.doc.empty()) return "the operator";
  for (const auto& input : info.inputs)
    if (input.doc.empty()) return "input '" + input.name + "'";
  for (const auto& output : info.outputs)
    if (output.doc.empty()) return "output '" + output.name + "'";
  for (const auto& param : info.params)
    if (param.doc.empty()) return "parameter '" + param.name + "'";
  return {};
}

}  // namespace

// That its bytes decode and refer to nothing that is not there was settled when the catalog was read.
Outcome check_manifest(const Subject& subject) {
  const auto& info = *subject.op.info;
  const auto& table = *subject.op.table;
  const std::pair<const char*, bool> functions[] = {{"forward", table.forward != nullptr},
                                                    {"forward_sparse", table.forward_sparse != nullptr},
                                                    {"backward", table.backward != nullptr},
                                                    {"backward_sparse", table.backward_sparse != nullptr},
                                                    {"gradient", table.gradient != nullptr}};
  for (const auto& [name, is_there] : functions)
    if (info.has(name) && !is_there && !info.elementwise)
      return failed(std::string("it says that there is a function ") + name + ", but the table has none");
  if (info.has("forward") && !table.forward) return failed("it says that there is a function forward, but the table has none");
  if (const auto what = missing_doc(info); !what.empty()) return {Verdict::warning, what + " has no sentence that says what it is"};
  return passed(std::to_string(info.manifest.size()) + " bytes, all of them sound");
}

}  // namespace tenon::cli
