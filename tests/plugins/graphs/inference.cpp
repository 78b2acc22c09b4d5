// Shape inference in both directions. Shapes are written as the program prints them.
#include <doctest/doctest.h>

#include "plugins/check.hpp"

namespace {
using Shapes = std::vector<tenon::Shape>;
const tenon::Shape unranked;  // nothing is known
constexpr auto any = tenon::unknown;

struct InferenceRow {
  std::string plugin, op;
  tenon::Attributes attributes;
  Shapes inputs, outputs;  ///< known before
  std::string after;       ///< inputs -> outputs
};

std::vector<tenon::TensorType> types(const Shapes& shapes, tenon::DType dtype) {
  std::vector<tenon::TensorType> result;
  for (const auto& shape : shapes) result.push_back({shape, dtype});
  return result;
}

std::string text(const std::vector<tenon::TensorType>& types) {
  std::string result;
  for (const auto& type : types)
    result += (result.empty() ? "" : " ") + tenon::to_string(type.shape);
  return result;
}

/// Infers to a fixed point, as graphs do.
std::string inferred(const InferenceRow& row) {
  const PluginOperator kernel(row.plugin, row.op, row.attributes);
  auto known =
      kernel.infer(types(row.inputs, tenon::f32), types(row.outputs, tenon::unknown_dtype));
  for (int round = 0; round < 3; ++round) known = kernel.infer(known.inputs, known.outputs);
  return text(known.inputs) + " -> " + text(known.outputs);
}
}  // namespace

TEST_CASE("shapes are inferred from each other, with unknown sizes and ranks") {
  const InferenceRow rows[] = {
      {"elementwise", "exp", {}, {{any, 3}}, {unranked}, "[?, 3] -> [?, 3]"},
      {"elementwise", "add", {}, {{2, 1}, {any}}, {unranked}, "[2, 1] [?] -> [2, ?]"},
      {"elementwise", "cast", {{"dtype", "float32"}}, {unranked}, {{4, any}}, "[4, ?] -> [4, ?]"},
      {"reduce", "sum", {}, {unranked}, {unranked}, "[...] -> []"},
      {"reduce", "sum", {{"keepdims", true}}, {unranked}, {unranked}, "[...] -> [...]"},
      {"reduce", "sum", {{"axis", Integers{1}}}, {{any, 3}}, {unranked}, "[?, 3] -> [?]"},
      {"reduce",
       "mean",
       {{"axis", Integers{-1}}, {"keepdims", true}},
       {{any, any}},
       {{5, any}},
       "[5, ?] -> [5, 1]"},
      {"reduce", "max", {{"axis", Integers{0}}}, {unranked}, {{5, 6}}, "[?, 5, 6] -> [5, 6]"},
      {"reduce", "argmax", {{"axis", Integers{0}}}, {{any, 2}}, {unranked}, "[?, 2] -> [2]"},
      {"shape",
       "reshape",
       {{"shape", Integers{-1, 4}}},
       {{any, 2}},
       {unranked},
       "[?, 2] -> [?, 4]"},
      {"shape",
       "reshape",
       {{"shape", Integers{6, 4}}},
       {{any, 2}},
       {unranked},
       "[12, 2] -> [6, 4]"},
      {"shape", "reshape", {{"shape", Integers{-1, 4}}}, {{any, 2}}, {{3, 4}}, "[6, 2] -> [3, 4]"},
      {"shape", "reshape", {{"shape", Integers{2, -1}}}, {unranked}, {unranked}, "[...] -> [2, ?]"},
      {"shape", "transpose", {}, {{any, 3}}, {{any, 7}}, "[7, 3] -> [3, 7]"},
      {"shape",
       "transpose",
       {{"axes", Integers{1, 0}}},
       {unranked},
       {unranked},
       "[?, ?] -> [?, ?]"},
      {"shape", "transpose", {}, {unranked}, {unranked}, "[...] -> [...]"},
      {"shape",
       "concat",
       {{"axis", 1}},
       {{2, 3}, {any, 4}, unranked},
       {unranked},
       "[2, 3] [2, 4] [2, ?] -> [2, ?]"},
      {"shape", "concat", {{"axis", 1}}, {{2, 3}, unranked}, {{any, 9}}, "[2, 3] [2, 6] -> [2, 9]"},
      {"shape", "concat", {}, {unranked, unranked}, {unranked}, "[...] [...] -> [...]"},
      {"shape",
       "split",
       {{"sections", 2}},
       {{any, 4}},
       {unranked, unranked},
       "[?, 4] -> [?, 4] [?, 4]"},
      {"shape",
       "split",
       {{"sections", 3}},
       {unranked},
       {unranked, {2, 5}, unranked},
       "[6, 5] -> [2, 5] [2, 5] [2, 5]"},
      {"shape",
       "split",
       {{"sections", 2}, {"sizes", Integers{1, 4}}},
       {{any, any}},
       {unranked, {any, 7}},
       "[5, 7] -> [1, 7] [4, 7]"},
      {"shape",
       "slice",
       {{"begin", Integers{1}}, {"end", Integers{3}}},
       {{any, any}},
       {{any, 4}},
       "[?, 4] -> [?, 4]"},
      {"shape",
       "slice",
       {{"begin", Integers{1}}, {"end", Integers{3}}},
       {unranked},
       {unranked},
       "[...] -> [...]"},
      {"shape",
       "pad",
       {{"before", Integers{1, 0}}, {"after", Integers{2, 0}}},
       {unranked},
       {{7, any}},
       "[4, ?] -> [7, ?]"},
      {"shape",
       "expand_dims",
       {{"axis", Integers{1}}},
       {unranked},
       {{3, any, 4}},
       "[3, 4] -> [3, 1, 4]"},
      {"shape", "squeeze", {{"axis", Integers{0}}}, {{any, any}}, {{5}}, "[1, 5] -> [5]"},
      {"shape", "squeeze", {{"axis", Integers{-1}}}, {unranked}, {{5}}, "[5, 1] -> [5]"},
      {"shape", "squeeze", {}, {{1, any}}, {unranked}, "[1, ?] -> [...]"},
      {"shape",
       "broadcast_to",
       {{"shape", Integers{2, 3}}},
       {unranked},
       {unranked},
       "[...] -> [2, 3]"},
      {"random", "uniform", {{"shape", Integers{2, 3}}}, {}, {unranked}, " -> [2, 3]"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.op);
    CHECK(inferred(row) == row.after);
  }
}

