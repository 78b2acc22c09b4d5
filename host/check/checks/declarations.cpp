// Checks the manifest and shape inference for consistency.
#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "check/calls/test_call.hpp"
#include "check/check.hpp"
#include "io/counted.hpp"
#include "plugin/loading/copy_changes.hpp"
#include "plugin/plugin_set.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon::checks {
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

/// Types inferred from partial types must agree with those inferred from full types.
std::string contradiction(const std::vector<tenon_type>& known,
                          const std::vector<tenon_type>& learned, const char* what) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    auto type = known[i];
    if (merge(type, learned[i]) == Merge::contradiction)
      return fmt::format("{} {} is {}, but {} is inferred from partial types", what, i,
                         to_string(known[i]), to_string(learned[i]));
  }
  return {};
}

/// An error is not a contradiction: graphs with known shapes still work.
std::string infer_again(const OperatorCall& call, const CallTypes& known, CallTypes less,
                        std::string& error) {
  try {
    call.infer(less);
  } catch (const Failure& failure) {
    error = failure.what();
    return {};
  }
  for (const auto& [group, what] : {std::pair{&CallTypes::inputs, "input"},
                                    {&CallTypes::outputs, "output"},
                                    {&CallTypes::states, "state"}})
    if (auto fault = contradiction(known.*group, less.*group, what); !fault.empty()) return fault;
  return {};
}

void forget_shape(tenon_type& type) {
  const auto before = type;
  type = unknown_type();
  type.dtype = before.dtype;
  type.present = before.present;
}

std::string infer_from_less(const OperatorCall& call, const TestInput& sample, std::string& error) {
  const auto& all = sample.types;
  if (auto fault = infer_again(call, all, all, error); !fault.empty()) return fault;
  auto less = all;
  for (auto& output : less.outputs) output = unknown_type();
  for (auto& state : less.states) state = unknown_type();
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    auto some = less;
    if (i < some.values.size() && some.values[i] != nullptr) {
      some.values[i] = nullptr;
      if (auto fault = infer_again(call, all, some, error); !fault.empty()) return fault;
    }
    for (int axis = 0; axis < some.inputs[i].rank; ++axis) {
      auto one = less;
      one.values = some.values;
      one.inputs[i].dims[axis] = some.inputs[i].dims[axis] = -1;
      if (auto fault = infer_again(call, all, one, error); !fault.empty()) return fault;
    }
    if (auto fault = infer_again(call, all, some, error); !fault.empty()) return fault;
    forget_shape(some.inputs[i]);
    if (auto fault = infer_again(call, all, some, error); !fault.empty()) return fault;
  }
  for (auto& input : less.inputs) forget_shape(input);
  less.values.assign(less.values.size(), nullptr);
  return infer_again(call, all, less, error);
}

}  // namespace

/// Warns about unique global symbols, which programs other than Tenon share between plugins.
/// Symbols of the standard library are excluded, since the author has no control over them.
static std::string shared_symbols(const CheckedOperator& checked) {
  if (checked.op.file < 0) return {};
  auto names = private_unique_symbols(checked.op.plugins->file(checked.op.file).path);
  std::erase_if(names, [](const std::string& name) {
    const auto text =
        std::string_view(name).substr(std::min(name.size(), name.find_first_not_of("_ZGVTN")));
    return text.starts_with("St") || text.starts_with("KSt") || text.starts_with("9__gnu_cxx") ||
           text.starts_with("K9__gnu_cxx");
  });
  if (names.empty()) return {};
  return "it exports " + counted(names.size(), "symbol") +
         " with unique global binding (STB_GNU_UNIQUE), such as " + names.front() +
         ": Tenon makes them local to the plugin, but other programs share them between plugins; "
         "compile it with -fvisibility=hidden or "
         "-fno-gnu-unique";
}

Outcome check_manifest(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  const auto& table = *checked.op.table;
  const std::pair<const char*, bool> functions[] = {
      {"forward", table.forward != nullptr},
      {"forward_sparse", table.forward_sparse != nullptr},
      {"backward", table.backward != nullptr},
      {"backward_sparse", table.backward_sparse != nullptr},
      {"gradient", table.gradient != nullptr},
      {"compose", is_composed(table)}};
  for (const auto& [name, is_there] : functions)
    if (info.has(name) && !is_there && !info.elementwise)
      return failed(std::string("the manifest declares function ") + name +
                    ", but the table does not have it");
  if (info.has("forward") && !table.forward)
    return failed("the manifest declares function forward, but the table does not have it");
  if (const auto what = missing_doc(info); !what.empty())
    return {Verdict::warning, what + " has no documentation"};
  if (const auto what = shared_symbols(checked); !what.empty()) return {Verdict::warning, what};
  return passed(std::to_string(info.manifest.size()) + " bytes, all valid");
}

Outcome check_inference(const CheckedOperator& checked) {
  constexpr std::size_t max_samples = 64;
  std::string error;
  auto outcome = each_sample(
      checked, all_kinds,
      [&](const OperatorCall& call, const TestInput& sample) {
        return infer_from_less(call, sample, error);
      },
      max_samples, Draws::positive);
  if (outcome.verdict == Verdict::passed && !error.empty())
    return {Verdict::warning, "infer() fails for partial types: " + error};
  return outcome;
}

}  // namespace tenon::checks
