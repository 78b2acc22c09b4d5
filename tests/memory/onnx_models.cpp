// ONNX models that are small as files and large in memory: reading may use 8 times the file size
// plus 64 MiB, including the bytes of the file.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "../onnx/onnx_bombs.hpp"
#include "memory_limit.hpp"

using namespace onnx_bytes;

namespace {

enum class Reads { yes, no, either };

void read_within_limit(const std::string& bytes, Reads reads) {
  const Memory memory(bytes);
  const auto file = memory.file();
  const MemoryLimit limit(7 * static_cast<std::int64_t>(bytes.size()) + (64 << 20));
  const auto failure = failure_of([&] { tenon::onnx::read_model(file); });
  CHECK_MESSAGE(
      ((failure.kind == 0 && reads != Reads::no) || (failure.kind == 4 && reads != Reads::yes)),
      failure.message);
}

}  // namespace

TEST_CASE("memory: ONNX decompression bombs do not allocate memory" *
          doctest::skip(!memory_can_be_limited)) {
  for (const auto& bomb : onnx_bombs::all(20 << 20)) {
    CAPTURE(bomb.what);
    read_within_limit(bomb.bytes, bomb.exhausts ? Reads::no : Reads::either);
  }
}

TEST_CASE("memory: the largest readable ONNX models stay within the limit" *
          doctest::skip(!memory_can_be_limited)) {
  const auto ints =
      attribute("a", 7, message([](auto& to) { to.add_bytes(8, std::string(8 << 20, '\1')); }));
  ModelFields fields;
  fields.graph.nodes = {{"Op", {}, {}, {ints}}};
  read_within_limit(fields.bytes(), Reads::yes);
  fields.graph.nodes.assign(200'000, {"Relu", {"x12345"}, {""}});
  read_within_limit(fields.bytes(), Reads::yes);
  fields.graph.nodes.clear();
  for (int i = 0; i < 100'000; ++i)
    fields.functions.push_back(
        {"f", std::to_string(i), {}, {}, {}, {{std::to_string(i + 1), {}, {}, {}, "", "f"}}});
  read_within_limit(fields.bytes(), Reads::yes);
}
