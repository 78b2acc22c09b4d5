// tenon show of an ONNX model.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../onnx/onnx_bytes.hpp"
#include "cli/workplace.hpp"

TEST_CASE("an ONNX model is shown") {
  Workplace at;
  auto parts = onnx_bytes::sample();
  parts.graph.name = "my\x1b[31mnet";
  at.write("m.onnx", parts.bytes());
  const auto text = at.run({"show", "m.onnx"});
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(text.out ==
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

TEST_CASE("what is no model, and what cannot be shown of one, is said") {
  Workplace at;
  at.write("page.onnx", "<!DOCTYPE html>");
  at.write("m.onnx", onnx_bytes::sample().bytes());
  const auto page = at.run({"show", "page.onnx"});
  CHECK(page.code == 4);
  CHECK(page.err ==
        "error: page.onnx: the file is a web page, and no ONNX model\n"
        "hint: what was downloaded is a page about the model, or an error; download the model itself\n");
  const auto plan = at.run({"show", "m.onnx", "--plan"});
  CHECK(plan.code == 2);
  CHECK(plan.err.starts_with("error: --plan is for graphs, and m.onnx is an ONNX model\n"));
}
