// Manifests: valid ones are read completely, and each single fault is reported.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <tenon/host/operator_info.hpp>

#include "failure_of.hpp"
#include "plugin/manifest_source.hpp"

using namespace tenon;

TEST_CASE("manifest: reads every key") {
  const auto bytes = as_cbor(sound_manifest());
  const OperatorInfo info = read_manifest(bytes);
  CHECK(info.name == "scale_up");
  CHECK(info.version == 3);
  CHECK(info.aliases == std::vector<std::string>{"upscale", "enlarge"});
  CHECK(info.types == ((1U << 7U) | (1U << 8U)));
  REQUIRE(info.inputs.size() == 3);
  CHECK_FALSE(info.inputs[0].types);
  CHECK(info.inputs[1].optional);
  CHECK(info.inputs[1].types == ((1U << 3U) | (1U << 4U)));
  CHECK(info.variadic());
  REQUIRE(info.outputs.size() == 2);
  CHECK(info.outputs[0].count == "parts");
  CHECK(info.outputs[1].hidden);
  CHECK(info.states[0].doc == "running");
  CHECK(info.states[0].initial == 0);  // the first manifests lack it, also for inputs
  CHECK_FALSE(info.inputs[0].initial);
  CHECK(info.params[0].kind == ParamKind::int32);
  CHECK(info.params[0].max == 8.0);
  CHECK(info.params[1].default_value == AttributeValue(1.5));
  CHECK(info.params[1].above == 0.0);
  CHECK(info.params[2].choices == std::vector<std::string>{"near", "far"});
  CHECK(info.params[3].required);
  CHECK(info.params[4].default_value == AttributeValue(std::vector<std::int64_t>{0, -1}));
  CHECK(info.params[5].default_value == AttributeValue("x"));
  CHECK(info.params[6].default_value == AttributeValue(true));
  CHECK(info.inplace == std::vector<std::pair<int, int>>{{0, 0}});
  CHECK(info.backward_inplace == std::vector<std::pair<int, int>>{{0, 0}});
  CHECK(info.backward_reads_input == std::vector<bool>{false, true, false});
  CHECK(info.backward_reads_output == std::vector<bool>{false, true});
  CHECK(info.accumulates);
  CHECK_FALSE(info.strides);
  CHECK(info.random);
  CHECK(info.kernels_elsewhere);
  CHECK(info.has("backward"));
  CHECK_FALSE(info.has("gradient"));
  CHECK(info.renamed[1].from == "ratio");
  CHECK(info.added[0] == std::pair<int, std::string>{2, "mode"});
  CHECK(info.manifest == bytes);
  CHECK(info.find_param("scale") == 1);
  CHECK(info.find_output("nothing") == -1);
}

TEST_CASE("manifest: a missing backward_reads means all") {
  Json json = sound_manifest();
  json["backward_reads"] = nullptr;
  const OperatorInfo info = read_manifest(as_cbor(json));
  CHECK(info.backward_reads_input == std::vector<bool>(3, true));
  CHECK(info.backward_reads_output == std::vector<bool>(2, true));
}

TEST_CASE("manifest: a state's initial value is any finite number") {
  for (const Json& initial : {Json(0), Json(1), Json(-2.5), Json(1e300)}) {
    Json json = sound_manifest();
    json["states"][0]["initial"] = initial;
    CHECK(read_manifest(as_cbor(json)).states[0].initial == initial.get<double>());
  }
}

TEST_CASE("manifest: an input's initial value is any finite number, or none") {
  for (const Json& initial : {Json(0), Json(1), Json(-2.5), Json(1e300), Json(nullptr)}) {
    Json json = sound_manifest();
    json["inputs"][1]["initial"] = initial;
    const auto read = read_manifest(as_cbor(json)).inputs[1].initial;
    CHECK(read == (initial.is_null() ? std::nullopt : std::optional(initial.get<double>())));
  }
}

TEST_CASE("manifest: ignores keys of later minor versions") {
  Json json = sound_manifest();
  json["colour"] = {{"of", "money"}};
  json["inputs"][0]["layout"] = "nhwc";
  CHECK(read_manifest(as_cbor(json)).name == "scale_up");
}

