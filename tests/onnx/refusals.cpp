// Invalid models, and the error for each.
#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;

namespace {

struct Refusal {
  std::string what;
  std::string bytes;
  std::string sentence;  // part of the message
  std::string hint{};    // part of the hint
};

void check_all(const std::vector<Refusal>& refusals) {
  for (const auto& refusal : refusals) {
    CAPTURE(refusal.what);
    const auto failure = failure_of([&] { read(refusal.bytes); });
    CHECK(failure.kind == 4);
    CHECK(failure.message.starts_with("m.onnx: "));
    CHECK_MESSAGE(failure.message.find(refusal.sentence) != std::string::npos, failure.message);
    CHECK_MESSAGE(failure.hint.find(refusal.hint) != std::string::npos, failure.hint);
    CHECK_MESSAGE(!failure.message.ends_with('.'), failure.message);
  }
}

std::string with_graph(const std::string& graph) {
  return ModelFields().around(graph);
}
std::string with_node(const std::string& node) {
  return with_graph(message([&](auto& to) { to.add_message(1, node); }));
}
std::string with_attribute(const std::string& attribute) {
  return with_node(NodeFields{"Op", {}, {}, {attribute}}.bytes());
}
std::string with_tensor(const std::string& tensor) {
  return with_graph(message([&](auto& to) { to.add_message(5, tensor); }));
}
std::string with_input(const std::string& type) {
  return with_graph(message([&](auto& to) { to.add_message(11, value("x", type)); }));
}
std::string versions(std::int64_t ir, std::int64_t opset) {
  ModelFields model;
  model.ir = ir, model.opsets = {{"", opset}};
  return model.bytes();
}

}  // namespace

TEST_CASE("invalid models: other kinds of files") {
  const auto fields = [](std::initializer_list<int> numbers) {
    return message([&](auto& to) {
      for (const int field : numbers)
        field == 1   ? to.add_int64(1, 8)
        : field == 7 ? to.add_message(7, GraphFields().bytes())
                     : to.add_message(8, opset("", 17));
    });
  };
  check_all({
      {"empty", "", "the file is empty"},
      {"LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
       "a Git LFS pointer", "git lfs pull"},
      {"page", "\n  <!DOCTYPE html><html></html>", "a web page", "download the model itself"},
      {"page in capitals", "<HTML>", "a web page"},
      {"text", "hello world", "wire type"},
      {"json", "{\"tenon\": 1}", "wire type"},
      {"zeros", std::string(64, '\0'), "invalid field number 0"},
      {"no version", fields({7, 8}), "the model has no ir_version"},
      {"no graph", fields({1, 8}), "the model has no graph"},
      {"no opsets", fields({1, 7}), "the model has no opset_import"},
      {"two graphs", fields({1, 7, 7, 8}), "it has 2 graphs"},
      {"old IR", versions(2, 17), "has ONNX IR version 2, but this version of Tenon reads 3 to 14",
       "a newer version of ONNX"},
      {"new IR", versions(15, 17),
       "has ONNX IR version 15, but this version of Tenon reads 3 to 14",
       "a newer version of Tenon"},
      {"old opset", versions(8, 6),
       "the model uses ONNX opset 6, but this version of Tenon reads opsets 7 to 28",
       "version_converter"},
      {"new opset", versions(8, 29), "the model uses ONNX opset 29"},
  });
}

