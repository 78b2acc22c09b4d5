// Files that somebody damaged or made to do harm: a model or a Failure, and nothing else.
#include <doctest/doctest.h>

#include <fstream>

#include "../failure_of.hpp"
#include "onnx/operators.hpp"
#include "onnx/tensor_data.hpp"
#include "onnx_bombs.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;

namespace {

/// Everything that can be asked of a model. True where it is one.
bool read_all(const std::string& bytes) {
  const auto failure = failure_of([&] {
    const auto model = read(bytes);
    tenon::onnx::operators_of(model);
    tenon::onnx::TensorReader reader(model);
    for (const auto& tensor : model.graph.initializers) failure_of([&] { reader.read(tensor); });
    for (const auto& tensor : model.graph.sparse_initializers) failure_of([&] { reader.read(tensor); });
  });
  CHECK((failure.kind == 0 || (failure.kind == 4 && failure.message.starts_with("m.onnx: "))));
  return failure.kind == 0;
}

}  // namespace

TEST_CASE("a model that is cut off anywhere") {
  const auto bytes = sample().bytes();
  REQUIRE(read_all(bytes));
  int models = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) models += read_all(bytes.substr(0, size));
  CHECK(models <= 4);  // between fields of the model itself that may be left out: opsets of other domains, the function
}

TEST_CASE("a model with a wrong bit") {
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

TEST_CASE("bombs are refused before they take memory") {
  for (const auto& bomb : onnx_bombs::all(8 << 20)) {
    CAPTURE(bomb.what);
    const auto failure = failure_of([&] { read(bomb.bytes); });
    if (!bomb.exhausts) continue;
    CHECK(failure.kind == 4);
    CHECK_MESSAGE(failure.message.find("the file is damaged or malicious") != std::string::npos, failure.message);
  }
}

TEST_CASE("many honest entries are read") {
  // What writers write at least: 20 bytes for a node.
  ModelParts parts;
  parts.graph.nodes.assign(100'000, {"Relu", {"x12345"}, {""}});
  CHECK(read(parts.bytes()).graph.nodes.size() == 100'000);
}
