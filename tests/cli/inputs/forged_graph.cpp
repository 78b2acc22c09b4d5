// Files with valid checksums: in one, the type of a node is not what its
// operator produces, one names a file to load.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"
#include "file/forged_file.hpp"

TEST_CASE("forged graph: every command that needs the operators refuses a wrong output type") {
  const Workplace place;
  place.write(
      "r.json",
      graph_json(
          R"({"name": "a", "op": "reshape", "inputs": ["x"], "attrs": {"shape": [-1, 2]}})"));
  REQUIRE(place.run({"build", "r.json", "-o", "r.tenon"}).code == 0);
  using Lie = std::pair<tenon::format::DType, const char*>;
  for (const auto& lie :
       {Lie(tenon::format::DType::i8, "int8"), {tenon::format::DType::f64, "float64"}}) {
    FileSections sections;
    sections.metadata = read_bytes(place.folder() / "r.tenon").substr(tenon::layout::header_size);
    sections.change([&](tenon::format::ModelT& model) {
      auto& output = model.graphs[0]->nodes->output_types[0];
      model.types.push_back(std::make_unique<tenon::format::TensorTypeT>(*model.types[output]));
      model.types.back()->dtype = lie.first;
      output = static_cast<std::uint32_t>(model.types.size()) - 1;
    });
    place.write("forged.tenon", sections.bytes());
    CHECK(place.run({"validate", "forged.tenon", "--file-only"}).code == 0);
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"validate", "forged.tenon"},
             {"run", "forged.tenon", "--input", "x=x.npy"},
             {"bench", "forged.tenon", "--shape", "x=2x4"},
             {"show", "forged.tenon", "--plan", "--shape", "x=2x4"}}) {
      CAPTURE(command_line(command));
      const auto result = place.run(command);
      CHECK(result.code == 4);
      CHECK(result.out == "");
      CHECK(result.err.ends_with("error: [reshape] node 'a': the file declares output 'a' as " +
                                 std::string(lie.second) +
                                 " [?, 2], but the operator returns float32 [?, 2]\n"
                                 "hint: the file is damaged or forged, or was written with another "
                                 "version of the operator; rebuild it\n"));
    }
  }
}

TEST_CASE(
    "forged graph: a graph cannot name a file to load code from; its plugin names are only hints "
    "for messages") {
  const Workplace place;
  const auto faults = std::filesystem::path(TENON_TEST_FAULTS);
  // if loaded, it would end the program silently
  const auto evil = (faults / "exit_at_load.so").string();
  place.write("p.json", graph_json(R"({"name": "a", "op": "plain", "inputs": ["x"]})"));
  REQUIRE(
      place.run({"--plugins", (faults / "plain.so").string(), "build", "p.json", "-o", "p.tenon"})
          .code == 0);
  for (const std::string& name :
       {evil, std::string("exit_at_load"), std::string("../exit_at_load.so")}) {
    CAPTURE(name);
    FileSections sections;
    sections.metadata = read_bytes(place.folder() / "p.tenon").substr(tenon::layout::header_size);
    sections.change([&](tenon::format::ModelT& model) {
      for (const auto& plugin : model.plugins) {
        model.strings.push_back(name);
        plugin->name = static_cast<std::uint32_t>(model.strings.size()) - 1;
      }
    });
    place.write("forged.tenon", sections.bytes());
    const auto run = place.run({"run", "forged.tenon", "--input", "x=x.npy"});
    CHECK(run.code == 3);
    CHECK(has(run.err, "no plugin has the operator 'plain.plain' (version 1 from plugin " + name));
    place.write("named.json",
                graph_json(R"({"name": "a", "op": ")" + name + R"(", "inputs": ["x"]})"));
    CHECK(place.run({"run", "named.json"}).code == 3);
    place.write("keyed.json", graph_json(R"({"name": "a", "op": "plain", "plugin": ")" + name +
                                         R"(", "inputs": ["x"]})"));
    CHECK(place.run({"run", "keyed.json"}).code == 4);
  }
}