TEST_CASE("invalid models: malformed protobuf") {
  using namespace std::string_literals;
  check_all({
      {"cut length", "\x3a"s,
       "a varint extends past the end of its message: the file is truncated or damaged (the model "
       "at byte 0)"},
      {"endless number", "\x08"s + std::string(11, '\xff'), "a varint has more than 10 bytes"},
      {"length past the end", "\x3a\x05\x01"s, "field 7 has 5 bytes, but 1 is left"},
      {"length of 2^32 + 4", "\x3a\x84\x80\x80\x80\x10" + std::string(4, '\0'),
       "field 7 has 4294967300 bytes, but 4 are left"},
      {"length of 2^64 - 1", "\x3a"s + std::string(9, '\xff') + "\x01",
       "field 7 has 18446744073709551615 bytes"},
      {"field number above 2^29", "\x88\x80\x80\x80\x10\x01"s, "invalid field number 536870913"},
      {"group", "\x0b\x0c"s, "field 1 has wire type 3"},
      {"wire type 7", "\x0f"s, "field 1 has wire type 7"},
      {"cut float", with_attribute("\x15\x00\x00"s), "field 2 has 4 bytes, but 2 are left"},
      {"text for a number",
       message([](auto& to) { to.add_string(1, "8"); }) + ModelFields().bytes(),
       "ir_version (field 1) has the wrong wire type (bytes)"},
      {"number for a graph",
       message([](auto& to) { to.add_int64(7, 8); }) + ModelFields().around(""), "it has 2 graphs"},
      {"number for a text", with_node(message([](auto& to) { to.add_int64(4, 8); })),
       "op_type (field 4) has the wrong wire type (an integer)"},
      {"32 bits for a number",
       with_attribute("\x0a\x01"s + "a\xa0\x01\x02\x1d" + std::string(4, '\0')),
       "i (field 3) has the wrong wire type (32 bits)"},
      {"packed floats of 5 bytes",
       with_attribute(attribute("a", 6, "\x3a\x05"s + std::string(5, '\0'))),
       "not a multiple of 4"},
      {"packed number without an end", with_attribute(attribute("a", 7, "\x42\x02\x01\x80"s)),
       "a varint extends past the end"},
  });
}

TEST_CASE("invalid models: inconsistent nodes, attributes and names") {
  const auto reference = message([](auto& to) { to.add_string(21, "k"); });
  const auto number = [](std::uint32_t field) {
    return message([&](auto& to) { to.add_int64(field, 5); });
  };
  GraphFields twice;
  twice.nodes = {{"A", {}, {"y"}, {}, "one"}, {"B", {}, {"y"}, {}, "two"}};
  GraphFields over_input;
  over_input.nodes = {{"A", {}, {"x"}}}, over_input.inputs = {value("x")};
  GraphFields over_initializer;
  over_initializer.nodes = {{"A", {}, {"w"}}},
  over_initializer.initializers = {tensor("w", 1, {0}, "")};
  GraphFields two_inputs;
  two_inputs.inputs = {value("x"), value("x")};
  GraphFields two_tensors;
  two_tensors.initializers = {tensor("w", 1, {0}, ""), tensor("w", 1, {0}, "")};
  GraphFields nameless;
  nameless.initializers = {tensor("", 1, {0}, "")};
  std::vector<std::string> many(20, int_attribute("same", 1));
  check_all({
      {"no operator", with_node(message([](auto& to) { to.add_string(3, "n1"); })),
       "node 'n1' has no op_type"},
      {"name not UTF-8", with_node(NodeFields{"Op", {"a\xff"}}.bytes()),
       "input 'a\\xff' is not valid UTF-8 (a node at byte"},
      {"dimension not UTF-8", with_input(tensor_type(1, {{-1, "\xc0\x80"}})),
       "dim_param '\\xc0\\x80' is not valid UTF-8"},
      {"no name", with_attribute(attribute("", 2, "")), "it has no name"},
      {"no type", with_attribute(attribute("axis", 0, number(3))), "attribute 'axis' has no type"},
      {"unknown type", with_attribute(attribute("axis", 15, "")), "unknown attribute type 15"},
      {"another type", with_attribute(attribute("axis", 1, number(3))),
       "the value of attribute 'axis' does not match its type"},
      {"no graph", with_attribute(attribute("body", 5, "")), "attribute 'body' has no value"},
      {"two tensors",
       with_attribute(message_attribute("t", 4, 5, tensor("", 1, {0}, "")) +
                      message([](auto& to) { to.add_message(5, tensor("", 1, {0}, "")); })),
       "duplicate field t"},
      {"reference outside of functions", with_attribute(attribute("axis", 2, reference)),
       "refers to function attribute 'k' outside of a function"},
      {"same attributes",
       with_node(NodeFields{"Op", {}, {}, {int_attribute("a", 1), int_attribute("a", 2)}}.bytes()),
       "duplicate attribute 'a'"},
      {"same attributes among many", with_node(NodeFields{"Op", {}, {}, many}.bytes()),
       "duplicate attribute 'same'"},
      {"same outputs", with_graph(twice.bytes()),
       "output 'y' of node 'two' (B) reuses the name of an earlier value (the graph at byte"},
      {"an input's name", with_graph(over_input.bytes()),
       "output 'x' of node '' (A) reuses the name"},
      {"an initializer's name", with_graph(over_initializer.bytes()),
       "output 'w' of node '' (A) reuses the name"},
      {"same inputs", with_graph(two_inputs.bytes()), "duplicate input 'x'"},
      {"same initializers", with_graph(two_tensors.bytes()), "duplicate initializer 'w'"},
      {"initializer without a name", with_graph(nameless.bytes()), "an initializer has no name"},
      {"input without a name",
       with_graph(message([](auto& to) { to.add_message(11, std::string()); })),
       "it has no name (an input at byte"},
  });
}

