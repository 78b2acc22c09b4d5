// ONNX mappings: what op.onnx() declares reaches the host and is validated, and the catalog finds
// the operators for an ONNX type.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <tenon/host/udf.hpp>
#include <tenon/operator.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "manifest_source.hpp"

using namespace tenon;

namespace {

/// Uses every key of a mapping.
struct Window : Operator {
  Ints axis, pad;
  bool keepdims = false, no_bias = false;
  double low = 0;
  enum class Mode { nearest, linear } mode = Mode::nearest;

  static constexpr void describe(auto& op) {
    op.doc("every word of op.onnx()");
    op.input("x", "values");
    op.input("bias", "offsets").optional();
    op.output("y", "result");
    op.output("rest", "for backward").hidden();
    op.state("mean", "running");
    op.param("axis", &Window::axis, "");
    op.param("pad", &Window::pad, "");
    op.param("keepdims", &Window::keepdims, "");
    op.param("no_bias", &Window::no_bias, "");
    op.param("low", &Window::low, "").required();
    op.param("mode", &Window::mode, "")
        .one_of({{"nearest", Mode::nearest}, {"linear", Mode::linear}});
    op.onnx("", "Windows")
        .until(12)
        .attribute("axes", "axis", {0, 1})
        .attribute("low", "low", -HUGE_VAL)
        .ignore("trace");
    op.onnx("ai.onnx", "Windows")
        .since(13)
        .types({f32, i64})
        .inputs("x", "mean", "", "bias")
        .input_as("axis", 1)
        .halves(2, "pad", "pad")
        .outputs("", "y")
        .attribute("keepdims", "keepdims", 1)
        .attribute("mode", "mode", "bilinear")
        .value("mode", "bilinear", "linear")
        .value("mode", 7, "nearest")
        .constant("low", 0.5)
        .without("bias", "no_bias", true)
        .only("auto_pad", "NOTSET", "VALID")
        .only("dilations", {1, 1})
        .ignore("seed");
  }
  void forward(const Call&) const {}
};

OperatorInfo window() {
  const auto manifest = manifest_of<Window>("window");
  return read_manifest(std::as_bytes(std::span(manifest)));
}

OperatorInfo read(const Json& manifest) {
  return read_manifest(as_cbor(manifest));
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "onnx mappings: every key reaches the host; inputs take the positions that parameters leave "
    "free") {
  const auto info = window();
  REQUIRE(info.onnx.size() == 2);
  const auto &old = info.onnx[0], &form = info.onnx[1];
  CHECK((old.domain.empty() && old.type == "Windows" && old.since == 1 && old.until == 12 &&
         !old.types));
  CHECK((old.covers(1) && old.covers(12) && !old.covers(13) && !form.covers(12) &&
         form.covers(1000)));
  CHECK(old.inputs == Names{"x", "bias"});
  CHECK(old.outputs == Names{"y"});  // without the hidden output
  CHECK(old.attributes[0].absent == AttributeValue{0, 1});
  CHECK(old.attributes[1].absent == AttributeValue(-HUGE_VAL));
  CHECK(old.ignored == Names{"trace"});

  // another spelling of the default domain
  CHECK(form.domain.empty());
  CHECK(form.types == (1U << static_cast<unsigned>(f32)));  // intersected with the operator's types
  CHECK(form.inputs == Names{"x", "", "", "mean", "", "bias"});
  CHECK(form.outputs == Names{"", "y"});
  CHECK((form.inputs_as[0].place == 1 && form.inputs_as[0].param == "axis" &&
         !form.inputs_as[0].absent));
  CHECK((form.halves[0].place == 2u && form.halves[0].first == "pad" &&
         form.halves[0].second == "pad"));
  CHECK((form.constants[0].param == "low" && form.constants[0].value == AttributeValue(0.5)));
  CHECK((form.without[0].input == "bias" && form.without[0].param == "no_bias" &&
         form.without[0].value == AttributeValue(true)));
  REQUIRE(form.only.size() == 2);
  CHECK((form.only[0].name == "auto_pad" &&
         form.only[0].values == std::vector<AttributeValue>{"NOTSET", "VALID"}));
  CHECK(form.only[1].values == std::vector<AttributeValue>{{1, 1}});
}

TEST_CASE("onnx mappings: convert ONNX values to parameters and back") {
  const auto info = window();
  const auto& form = info.onnx[1];
  const auto param = [&](const char* name) {
    return info.params[static_cast<std::size_t>(info.find_param(name))];
  };
  using Value = std::optional<AttributeValue>;
  struct Case {
    const char* param;
    AttributeValue theirs;
    Value ours;
  };
  const std::vector<Case> cases = {
      {"mode", "bilinear", "linear"},
      {"mode", 7, "nearest"},
      {"mode", "linear", {}},
      {"keepdims", 1, true},
      {"keepdims", 0, false},
      {"keepdims", 2, {}},
      {"axis", 3, AttributeValue{3}},
      {"axis", {3, 4}, AttributeValue{3, 4}},
      {"axis", "x", {}},
      {"axis", 0.5, {}},
      {"low", 2, 2.0},
      {"low", {2}, 2.0},
      {"low", {2, 3}, {}},
      {"low", std::numeric_limits<std::int64_t>::max(), {}},
  };
  for (const auto& test : cases) {
    CAPTURE(test.param);
    CAPTURE(to_string(test.theirs));
    CHECK(form.value_of(param(test.param), test.theirs) == test.ours);
  }
  CHECK(form.onnx_value_of(param("mode"), "nearest") == AttributeValue(7));
  CHECK(form.onnx_value_of(param("keepdims"), true) == AttributeValue(1));
  CHECK(form.onnx_value_of(param("axis"), {2}) == AttributeValue{2});
}

TEST_CASE(
    "onnx mappings: a manifest with an invalid mapping is refused with the fault and its path") {
  auto manifest = sound_manifest();
  const auto form = Json::parse(
      R"({"domain": "", "type": "Grow", "since": 7, "until": 12,
          "attributes": [["size", "size"]]})");
  manifest["onnx"] = Json::array({form});
  const auto info = read(manifest);
  REQUIRE(info.onnx.size() == 1);
  CHECK(info.onnx[0].inputs == Names{"data", "index", "rest"});
  struct Case {
    std::string key, value, sentence;
  };
  const std::vector<Case> cases = {
      {"domain", "3", "onnx[0].domain"},
      {"type", "\"\"", "onnx[0].type is empty"},
      {"type", "\"a\\u0000b\"", "onnx[0].type is not plain UTF-8 text"},
      {"since", "0", "onnx[0].since"},
      {"until", "6", "onnx[0].until is 6, which is less than since (7)"},
      {"types", "[\"int8\"]", "onnx[0].types has no dtype that the operator supports"},
      {"types", "[\"int7\"]", "onnx[0].types[0] is 'int7' but must be one of"},
      {"inputs", "[\"x\"]", "onnx[0].inputs[0] is 'x', which is not an input or a state"},
      {"inputs", "[\"data\", \"data\"]",
       "onnx[0].inputs[1] is 'data', which is already in the list"},
      {"inputs", "[\"index\"]", "onnx[0].inputs leaves out 'data', which is not optional"},
      {"inputs", "[\"data\", \"rest\", \"index\"]",
       "onnx[0].inputs has names after 'rest', which takes all remaining inputs"},
      {"outputs", "[\"data\"]", "onnx[0].outputs[0] is 'data', which is not an output"},
      {"attributes", "[[\"a\", \"b\"]]",
       "onnx[0].attributes[0][1] is 'b', which is not a parameter"},
      {"attributes", "[[\"a\", \"size\"], [\"a\", \"axes\"]]",
       "onnx[0].attributes[1][0] is 'a', an attribute that the mapping already uses"},
      {"attributes", "[[\"a\", \"size\"], [\"b\", \"size\"]]",
       "onnx[0].attributes[1][1] is 'size', a parameter that the mapping already sets"},
      {"attributes", "[[\"size\", \"size\", \"big\"]]",
       "onnx[0].attributes[0][2] is \"big\", which is not a valid value of parameter 'size'"},
      {"attributes", "[]", "onnx[0] leaves out parameter 'size', which is required"},
      {"attributes", "[[\"size\"]]", "onnx[0].attributes[0] has 1 entry but needs 2"},
      {"attributes", "7", "onnx[0].attributes"},
      {"values", "[[\"mode\", 0, \"middle\"]]",
       "onnx[0].values[0][2] is 'middle', which is not among its choices"},
      {"values", "[[\"mode\", 0.5, \"near\"]]",
       "onnx[0].values[0][1] is neither an integer nor a string"},
      {"values", "[[\"mode\", 0, \"near\"], [\"mode\", 0, \"far\"]]",
       "onnx[0].values[1][1] is 0, which the mapping already translates"},
      {"inputs_as", "[[\"axes\", -1]]", "onnx[0].inputs_as[0][1]"},
      {"inputs_as", "[[\"axes\", 32]]", "onnx[0].inputs_as[0][1]"},
      {"inputs_as", "[[\"axes\", 1], [\"mode\", 1]]",
       "onnx[0].inputs_as[1][1] is 1, an input position that is already used"},
      {"inputs_as", "[[\"axes\", 4]]",
       "onnx[0] has an input after 'rest', which takes all remaining inputs"},
      {"halves", "[[\"pads\", \"axes\", \"label\"]]",
       "onnx[0].halves[0] splits a list in two, but parameter 'label' is not a list of numbers"},
      {"constants", "[[\"scale\", 5]]",
       "onnx[0].constants[0][1] does not satisfy the bounds of parameter 'scale'"},
      {"constants", "[[\"size\", 5]]",
       "onnx[0].constants[0][0] is 'size', a parameter that the mapping already sets"},
      {"without", "[[\"data\", \"flip\", true]]",
       "onnx[0].without[0][0] is 'data', which is never absent"},
      {"only", "[[\"size\", 1]]",
       "onnx[0].only[0][0] is 'size', an attribute that the mapping already uses"},
      {"ignored", "[\"size\"]",
       "onnx[0].ignored[0] is 'size', an attribute that the mapping already uses"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.key);
    CAPTURE(test.value);
    auto other = manifest;
    other["onnx"][0][test.key] = Json::parse(test.value);
    const auto message = failure_of([&] { read(other); }).message;
    CAPTURE(message);
    CHECK(message.starts_with(test.sentence));
  }
  manifest["onnx"].push_back(form);
  manifest["onnx"][1]["since"] = 12, manifest["onnx"][1].erase("until");
  check_says(failure_of([&] { read(manifest); }).message,
             {"onnx[1] is 'Grow'", "versions overlap"});
  manifest["onnx"][1]["since"] = 13;
  CHECK(read(manifest).onnx.size() == 2);
  // the mapping may depend on an unknown key of a newer SDK
  manifest["onnx"][1]["of_tomorrow"] = 1;
  CHECK(read(manifest).onnx.size() == 1);
  for (int i = 0; i < 70; ++i) manifest["onnx"].push_back(form);
  CHECK(failure_of([&] { read(manifest); }).message ==
        "onnx has 72 mappings; at most 64 are allowed");
}

TEST_CASE("catalog: finds all operators for an ONNX type and version") {
  Host host({.threads = 1, .search_defaults = false});
  host.add<Window>("window");
  host.add<Window>("windows");
  const auto catalog = host.catalog();
  const auto names = [&](const char* domain, const char* type, int version) {
    Names found;
    for (const auto& claim : catalog.find_onnx(domain, type, version)) {
      CHECK(claim.form->covers(version));
      found.push_back(claim.op->info.name);
    }
    return found;
  };
  CHECK(names("", "Windows", 12) == Names{"window", "windows"});
  CHECK(names("ai.onnx", "Windows", 13) == Names{"window", "windows"});
  CHECK(names("acme", "Windows", 13).empty());
  CHECK(names("", "windows", 13).empty());
  CHECK(names("", "Windows", 0).empty());

  const auto begin = std::chrono::steady_clock::now();
  std::size_t found = 0;
  for (int i = 0; i < 100000; ++i) found += catalog.find_onnx("", "Windows", 13).size();
  CHECK(found == 200000);
  CHECK(std::chrono::steady_clock::now() - begin <
        std::chrono::seconds(2));  // takes 30 ms; debug builds and busy machines take longer
}