TEST_CASE("manifest: reports a single fault with its path") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();
  struct Case {
    std::string expected;
    std::function<void(Json&)> change;
  };
  const auto condition = [](const char* of, const Json& names) {
    return Json{{"of", of}, {"names", names}, {"param", "mode"}, {"values", {"far"}}};
  };
  const auto example = [](const char* input, const Json& shape) {
    return Json{{"inputs", {{input, {{"shape", shape}, {"dtype", nullptr}, {"values", nullptr}}}}},
                {"params", Json::object()}};
  };
  const auto table = [](const char* dtype, const std::vector<Json>& values) {
    Json param = sound_manifest()["params"][5];
    param["kind"] = "tensor", param["default"] = values;
    if (dtype != nullptr) param["dtype"] = dtype;
    return param;
  };
  const Case cases[] = {
      {"it lacks 'name'", [](Json& m) { m.erase("name"); }},
      {"channels_last is a string but must be a list",
       [](Json& m) { m["channels_last"] = "data"; }},
      {"channels_last[0] is '3d' but must be a name", [](Json& m) { m["channels_last"] = {"3d"}; }},
      {"channels_last[1] is 'scale', which is neither input nor output",
       [](Json& m) { m["channels_last"] = {"data", "scale"}; }},
      {"channels_last[2] is 'data', which is already in the list",
       [](Json& m) { m["channels_last"] = {"data", "output", "data"}; }},
      {"channels_last[0] is 'output', which the kernel allocates",
       [](Json& m) { m["channels_last"] = {"output"}, m["outputs"][0]["allocated"] = true; }},
      {"prefers_channels_last is true, but channels_last is empty",
       [](Json& m) { m["prefers_channels_last"] = true; }},
      {"prefers_channels_last is an integer but must be true or false",
       [](Json& m) { m["prefers_channels_last"] = 1; }},
      {"it lacks 'added'", [](Json& m) { m.erase("added"); }},
      {"it is a list but must be an object", [](Json& m) { m = Json::array({1}); }},
      {"tenon is 3 but must be from 1 to 2", [](Json& m) { m["tenon"] = 3; }},
      {"name is an integer but must be a string", [](Json& m) { m["name"] = 7; }},
      {"name is 'two words' but must be a name", [](Json& m) { m["name"] = "two words"; }},
      {"name is '' but must be a name", [](Json& m) { m["name"] = ""; }},
      {"name is a string of 129 bytes but must be a name",
       [](Json& m) { m["name"] = std::string(129, 'a'); }},
      {"doc is not plain UTF-8 text", [](Json& m) { m["doc"] = "red: \x1b[31m"; }},
      {"doc is not plain UTF-8 text", [](Json& m) { m["doc"] = "\xc3("; }},
      {"version is 0 but must be from 1 to 2147483647", [](Json& m) { m["version"] = 0; }},
      {"version is a number but must be a 64-bit integer", [](Json& m) { m["version"] = 1.0; }},
      {"version is 4294967296 but must be from", [](Json& m) { m["version"] = 4294967296; }},
      {"aliases is null but must be a list", [](Json& m) { m["aliases"] = nullptr; }},
      {"aliases[1] is 'upscale', a name that the operator already has",
       [](Json& m) { m["aliases"][1] = "upscale"; }},
      {"aliases[0] is 'scale_up', a name that the operator already has",
       [](Json& m) { m["aliases"][0] = "scale_up"; }},
      {"types is empty", [](Json& m) { m["types"] = Json::array(); }},
      {"types[1] is 'float33' but must be one of bool, uint8, int8, int32, int64, float16, "
       "bfloat16, float32, float64, int16, uint16, uint32, uint64, complex64, complex128, "
       "float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, "
       "float4_e2m1fn, int4, uint4, int2, uint2",
       [](Json& m) { m["types"][1] = "float33"; }},
      {"inputs[1].types[0] is 'double'", [](Json& m) { m["inputs"][1]["types"][0] = "double"; }},
      {"inputs[0].optional is an integer but must be true or false",
       [](Json& m) { m["inputs"][0]["optional"] = 0; }},
      {"inputs[1] lacks 'doc'", [](Json& m) { m["inputs"][1].erase("doc"); }},
      {"inputs[0] is variadic; only the last input may be",
       [](Json& m) { m["inputs"][0]["variadic"] = true; }},
      {"inputs[1] is called 'data', which is already used",
       [](Json& m) { m["inputs"][1]["name"] = "data"; }},
      {"outputs[0] is called 'data', which is already used",
       [](Json& m) { m["outputs"][0]["name"] = "data"; }},
      {"outputs is empty",
       [](Json& m) {
         m["outputs"] = Json::array(),
         m["inplace"] = m["backward_inplace"] = m["backward_reads"] = Json::array();
       }},
      {"outputs[0].count is 'data', which is not a parameter",
       [](Json& m) { m["outputs"][0]["count"] = "data"; }},
      {"outputs[0].count is 'scale', which is not an integer parameter",
       [](Json& m) { m["outputs"][0]["count"] = "scale"; }},
      {"inputs[0].initial is infinite", [=](Json& m) { m["inputs"][0]["initial"] = infinity; }},
      {"inputs[0].initial is true or false but must be a number",
       [](Json& m) { m["inputs"][0]["initial"] = true; }},
      {"states[0].initial is infinite", [=](Json& m) { m["states"][0]["initial"] = -infinity; }},
      {"states[0].initial is not a number (NaN)",
       [=](Json& m) { m["states"][0]["initial"] = nan; }},
      {"states[0].initial is null but must be a number",
       [](Json& m) { m["states"][0]["initial"] = nullptr; }},
      {"params[1] is called 'parts', which is already used",
       [](Json& m) { m["params"][1]["name"] = "parts"; }},
      {"params[0].kind is 'int16', which is not a kind of parameter",
       [](Json& m) { m["params"][0]["kind"] = "int16"; }},
      {"params[0].default is a number but must be a 64-bit integer",
       [](Json& m) { m["params"][0]["default"] = 2.5; }},
      {"params[0].default is 3000000000 but must be from -2147483648 to 2147483647",
       [](Json& m) { m["params"][0]["default"] = 3000000000; }},
      {"params[0].default does not satisfy the parameter's own bounds",
       [](Json& m) { m["params"][0]["default"] = 9; }},
      {"params[1].default does not satisfy the parameter's own bounds",
       [](Json& m) { m["params"][1]["default"] = 2.0; }},
      {"params[1].default does not satisfy the parameter's own bounds",
       [=](Json& m) { m["params"][1]["default"] = nan; }},
      {"params[1].default is too large for a float32",
       [](Json& m) { m["params"][1]["default"] = 1e300; }},
      {"params[1].above is not a number (NaN)", [=](Json& m) { m["params"][1]["above"] = nan; }},
      {"params[1] has bounds that no value can satisfy",
       [](Json& m) { m["params"][1]["below"] = 0; }},
      {"params[1] has bounds that no value can satisfy",
       [](Json& m) { m["params"][1]["min"] = 2; }},
      {"params[1] has bounds that no value can satisfy",
       [](Json& m) {
         m["params"][1]["below"] = nullptr;
         m["params"][1]["max"] = 0;
       }},
      {"params[2].default is 'middle', which is not among its choices",
       [](Json& m) { m["params"][2]["default"] = "middle"; }},
      {"params[2].choices is empty; an enum needs at least one",
       [](Json& m) { m["params"][2]["choices"] = Json::array(); }},
      {"params[2].choices[1] is 'near', which is already in the list",
       [](Json& m) { m["params"][2]["choices"][1] = "near"; }},
      {"params[2].min bounds a parameter that is neither",
       [](Json& m) { m["params"][2]["min"] = 1; }},
      {"params[0].choices needs an enum or text parameter",
       [](Json& m) { m["params"][0]["choices"] = {"a"}; }},
      {"params[4].default[1] is a string but must be a 64-bit integer",
       [](Json& m) { m["params"][4]["default"][1] = "1"; }},
      {"params[4].default does not satisfy the parameter's own bounds",
       [](Json& m) { m["params"][4]["default"][1] = -2; }},
      {"params[6].default is an integer but must be true or false",
       [](Json& m) { m["params"][6]["default"] = 1; }},
      {"params[5] lacks 'dtype'", [=](Json& m) { m["params"][5] = table(nullptr, {1}); }},
      {"params[5].dtype is float16, but a tensor parameter is int32, int64, float32 or float64",
       [=](Json& m) { m["params"][5] = table("float16", {1}); }},
      {"params[5].default[1] is a string but must be a number",
       [=](Json& m) { m["params"][5] = table("float32", {1, "a"}); }},
      {"params[5].default[0] is too large for a float32",
       [=](Json& m) { m["params"][5] = table("float32", {1e300}); }},
      {"params[5].default[0] is a number but must be a 64-bit integer",
       [=](Json& m) { m["params"][5] = table("int64", {1.5}); }},
      {"params[5].default[0] is 3000000000 but must be from",
       [=](Json& m) { m["params"][5] = table("int32", {3000000000}); }},
      {"params[5].default does not satisfy the parameter's own bounds",
       [=](Json& m) {
         m["params"][5] = table("int32", {5, 1});
         m["params"][5]["min"] = 2;
       }},
      {"params[5].default is a string but must be a list",
       [](Json& m) { m["params"][5]["kind"] = "texts"; }},
      {"params[5].default[1] is 'b', which is not among its choices",
       [](Json& m) {
         m["params"][5]["kind"] = "texts";
         m["params"][5]["default"] = {"a", "b"};
         m["params"][5]["choices"] = {"a"};
       }},
      {"params[5].min bounds a parameter that is neither",
       [](Json& m) {
         m["params"][5]["kind"] = "texts";
         m["params"][5]["default"] = Json::array();
         m["params"][5]["min"] = 1;
       }},
      {"needs[1] is 'time_travel', which this version of Tenon does not support: update Tenon",
       [](Json& m) {
         m["needs"] = {"compose", "time_travel"};
       }},
      {"space is 'acme.vision' but must be a name", [](Json& m) { m["space"] = "acme.vision"; }},
      {"conditions[0].of is 'strides', which this version of Tenon does not support",
       [=](Json& m) { m["conditions"][0] = condition("strides", {"mask"}); }},
      {"conditions[0].names has 1 entry but needs 2",
       [=](Json& m) { m["conditions"][0] = condition("inplace", {"data"}); }},
      {"conditions[0].names[1] is 'data', which is not an output",
       [=](Json& m) {
         m["conditions"][0] = condition("inplace", {"data", "data"});
       }},
      {"conditions[0].names is empty",
       [=](Json& m) { m["conditions"][0] = condition("hidden", Json::array()); }},
      {"conditions[0].names[0] is 'nothing', which is not an output",
       [=](Json& m) { m["conditions"][0] = condition("backward_reads", {"nothing"}); }},
      {"conditions[0].values[0] is 'middle', which is not among its choices",
       [=](Json& m) {
         m["conditions"][0] = condition("hidden", {"mask"});
         m["conditions"][0]["values"][0] = "middle";
       }},
      {"conditions[0].values is empty",
       [=](Json& m) {
         m["conditions"][0] = condition("hidden", {"mask"});
         m["conditions"][0]["values"] = Json::array();
       }},
      {"conditions[0].param is 'data', which is not a parameter",
       [=](Json& m) {
         m["conditions"][0] = condition("hidden", {"mask"});
         m["conditions"][0]["param"] = "data";
       }},
      {"rules[0][1] is 'like', which this version of Tenon does not support",
       [](Json& m) {
         m["rules"][0] = {"parts", "like", "size"};
       }},
      {"rules[0][2] is 'axes', which multiple_of cannot compare",
       [](Json& m) {
         m["params"][4]["kind"] = "floats";
         m["rules"][0] = {"parts", "multiple_of", "axes"};
       }},
      {"rules[0][0] is 'parts', which same_length cannot compare",
       [](Json& m) {
         m["rules"][0] = {"parts", "same_length", "axes"};
       }},
      {"rules[0][0] is 'mode', which at_most cannot compare",
       [](Json& m) {
         m["rules"][0] = {"mode", "at_most", "size"};
       }},
      {"examples[0].inputs.date is for 'date', which is not an input",
       [=](Json& m) { m["examples"][0] = example("date", {2}); }},
      {"examples[0].inputs.data.shape[0] is -1 but must be from 0",
       [=](Json& m) { m["examples"][0] = example("data", {-1}); }},
      {"examples[0].inputs.data.shape has 9 dimensions; at most 8 are allowed",
       [=](Json& m) { m["examples"][0] = example("data", Json(std::vector<int>(9, 1))); }},
      {"examples[0].inputs.data.shape is too large",
       [=](Json& m) { m["examples"][0] = example("data", Json(std::vector<int>(8, 1 << 30))); }},
      {"examples[0].inputs.rest1.values has 2 values, but the shape of 'rest1' needs 3",
       [=](Json& m) {
         m["examples"][0] = example("rest1", {3});
         m["examples"][0]["inputs"]["rest1"]["values"] = {1, 2};
       }},
      {"examples[0].inputs.data.dtype is 'double'",
       [=](Json& m) {
         m["examples"][0] = example("data", {3});
         m["examples"][0]["inputs"]["data"]["dtype"] = "double";
       }},
      {"examples[0].params.part is for 'part', which is not a parameter",
       [=](Json& m) {
         m["examples"][0] = example("data", {3});
         m["examples"][0]["params"]["part"] = 1;
       }},
      {"examples[0].params.parts does not satisfy the bounds of parameter 'parts'",
       [=](Json& m) {
         m["examples"][0] = example("data", {3});
         m["examples"][0]["params"]["parts"] = 9;
       }},
      {"inplace[0] has 3 entries but needs 2", [](Json& m) { m["inplace"][0].push_back("x"); }},
      {"inplace[0][0] is 'output', which is not an input",
       [](Json& m) {
         m["inplace"][0] = {"output", "data"};
       }},
      {"backward_inplace[0][1] is 'rests', which is not an input",
       [](Json& m) { m["backward_inplace"][0][1] = "rests"; }},
      {"backward_reads[1] is 'mean', which is neither input nor output",
       [](Json& m) { m["backward_reads"][1] = "mean"; }},
      {"linear[0][0] is 'date', which is not an input",
       [](Json& m) { m["linear"] = Json::array({Json::array({"date"})}); }},
      {"linear[0] is a product of 'data' with itself",
       [](Json& m) {
         m["linear"] = Json::array({Json::array({"data", "data"})});
       }},
      {"linear[0] is a product with a variadic input",
       [](Json& m) {
         m["linear"] = Json::array({Json::array({"data", "rest"})});
       }},
      {"linear[0] lists 3 inputs, but a term has one or two",
       [](Json& m) { m["linear"] = Json::array({Json::array({"data", "data", "data"})}); }},
      {"linear[1] has 'data', which is also in an earlier term",
       [](Json& m) {
         m["linear"] = Json::array({Json::array({"data"}), Json::array({"data"})});
         m["outputs"].erase(1), m["outputs"][0]["count"] = nullptr;
         m["backward_reads"] = m["inplace"] = m["backward_inplace"] = Json::array();
       }},
      {"linear[0] is linear in inputs, but needs a single output",
       [](Json& m) { m["linear"] = Json::array({Json::array({"data"})}); }},
      {"derivative is an integer but must be true or false", [](Json& m) { m["derivative"] = 1; }},
      {"surrogate_gradient is an integer but must be true or false",
       [](Json& m) { m["surrogate_gradient"] = 1; }},
      {"functions[0] is 'fordward', which is not a function of an operator",
       [](Json& m) { m["functions"][0] = "fordward"; }},
      {"renamed[1][0] is 4, but the operator's version is 3",
       [](Json& m) { m["renamed"][1][0] = 4; }},
      {"renamed[0][2] is 'rat', which is not a parameter",
       [](Json& m) { m["renamed"][0][2] = "rat"; }},
      {"renamed[0] renames 'scale' to itself",
       [](Json& m) { m["renamed"] = {{2, "scale", "scale"}}; }},
      {"added[0][1] is 'modes', which is not a parameter",
       [](Json& m) { m["added"][0][1] = "modes"; }},
      {"removed[0][0] is 4, but the operator's version is 3",
       [](Json& m) { m["removed"] = Json::array({Json::array({4, "d"})}); }},
      {"removed[0] has 4 entries but needs 2",
       [](Json& m) { m["removed"] = Json::array({Json::array({2, "d", 1, 1})}); }},
      {"added_inputs[0][1] is 'gain', but there is no input of that name",
       [](Json& m) { m["added_inputs"] = Json::array({Json::array({2, "gain"})}); }},
      {"added_inputs[0][0] is 4, but the operator's version is 3",
       [](Json& m) { m["added_inputs"] = Json::array({Json::array({4, "rest"})}); }},
      {"added_inputs has input 'index' before one of an older version",
       [](Json& m) { m["added_inputs"] = Json::array({Json::array({2, "data"})}); }},
      {"added_inputs[0] lists input 'data', which is not optional",
       [](Json& m) {
         m["added_inputs"] = Json::array(
             {Json::array({2, "data"}), Json::array({2, "index"}), Json::array({2, "rest"})});
       }},
      {"added_outputs[0][1] is 'data', but there is no output of that name",
       [](Json& m) { m["added_outputs"] = Json::array({Json::array({2, "data"})}); }},
      {"added_states[0][1] is 'mask', but there is no state of that name",
       [](Json& m) { m["added_states"] = Json::array({Json::array({2, "mask"})}); }},
      {"was[0][0] is 'scale', which is not an added parameter",
       [](Json& m) { m["was"] = Json::array({Json::array({"scale", 1.0})}); }},
      {"was[0][1] is 'middle', which is not among its choices",
       [](Json& m) { m["was"] = Json::array({Json::array({"mode", "middle"})}); }},
      {"random is a string but must be true or false", [](Json& m) { m["random"] = "yes"; }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.expected);
    Json json = sound_manifest();
    c.change(json);
    const FailureText failure = failure_of([&] { read_manifest(as_cbor(json)); });
    CHECK(failure.kind == 3);
    CHECK_MESSAGE(failure.message.find(c.expected) == 0, failure.message);
  }
}