TEST_CASE("invalid models: inconsistent tensors") {
  const auto ints = message([](auto& to) { to.add_int64(7, 5); });
  const auto segment = message([](auto& to) { to.add_message(3, std::string()); });
  const auto location = message([](auto& to) { to.add_int32(14, 1); });
  const auto of = [](const std::string& text) { return raw_data(text); };
  check_all({
      {"no dtype", with_tensor(tensor("w", 0, {1}, of("1234"))),
       "tensor 'w' has unknown data_type 0"},
      {"unknown dtype", with_tensor(tensor("w", 29, {1}, of("1234"))),
       "tensor 'w' has unknown data_type 29"},
      {"short", with_tensor(tensor("w", 1, {2}, of("1234"))),
       "tensor 'w', float32, has 4 bytes of raw data, but 2 elements need 8"},
      {"long", with_tensor(tensor("w", 22, {3}, of("123"))),
       "tensor 'w', int4, has 3 bytes of raw data, but 3 elements need 2"},
      {"none", with_tensor(tensor("w", 1, {2}, "")),
       "tensor 'w', float32, has no data for its 2 elements"},
      {"negative", with_tensor(tensor("w", 1, {-2}, "")), "a dimension is -2"},
      {"overflow", with_tensor(tensor("w", 1, {1LL << 32, 1LL << 32}, "")),
       "the number of elements overflows 64 bits"},
      {"overflow, but for a zero", with_tensor(tensor("w", 1, {0, 1LL << 32, 1LL << 32}, "")),
       "the number of elements overflows 64 bits"},
      {"bytes overflow", with_tensor(tensor("w", 11, {1LL << 61}, "")), "overflows 64 bits"},
      {"two places", with_tensor(tensor("w", 7, {1}, of("12345678") + ints)),
       "tensor 'w' has data in more than one field"},
      {"another field", with_tensor(tensor("w", 1, {1}, ints)),
       "tensor 'w', float32, has its data in a field for another element type"},
      {"raw strings", with_tensor(tensor("w", 8, {1}, of("a"))),
       "tensor 'w', string, has raw data, which is invalid for strings"},
      {"strings", with_tensor(tensor("w", 8, {2}, message([](auto& to) { to.add_bytes(6, "a"); }))),
       "has 1 strings, but its dimensions need 2"},
      {"strings not UTF-8",
       with_tensor(tensor("w", 8, {1}, message([](auto& to) { to.add_bytes(6, "\xff"); }))),
       "is not valid UTF-8"},
      {"segment", with_tensor(tensor("w", 1, {1}, segment)), "it is a segment of a tensor"},
      {"nowhere", with_tensor(tensor("w", 1, {1}, location)),
       "has external data without a location"},
      {"nameless file", with_tensor(tensor("w", 1, {1}, external_data({{"offset", "0"}}))),
       "has external data without a location"},
      {"hexadecimal",
       with_tensor(tensor("w", 1, {1}, external_data({{"location", "f"}, {"offset", "0x10"}}))),
       "the offset of its external data is '0x10'"},
      {"negative offset",
       with_tensor(tensor("w", 1, {1}, external_data({{"location", "f"}, {"offset", "-4"}}))),
       "the offset of its external data is '-4'"},
      {"long number",
       with_tensor(tensor("w", 1, {1},
                          external_data({{"location", "f"}, {"length", "99999999999999999999"}}))),
       "not a number of bytes"},
      {"length",
       with_tensor(tensor("w", 1, {1}, external_data({{"location", "f"}, {"length", "5"}}))),
       "has 5 bytes of external data, but 1 elements need 4"},
  });
  const auto sparse_of = [](const std::string& tensor) {
    return with_graph(message([&](auto& to) { to.add_message(15, tensor); }));
  };
  const auto values = tensor("s", 1, {2}, of("12345678")),
             indices = tensor("", 7, {2}, of(std::string(16, '\0')));
  check_all({
      {"no indices",
       sparse_of(message([&](auto& to) { to.add_message(1, values), to.add_int64(3, 9); })),
       "has values but no indices"},
      {"too many", sparse_of(sparse(values, indices, {1})),
       "sparse tensor 's' has 2 values for 1 elements"},
      {"values of two dimensions",
       sparse_of(sparse(tensor("s", 1, {1, 2}, of("12345678")), indices, {9})),
       "have 2 dimensions instead of 1"},
      {"indices of int32", sparse_of(sparse(values, tensor("", 6, {2}, of("12345678")), {9})),
       "are int32 instead of int64"},
      {"fewer indices", sparse_of(sparse(values, tensor("", 7, {1}, of("12345678")), {9})),
       "does not match its 2 values in 1 dimensions"},
  });
}

