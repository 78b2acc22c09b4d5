// tenon show of an ONNX model.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../../onnx/onnx_bytes.hpp"
#include "check_says.hpp"
#include "cli/workplace.hpp"

TEST_CASE("show: an ONNX model") {
  Workplace at;
  auto fields = onnx_bytes::sample();
  fields.graph.name = "my\x1b[31mnet";
  at.write("m.onnx", fields.bytes());
  const auto text = at.run({"show", "m.onnx"});
  CHECK(text.code == 3);
  CHECK(text.err.empty());
  CHECK(text.out.substr(0, text.out.find("missing")) ==
        "model     my\\x1b[31mnet            ONNX, IR 8, by tests 1.0\n"
        "opset     ai.onnx                  17\n"
        "opset     my.ops                   2\n"
        "opset     local                    1\n"
        "input     x                        float32 [N, 3, ?]\n"
        "input     flag                     bool []\n"
        "default   w                        float32 [2]\n"
        "output    t                        float32 [2]\n"
        "output    z                        float32 [2]\n"
        "weights   3 initializers, 1 of them sparse, 72 bytes\n"
        "nodes     4\n"
        "operator  Add                      1 node\n"
        "operator  Conv                     1 node\n"
        "operator  Identity                 2 nodes\n"
        "operator  If                       1 node\n"
        "operator  local::Twice             1 node, a function of the model\n"
        "operator  my.ops::Odd              1 node\n"
        "function  local::Twice             (a) -> (b), 1 node\n");
  const auto json = nlohmann::json::parse(at.run({"show", "m.onnx", "--json"}).out);
  CHECK(json["format"] == "onnx");
  CHECK(json["inputs"][0]["shape"] == nlohmann::json::parse(R"(["N", 3, null])"));
  CHECK(json["operators"].size() == 6);
  CHECK(json["operators"][4]["name"] == "local::Twice");
  CHECK(json["functions"][0]["attributes"] == nlohmann::json::parse(R"(["k", "n"])"));
}

TEST_CASE("show: the graph embedded in an exported model is shown by its size") {
  Workplace at;
  at.write("net.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
                           "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}],
                           "outputs": {"y": "y"}})");
  CHECK(at.run({"export", "net.json", "-o", "net.onnx"}).code == 0);
  const auto text = at.run({"show", "net.onnx"}).out;
  CHECK(text.find("metadata  tenon.graph              ") != std::string::npos);
  CHECK(text.find(" bytes\nmetadata  tenon.digest ") != std::string::npos);
  CHECK(text.size() < 700);
}

TEST_CASE("show: lists everything missing for an ONNX model before anything runs") {
  Workplace at;
  onnx_bytes::ModelFields fields;
  const onnx_bytes::FunctionFields unused{
      "local", "Unused", {"a"}, {"b"}, {}, {{"Nowhere", {"a"}, {"b"}, {}, "", "my.ops"}}};
  auto used = unused;
  used.name = "Used", used.nodes = {{"Inside", {"a"}, {"c"}, {}, "deep", "my.ops"},
                                    {"Odd", {"c"}, {"b"}, {}, "", "my.ops"}};
  fields.functions = {unused, used};
  fields.graph.nodes = {
      {"Odd", {"x"}, {"a"}, {}, "first", "my.ops"},
      {"Rellu", {"a"}, {"b"}, {}, "", "my.ops"},
      {"Gelu", {"b"}, {"c"}},
      {"Used", {"c"}, {"d"}, {}, "", "local"},
      {"LeakyRelu", {"d"}, {"y"}, {onnx_bytes::int_attribute("colour", 1)}, "", "my.ops"}};
  fields.graph.inputs = {onnx_bytes::value("x")};
  fields.graph.outputs = {onnx_bytes::value("y")};
  fields.opsets = {{"", 17}, {"my.ops", 1}, {"local", 1}};
  at.write("m.onnx", fields.bytes());
  const auto text = at.run({"show", "m.onnx"});
  CHECK(text.code == 3);
  const auto missing = text.out.substr(text.out.find("missing "));
  CHECK(
      missing.starts_with("missing   Gelu                     1 node without a name; tenon.gelu "
                          "supports it from version 20 on, but this is version 17\n"
                          "missing   my.ops::Inside           1 node 'deep'\n"
                          "missing   my.ops::LeakyRelu        1 node without a name; "
                          "tenon.leaky_relu has the same name, but has no parameter 'colour'"));
  CHECK(missing.find("my.ops::Odd              2 nodes, the first 'first'") != std::string::npos);
  CHECK(missing.find(
            "my.ops::Rellu            1 node without a name; similar operator: relu\nsearched  ") !=
        std::string::npos);
  const auto json = nlohmann::json::parse(at.run({"show", "m.onnx", "--json"}).out);
  REQUIRE(json["missing"].size() == 5);
  CHECK(json["missing"][3]["count"] == 2);
  CHECK(json["missing"][4]["near"] == nlohmann::json::parse(R"(["relu"])"));
  const auto run = at.run({"run", "m.onnx", "--shape", "x=2"});
  CHECK(run.code == 3);
  check_says(run.err,
             {"Gelu", "my.ops::Inside", "my.ops::LeakyRelu", "my.ops::Odd", "my.ops::Rellu"});
}