TEST_CASE("shapes that contradict each other are refused") {
  struct Contradiction {
    InferenceRow row;
    std::vector<std::string> words;
  };
  const Contradiction rows[] = {
      {{"reduce", "sum", {{"axis", Integers{0}}}, {{2, 3}}, {{4}}, {}}, {"[2, 3]", "[?, 4]"}},
      {{"reduce", "sum", {{"axis", Integers{0, 1, 2, 3}}}, {unranked}, {{1, 1, 1, 1, 1}}, {}},
       {"8 dimensions"}},
      {{"shape", "reshape", {{"shape", Integers{5, 4}}}, {{any, 3}}, {unranked}, {}},
       {"[?, 3]", "[5, 4]"}},
      {{"shape", "transpose", {}, {{2, 3}}, {{2, 3}}, {}}, {"[2, 3]", "[3, 2]"}},
      {{"shape", "concat", {}, {{4}, unranked}, {{3}}, {}}, {"3", "4"}},
      {{"shape", "pad", {{"before", Integers{4}}, {"after", Integers{0}}}, {unranked}, {{3}}, {}},
       {"[3]", "4"}},
      {{"shape", "expand_dims", {{"axis", Integers{0}}}, {unranked}, {{3, 4}}, {}},
       {"[3, 4]", "[1, ?]"}},
  };
  for (const auto& contradiction : rows) {
    const auto& row = contradiction.row;
    const auto& words = contradiction.words;
    CAPTURE(row.op);
    std::string message;
    try {
      message = inferred(row);
    } catch (const tenon::Error& error) {
      message = error.what();
      for (const auto& word : words) {
        CAPTURE(word);
        CAPTURE(message);
        CHECK(message.find(word) != std::string::npos);
      }
      continue;
    }
    FAIL_CHECK("no error: ", message);
  }
}
