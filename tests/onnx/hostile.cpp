// Damaged and malicious files: the result is a model or a Failure.
#include <doctest/doctest.h>

#include <fstream>

#include "../failure_of.hpp"
#include "onnx/model.hpp"
#include "onnx/tensor_data.hpp"
#include "onnx_bombs.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;

namespace {

/// Uses everything that a model offers. Returns whether it is one.
bool read_all(const std::string& bytes) {
  const auto failure = failure_of([&] {
    const auto model = read(bytes);
    tenon::onnx::operators_of(model);
    tenon::onnx::TensorReader reader(model);
    for (const auto& tensor : model.graph.initializers) failure_of([&] { reader.read(tensor); });
    for (const auto& tensor : model.graph.sparse_initializers)
      failure_of([&] { reader.read(tensor); });
  });
  CHECK((failure.kind == 0 || (failure.kind == 4 && failure.message.starts_with("m.onnx: "))));
  return failure.kind == 0;
}

}  // namespace

TEST_CASE("hostile models: truncation at any byte") {
  const auto bytes = sample().bytes();
  REQUIRE(read_all(bytes));
  int models = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) models += read_all(bytes.substr(0, size));
  // between optional fields of the model: opsets of other domains, the function
  CHECK(models <= 4);
}

TEST_CASE("hostile models: any flipped bit") {
  auto bytes = sample().bytes();
  int models = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto flip = [&] { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8); };
    flip();
    models += read_all(bytes);
    flip();
  }
  CHECK(models > 100);  // in names and elements
}

TEST_CASE("hostile models: bombs are rejected before they use memory") {
  for (const auto& bomb : onnx_bombs::all(8 << 20)) {
    CAPTURE(bomb.what);
    const auto failure = failure_of([&] { read(bomb.bytes); });
    if (!bomb.exhausts) continue;
    CHECK(failure.kind == 4);
    CHECK_MESSAGE(failure.message.find("the file is damaged or malicious") != std::string::npos,
                  failure.message);
  }
}

TEST_CASE("hostile models: many legitimate entries are accepted") {
  // The least that exporters write: 20 bytes per node.
  ModelFields fields;
  fields.graph.nodes.assign(100'000, {"Relu", {"x12345"}, {""}});
  CHECK(read(fields.bytes()).graph.nodes.size() == 100'000);
}