TEST_CASE("show: reports files that are not models, and options that models do not support") {
  Workplace at;
  at.write("page.onnx", "<!DOCTYPE html>");
  at.write("m.onnx", onnx_bytes::sample().bytes());
  const auto page = at.run({"show", "page.onnx"});
  CHECK(page.code == 4);
  check_says(page.err, {"error: page.onnx:", "a web page, not an ONNX model",
                        "\nhint:", "download the model itself"});
}

TEST_CASE("import: an ONNX model runs, shows its plan and becomes a .tenon file") {
  Workplace at;
  onnx_bytes::ModelFields fields;
  fields.graph.nodes = {{"Neg", {"x"}, {"n"}}, {"Odd", {"n"}, {"y"}, {}, "", "my.ops"}};
  fields.graph.inputs = {onnx_bytes::value("x")};
  fields.graph.outputs = {onnx_bytes::value("y")};
  fields.opsets.emplace_back("my.ops", 1);
  at.write("m.onnx", fields.bytes());
  const auto missing = at.run({"run", "m.onnx", "--shape", "x=2"});
  CHECK(missing.code == 3);
  CHECK(missing.err.find("my.ops::Odd (1 node") != std::string::npos);
  CHECK(missing.err.find("tenon import --map DOMAIN::TYPE=OPERATOR") != std::string::npos);
  const auto made =
      at.run({"import", "m.onnx", "-o", "m.tenon", "--map", "my.ops::Odd=relu", "--fix", "x=-3,4"});
  CHECK(made.err == "note: input 'x' is fixed\nwrote m.tenon: 0 nodes, 0 operators\n");
  CHECK(made.code == 0);
  CHECK(at.run({"run", "m.tenon"}).out.find("3 0") != std::string::npos);
  fields.graph.nodes[1] = {"Relu", {"n"}, {"y"}};
  at.write("m.onnx", fields.bytes());
  CHECK(at.run({"show", "m.onnx", "--plan"}).out.find("relu") != std::string::npos);
}

TEST_CASE("export: a graph becomes an ONNX model of the requested opset, and a graph again") {
  Workplace at;
  at.write("net.json",
           R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]}},
          "nodes": [{"name": "a", "op": "relu", "inputs": ["x"]}],
                           "outputs": {"y": "a"}})");
  CHECK(at.run({"export", "net.json"}).code == 2);
  CHECK(at.run({"export", "net.json", "-o", "net.tenon"})
            .err.find("--output is 'net.tenon' but must end in .onnx") != std::string::npos);
  const auto made = at.run({"export", "net.json", "-o", "net.onnx", "--opset", "18"});
  CHECK(made.err == "wrote net.onnx: 1 node of opset 18\n");
  CHECK(at.run({"show", "net.onnx"}).out.find("Relu") != std::string::npos);
  CHECK(at.run({"import", "net.onnx", "-o", "again.tenon"}).code == 0);
  CHECK(at.run({"show", "again.tenon", "--json"}).out ==
        at.run({"show", "net.json", "--json"}).out);
}

