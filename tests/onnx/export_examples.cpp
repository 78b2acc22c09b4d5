// Exports the examples of all bundled operators as ONNX models of several opsets, and imports them
// again. With TENON_EXPORT_TO=FOLDER the models are kept there with their inputs and outputs, for
// comparison with other programs (tests/onnx/compare_exports.py).
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <tenon/host/arrays.hpp>
#include <tenon/host/onnx.hpp>

#include "example_graphs.hpp"
#include "exported.hpp"
#include "standard.hpp"

namespace example_tests {
namespace {

using examples::ExampleGraph;
using examples::Inputs;
using tenon::DType;
using tenon::Tensor;

constexpr std::int64_t opsets[] = {13, 17, 18, 21, 24};

/// Returns whether the graph was written; `notes` receives the notes. Sparse results, and states
/// whose sizes are known only at run time, are errors.
bool save(const ExampleGraph& example, const std::filesystem::path& path, std::int64_t opset,
          std::vector<std::string>& notes) {
  tenon::onnx::ExportOptions options;
  options.opset = opset;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  try {
    tenon::onnx::save(example.graph, path, options);
  } catch (const tenon::Failure& failure) {
    const std::string_view why = failure.what();
    const bool known = why.find("operators produce only dense tensors") != why.npos ||
                       why.find("its shape is unknown") != why.npos;
    if (!known) FAIL_CHECK(path << ": " << why);
    return false;
  }
  return true;
}

tenon::CloseOptions tolerance(DType dtype) {
  return {.rtol = dtype == tenon::f16    ? 2e-3
                  : dtype == tenon::bf16 ? 1e-2
                                         : 1e-4,
          .atol = 1e-5,
          .equal_nan = true};
}

/// Returns false, and writes nothing, if the operator rejects these inputs.
bool save_run(const ExampleGraph& example, const Inputs& inputs, const std::string& path) {
  Inputs arrays, expected;
  try {
    expected = tenon::Session(example.graph).run(inputs);
  } catch (const tenon::Failure&) {
    return false;
  }
  for (const auto& [key, tensor] : inputs) arrays.emplace("in_" + key, tensor);
  for (const auto& [key, tensor] : expected) arrays.emplace("out_" + key, tensor);
  const bool dense = std::all_of(arrays.begin(), arrays.end(), [](const auto& one) {
    return one.second.storage() == tenon::Storage::dense;
  });
  if (dense) tenon::save_arrays(path, arrays);
  return dense;
}

}  // namespace

TEST_CASE(
    "exported examples: give the same results after a round trip, and are imported as the same "
    "graph") {
  exported::ExportHost on;
  int known = 0;
  examples::for_each_example(
      on.host, [](tenon::DTypeMask mask) { return std::vector{examples::preferred(mask)}; },
      [&](const std::string& name, const tenon::CatalogOperator& op, const ExampleGraph& made) {
        INFO(name);
        std::vector<std::string> notes;
        const auto path = on.folder / "example.onnx";
        if (!save(made, path, 17, notes)) return;
        known += notes.empty() ? 1 : 0;
        auto graph = made.graph.clone();
        CHECK(tenon::onnx::load(on.host, path).to_bytes() == graph.to_bytes());
        if (op.info.random) return;
        Inputs expected;
        try {
          expected = tenon::Session(made.graph).run(made.inputs);
        } catch (const tenon::Failure&) {
          return;  // the operator rejects a changed parameter
        }
        tenon::onnx::ImportOptions by_nodes;
        by_nodes.map.emplace("Nothing", "relu");
        try {
          const auto got =
              tenon::Session(tenon::onnx::load(on.host, path, by_nodes)).run(made.inputs);
          for (const auto& result : expected) {
            INFO(result.first);
            CHECK(tenon::all_close(got.at(result.first), result.second,
                                   tolerance(result.second.dtype())));
          }
        } catch (const tenon::Failure& failure) {
          FAIL_CHECK(std::string(failure.what()));
        }
      });
  CHECK(known > 90);
}

TEST_CASE("exported models: all examples in all dtypes are valid in each opset") {
  exported::ExportHost on;
  std::set<std::string> operators;
  examples::for_each_example(
      on.host, examples::dtypes_of,
      [&](const std::string& name, const tenon::CatalogOperator& op, const auto& made) {
        for (const auto opset : opsets) {
          std::vector<std::string> notes;
          if (!save(made, on.folder / "example.onnx", opset, notes)) continue;
          operators.insert(op.info.name);
          for (const auto& fault : standard::faults_of(on.folder / "example.onnx"))
            FAIL_CHECK(name << " in opset " << opset << ": " << fault);
        }
      });
  CHECK(operators.size() > 150);
}

TEST_CASE("exported models: written for other programs, if TENON_EXPORT_TO is set") {
  const char* const to = std::getenv("TENON_EXPORT_TO");
  if (to == nullptr) return;
  exported::ExportHost on;
  std::map<std::int64_t, std::set<std::string>> only_ours;
  for (const auto opset : opsets)
    std::filesystem::create_directories(std::filesystem::path(to) / std::to_string(opset));
  examples::for_each_example(
      on.host, examples::dtypes_of,
      [&](const std::string& name, const tenon::CatalogOperator& op, const auto& made) {
        const auto arrays = std::string(to) + '/' + name;
        if (!op.info.random && !save_run(made, made.inputs, arrays + ".npz")) return;
        if (!op.info.random) save_run(made, made.extreme, arrays + ".extreme.npz");
        for (const auto opset : opsets) {
          std::vector<std::string> notes;
          save(made, std::filesystem::path(to) / std::to_string(opset) / (name + ".onnx"), opset,
               notes);
          if (!notes.empty()) only_ours[opset].insert(op.info.name);
        }
      });
  for (const auto& [opset, names] : only_ours)
    MESSAGE("operators of our own in opset " << opset << ": "
                                             << fmt::to_string(fmt::join(names, " ")));
}

}  // namespace example_tests