TEST_CASE("invalid models: types, and excessive nesting") {
  std::string type = tensor_type(1, {});
  for (int i = 0; i < 100; ++i)
    type = message([&](auto& to) {
      to.add_message(4, message([&](auto& inner) { inner.add_message(1, type); }));
    });
  GraphFields graph;
  std::string nested = graph.bytes();
  for (int i = 0; i < 5000; ++i)
    nested = message([&](auto& to) {
      to.add_message(1, NodeFields{"If", {}, {}, {message_attribute("b", 5, 6, nested)}}.bytes());
    });
  const auto both =
      tensor_type(1, {}) + message([](auto& to) { to.add_message(4, std::string()); });
  check_all({
      {"deep type", with_input(type), "types are nested more than 16 levels deep"},
      {"deep graphs", with_graph(nested), "graphs are nested more than 32 levels deep"},
      {"two kinds", with_input(both), "it has two kinds at once"},
      {"element type", with_input(tensor_type(77, {})), "unknown element type: elem_type 77"},
      {"dimension", with_input(message([](auto& to) {
         to.add_message(1, message([](auto& inner) {
                          inner.add_message(2, message([](auto& shape) {
                                              shape.add_message(1, message([](auto& dim) {
                                                                  dim.add_int64(1, -2);
                                                                }));
                                            }));
                        }));
       })),
       "a dimension is -2"},
  });
}

TEST_CASE("invalid models: duplicate and recursive functions") {
  const auto with = [](std::vector<FunctionFields> functions) {
    ModelFields model;
    model.functions = std::move(functions);
    return model.bytes();
  };
  const auto calls = [](const std::string& name, const std::string& callee) {
    return FunctionFields{"f", name, {"x"}, {"y"}, {}, {{callee, {"x"}, {"y"}, {}, "", "f"}}};
  };
  GraphFields branch;
  branch.nodes = {{"A", {}, {}, {}, "", "f"}};
  const FunctionFields inside{
      "f", "A", {}, {}, {}, {{"If", {}, {}, {message_attribute("b", 5, 6, branch.bytes())}}}};
  std::vector<FunctionFields> chain, ring;
  for (int i = 0; i < 3000; ++i) chain.push_back(calls(std::to_string(i), std::to_string(i + 1)));
  ring = chain;
  ring.back().nodes[0].type = "0";
  CHECK(failure_of([&] { read(with(chain)); }).kind == 0);
  auto overloaded = calls("A", "A");
  overloaded.overload = "1";  // calls f::A, which is another overload
  CHECK(failure_of([&] { read(with({overloaded, calls("A", "B")})); }).kind == 0);
  auto old_opset = calls("A", "B");
  check_all({
      {"itself", with({calls("A", "A")}), "recursive functions: 'f::A' calls 'f::A'"},
      {"each other", with({calls("A", "B"), calls("B", "A")}), "'f::A' calls 'f::B' calls 'f::A'"},
      {"from a branch", with({inside}), "'f::A' calls 'f::A'"},
      {"a ring of 3000", with(ring), "calls ... calls '"},
      {"twice", with({calls("A", "B"), calls("A", "C")}), "duplicate function 'f::A'"},
      {"no name", with({calls("", "B")}), "it has no name (a function at byte"},
      {"same inputs", with({FunctionFields{"f", "A", {"x", "x"}}}),
       "function 'A' has duplicate input 'x'"},
      {"same attributes",
       with({FunctionFields{"f", "A", {}, {}, {"k"}, {}, {int_attribute("k", 1)}}}),
       "function 'A' has duplicate attribute 'k'"},
  });
}