TEST_CASE("show: reports another reason than a missing operator why a model cannot run") {
  Workplace at;
  onnx_bytes::ModelFields fields;
  const auto input = [](const char* name, int type, std::int64_t rows, std::int64_t columns) {
    return onnx_bytes::value(name, onnx_bytes::tensor_type(type, {{rows}, {columns}}));
  };
  fields.graph.nodes = {{"MatMul", {"a", "b"}, {"y"}, {}, "product"}};
  fields.graph.inputs = {input("a", 1, 5, 3), input("b", 1, 4, 2)};
  fields.graph.outputs = {onnx_bytes::value("y")};
  fields.opsets.emplace_back("my.ops", 1);
  at.write("m.onnx", fields.bytes());
  const std::string sentence =
      "MatMul node 'product': [matmul] node 'product': a has 3 columns but b has 4 rows";
  const auto shown = at.run({"show", "m.onnx"});
  CHECK(shown.code == 4);
  check_says(shown.out, {"refused"});
  CHECK_MESSAGE(shown.out.find(sentence) != std::string::npos, shown.out);
  const auto json = nlohmann::json::parse(at.run({"show", "m.onnx", "--json"}).out);
  CHECK(json["refused"]["message"].get<std::string>().find(sentence) != std::string::npos);
  const auto validated = at.run({"validate", "m.onnx"});
  CHECK(validated.code == 4);
  CHECK(validated.err.find(sentence) != std::string::npos);

  fields.graph.nodes = {{"Odd", {"a"}, {"y"}, {}, "", "my.ops"}};
  fields.graph.inputs = {onnx_bytes::value(
      "a", onnx_bytes::tensor_type(1, {{1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}}))};
  at.write("m.onnx", fields.bytes());
  const auto both = at.run({"show", "m.onnx"});
  CHECK(both.code == 3);
  CHECK(both.out.find("missing   my.ops::Odd") != std::string::npos);
  CHECK(both.out.find("input 'a' has 9 dimensions; at most 8 are supported") != std::string::npos);

  fields.graph.nodes = {{"Neg", {"a"}, {"y"}}};
  fields.graph.inputs = {input("a", 1, 5, 3)};
  at.write("m.onnx", fields.bytes());
  CHECK(at.run({"show", "m.onnx"}).code == 0);
  CHECK(nlohmann::json::parse(at.run({"show", "m.onnx", "--json"}).out)["refused"].is_null());
  CHECK(at.run({"validate", "m.onnx"}).code == 0);
}

TEST_CASE("run: inputs and outputs may be named as in the ONNX model") {
  Workplace at;
  onnx_bytes::ModelFields fields;
  fields.graph.nodes = {{"Neg", {"x:0"}, {"y:0"}}};
  fields.graph.inputs = {onnx_bytes::value("x:0", onnx_bytes::tensor_type(1, {{-1, "n"}}))};
  fields.graph.outputs = {onnx_bytes::value("y:0", onnx_bytes::tensor_type(1, {{-1, "n"}}))};
  at.write("m.onnx", fields.bytes());
  const auto imported = at.run({"import", "m.onnx", "-o", "m.tenon"});
  check_says(imported.err,
             {"note: input 'x:0' is named 'x_0'", "note: output 'y:0' is named 'y_0'"});
  for (const auto* name : {"x:0", "x_0"})
    for (const auto* graph : {"m.onnx", "m.tenon"}) {
      CHECK(at.run({"run", graph, "--shape", std::string(name) + "=2", "--output", "y:0=y.npy"})
                .code == 0);
      CHECK(at.run({"run", graph, "--input", std::string(name) + "=y.npy", "--output", "y_0=z.npy"})
                .code == 0);
      CHECK(at.run({"run", graph, "--input", std::string(name) + "=y.npy", "--batch", "1",
                    "--output", "y:0=z.npy"})
                .code == 0);
      CHECK(at.run({"show", graph, "--plan", "--shape", std::string(name) + "=2"}).code == 0);
    }
  fields.graph.nodes = {
      {"Mul", {"x:0", "w:0"}, {"y:0"}},
      {"ReduceSum", {"y:0"}, {"loss:0"}, {onnx_bytes::int_attribute("keepdims", 0)}}};
  fields.graph.outputs.push_back(onnx_bytes::value("loss:0", onnx_bytes::tensor_type(1, {})));
  fields.graph.initializers = {onnx_bytes::tensor(
      "w:0", 1, {1}, onnx_bytes::raw_data(onnx_bytes::raw(std::vector<float>{2})))};
  at.write("loss.onnx", fields.bytes());
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"train", "loss.onnx", "--data", "x:0=y.npy", "--loss", "loss:0",
                                 "-o", "t.tenon"},
        {"test", "loss.onnx", "--data", "x:0=y.npy", "--loss", "loss:0"},
        {"show", "loss.onnx", "--memory", "--shape", "x:0=2", "--loss", "loss:0"},
        {"run", "loss.onnx", "--input", "x:0=y.npy", "--gradient", "loss:0"},
        {"triton", "loss.onnx", "--serve", "y:0", "-o", "served"}}) {
    const auto done = at.run(call);
    CHECK_MESSAGE(done.code == 0, call[0], done.err);
  }
  CHECK(at.run({"import", "m.onnx", "-o", "n.tenon", "--shape", "x_0=3"}).code == 0);
  CHECK(at.run({"import", "m.onnx", "-o", "n.tenon", "--shape", "x:0=3"}).code == 0);
  CHECK(at.run({"run", "m.onnx", "--shape", "x:1=2"}).err.find("the graph has no input 'x:1'") !=
        std::string::npos);
}