TEST_CASE("manifest: bounds that only one number satisfies are valid") {
  Json json = sound_manifest();
  json["params"][0]["min"] = json["params"][0]["max"] = 2;
  CHECK(read_manifest(as_cbor(json)).params[0].min == 2);
}

TEST_CASE("manifest: at most 65,536 bytes") {
  Json json = sound_manifest();
  json["doc"] = std::string(65536 - as_cbor(json).size(), 'x') + json["doc"].get<std::string>();
  json["doc"] = json["doc"].get<std::string>().substr(as_cbor(json).size() - 65536);
  REQUIRE(as_cbor(json).size() == 65536);
  CHECK(read_manifest(as_cbor(json)).name == "scale_up");
  json["doc"] = json["doc"].get<std::string>() + 'x';
  CHECK(failure_of([&] { read_manifest(as_cbor(json)); }).message ==
        "it has 65537 bytes; at most 65536 are allowed");
}

TEST_CASE(
    "manifest: a required parameter's default need not satisfy its bounds; NaN is a valid default "
    "without bounds") {
  Json json = sound_manifest();
  json["params"][1]["above"] = json["params"][1]["below"] = nullptr;
  json["params"][1]["default"] = std::numeric_limits<double>::quiet_NaN();
  const OperatorInfo info = read_manifest(as_cbor(json));
  const double value = std::get<double>(info.params[1].default_value.variant());
  CHECK(value != value);
}
