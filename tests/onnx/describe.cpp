// The description of a model, and which files are recognized as models.
#include <doctest/doctest.h>

#include <tenon/host/onnx.hpp>

#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;
namespace fs = std::filesystem;

TEST_CASE("describe: all fields of a model") {
  const TemporaryFolder folder;
  auto fields = sample();
  fields.graph.initializers.push_back(
      tensor("far", 10, {3}, external_data({{"location", "nowhere.bin"}})));
  write_bytes(folder / "m.onnx", fields.bytes());
  const auto info = tenon::onnx::describe(folder / "m.onnx");
  CHECK(info.graph == "graph");
  CHECK(info.ir_version == 8);
  CHECK(info.producer == "tests");
  CHECK(info.opsets.size() == 3);
  REQUIRE(info.inputs.size() == 2);
  CHECK(info.inputs[0].type == "float32 [N, 3, ?]");
  REQUIRE(info.inputs[0].shape.size() == 3);
  CHECK(info.inputs[0].shape[0].name == "N");
  CHECK(info.inputs[0].shape[1].size == 3);
  CHECK(info.inputs[0].bytes == -1);
  CHECK(info.inputs[1].type == "bool []");
  CHECK(info.inputs[1].bytes == 1);
  REQUIRE(info.defaults.size() == 1);
  CHECK(info.defaults[0].name == "w");
  CHECK(info.outputs.size() == 2);
  CHECK(info.nodes == 4);
  CHECK(info.initializers == 3);
  CHECK(info.sparse_initializers == 1);
  CHECK(info.initializer_bytes == 8 + 24 + 6 + 8 + 32);
  CHECK(info.external_initializers == 1);
  CHECK(info.external_bytes == 6);
  std::string operators;
  for (const auto& op : info.operators)
    operators += fmt::format("{} {} v{}{}; ", op.full_name(), op.count, op.version,
                             op.function ? " function" : "");
  CHECK(operators ==
        "Add 1 v17; Conv 1 v17; Identity 2 v17; If 1 v17; local::Twice 1 v1 function; my.ops::Odd "
        "1 v2; ");
  REQUIRE(info.functions.size() == 1);
  CHECK(info.functions[0].attributes == std::vector<std::string>{"k", "n"});
}

TEST_CASE("describe: before IR 4, initializers listed as inputs are constants") {
  const TemporaryFolder folder;
  auto fields = sample();
  fields.ir = 3;
  write_bytes(folder / "m.onnx", fields.bytes());
  const auto info = tenon::onnx::describe(folder / "m.onnx");
  CHECK(info.inputs.size() == 2);
  CHECK(info.defaults.empty());
}

TEST_CASE("describe: type names") {
  const TemporaryFolder folder;
  const auto element = [](std::uint32_t kind, const std::string& type) {
    return message([&](auto& to) {
      to.add_message(kind, message([&](auto& inner) { inner.add_message(1, type); }));
    });
  };
  ModelFields fields;
  const auto unranked = message(
      [](auto& to) { to.add_message(1, message([](auto& type) { type.add_int32(1, 16); })); });
  const auto sparse_type = message([](auto& to) {
    to.add_message(
        8, message([](auto& type) { type.add_int32(1, 1), type.add_message(2, std::string()); }));
  });
  const auto map = message([](auto& to) {
    to.add_message(5, message([](auto& inner) {
                     inner.add_int32(1, 7), inner.add_message(2, tensor_type(8, {}));
                   }));
  });
  fields.graph.inputs = {value("0", unranked),
                         value("1", element(4, tensor_type(7, {}))),
                         value("2", element(9, element(4, unranked))),
                         value("3", sparse_type),
                         value("4", map),
                         value("5", ""),
                         value("6", message([](auto& to) { to.add_message(7, std::string()); })),
                         value("7", tensor_type(22, {{3}}))};
  write_bytes(folder / "m.onnx", fields.bytes());
  const auto info = tenon::onnx::describe(folder / "m.onnx");
  const char* const texts[] = {"bfloat16 [...]",
                               "sequence of int64 []",
                               "optional sequence of bfloat16 [...]",
                               "sparse float32 []",
                               "map from int64 to string []",
                               "?",
                               "opaque",
                               "int4 [3]"};
  REQUIRE(info.inputs.size() == std::size(texts));
  for (std::size_t i = 0; i < std::size(texts); ++i) CHECK(info.inputs[i].type == texts[i]);
  CHECK(info.inputs[7].bytes == 2);
}

TEST_CASE("is_model: detects models by content or by file name") {
  const TemporaryFolder folder;
  const auto is_model = [&](const char* name, const std::string& bytes) {
    write_bytes(folder / name, bytes);
    return tenon::onnx::is_model(folder / name);
  };
  CHECK(is_model("a.onnx", sample().bytes()));
  CHECK(is_model("a.bin", sample().bytes()));
  CHECK(is_model("b.onnx", "<html>"));
  CHECK(is_model("c.onnx", ""));
  CHECK(!is_model("d.onnx", "\x89TENON\r\n" + std::string(60, '\0')));
  CHECK(!is_model("e.json", "{\"tenon\": 1}"));
  CHECK(!is_model("f.json", "\n \t{}"));
  CHECK(!is_model("g.tenon", ""));
  CHECK(failure_of([&] { tenon::onnx::is_model(folder / "none.onnx"); }).kind == 4);
}

// Debian's libonnx-testdata, if installed: 1,072 models from 2017 to 2022, written by other
// programs.
TEST_CASE("describe: reads the models of ONNX's own tests" *
          doctest::skip(!fs::exists("/usr/share/libonnx-testdata"))) {
  int models = 0;
  for (const auto& entry : fs::recursive_directory_iterator("/usr/share/libonnx-testdata")) {
    if (entry.path().extension() != ".onnx") continue;
    const auto failure = failure_of([&] { tenon::onnx::describe(entry.path()); });
    CHECK_MESSAGE(
        (failure.kind == 0 ||
         failure.message.find("this version of Tenon reads opsets 7 to 28") != std::string::npos),
        failure.message);
    models += failure.kind == 0;
  }
  CHECK(models > 800);
}
