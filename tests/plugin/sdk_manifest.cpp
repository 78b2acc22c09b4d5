// The SDK's manifest writer against the host's reader.
#include <doctest/doctest.h>

#include <tenon/host/operator_info.hpp>
#include <tenon/operator.hpp>

using namespace tenon;

namespace {

enum class Pad { none, same };

struct Everything : Operator {
  bool flag = true;
  std::int32_t parts = 3;
  std::int64_t many = -5;
  float rate = 0.5f;
  double exact = 0.1;
  Ints sizes = {1, 2};
  Floats weights = {0.25, -1.0};
  Pad pad = Pad::same;

  static constexpr void describe(auto& op) {
    op.doc("uses every word that describe() knows");
    op.version(3);
    op.alias("all_of_it");
    op.types({f32, f64});
    op.input("data", "values");
    op.input("index", "where").types(integral).optional().initial(-2);
    op.input("rest", "more").variadic();
    op.output("parts", "pieces").count(&Everything::parts);
    op.output("mask", "for backward").hidden();
    op.state("mean", "running");
    op.state("variance", "").initial(1.5);
    op.param("flag", &Everything::flag, "");
    op.param("parts", &Everything::parts, "").at_least(1).at_most(8);
    op.param("many", &Everything::many, "").required().at_least(1);
    op.param("rate", &Everything::rate, "").greater_than(0).less_than(1);
    op.param("exact", &Everything::exact, "");
    op.param("sizes", &Everything::sizes, "").at_least(1);
    op.param("weights", &Everything::weights, "");
    op.param("pad", &Everything::pad, "").one_of({{"none", Pad::none}, {"same", Pad::same}});
    op.inplace("data", "mask");
    op.backward_inplace("mask", "data");
    op.backward_reads("mask");
    op.accumulates();
    op.takes_strides();
    op.prefers_channels_last("data", "mask");
    op.uses_random();
    op.renamed(2, "speed", "rate");
    op.added(3, "pad");
    op.added(2, "exact").was(0.5);
    op.added(2, "weights").was({0.5, 2.0});
    op.added(2, "sizes").was({7, 8});
    op.removed(2, "any");
    op.removed(3, "mode").was("max");
    op.removed(3, "limits").was({1.5, 3.0});
    op.added_input(2, "index");
    op.added_input(3, "rest");
    op.added_output(3, "mask");
    op.added_state(3, "variance");
    op.derived(&Everything::parts);
  }
  void forward(const Call&) const {}
};

struct Worded : Operator {
  Text label = "as it is";
  Text unit = "m";

  static constexpr void describe(auto& op) {
    op.doc("parameters that are texts");
    op.input("data", "");
    op.output("output", "");
    op.param("label", &Worded::label, "");
    op.param("unit", &Worded::unit, "").one_of({"m", "km"});
  }
  void forward(const Call&) const {}
};

struct Tabled : Operator {
  Table<float> taps = {0.5f, 2};
  Table<std::int32_t> sizes = {3};
  Table<double> none;
  Texts names = {"a", "b"};

  static constexpr void describe(auto& op) {
    op.doc("parameters that are tensors and lists of texts");
    op.input("data", "");
    op.output("output", "");
    op.param("taps", &Tabled::taps, "").greater_than(0);
    op.param("sizes", &Tabled::sizes, "").at_most(9);
    op.param("none", &Tabled::none, "").required();
    op.param("names", &Tabled::names, "").one_of({"a", "b", "c"});
    op.example({{"data", {2}}}, {{"taps", {1, 2}}, {"names", {"c"}}});
  }
  void forward(const Call&) const {}
};

template <class Class>
OperatorInfo read_back(const char* name) {
  const std::string bytes = manifest_of<Class>(name);
  return read_manifest(std::as_bytes(std::span(bytes)));
}

}  // namespace

TEST_CASE("sdk manifest: the host reads what the SDK writes") {
  const OperatorInfo info = read_back<Everything>("everything");
  CHECK(info.name == "everything");
  CHECK(info.doc == "uses every word that describe() knows");
  CHECK(info.version == 3);
  CHECK(info.aliases == std::vector<std::string>{"all_of_it"});
  CHECK(info.types == Types{f32, f64}.mask);
  CHECK(info.inputs[1].types == integral.mask);
  CHECK(info.inputs[1].optional);
  CHECK(info.variadic());
  CHECK(info.inputs[0].initial == std::nullopt);
  CHECK(info.inputs[1].initial == -2);
  CHECK(info.outputs[0].count == "parts");
  CHECK(info.outputs[1].hidden);
  CHECK(info.states[0].name == "mean");
  CHECK(info.states[0].initial == 0);
  CHECK(info.states[1].initial == 1.5);
  const std::pair<const char*, AttributeValue> defaults[] = {
      {"flag", true},
      {"parts", 3},
      {"many", -5},
      {"rate", 0.5},
      {"exact", 0.1},
      {"sizes", std::vector<std::int64_t>{1, 2}},
      {"weights", std::vector<double>{0.25, -1.0}},
      {"pad", "same"}};
  REQUIRE(info.params.size() == std::size(defaults));
  for (std::size_t i = 0; i < std::size(defaults); ++i) {
    CAPTURE(info.params[i].name);
    CHECK(info.params[i].name == defaults[i].first);
    CHECK(info.params[i].default_value == defaults[i].second);
  }
  CHECK(info.channels_last == std::vector<std::string>{"data", "mask"});
  CHECK(info.channels_last_input == std::vector<bool>{true, false, false});
  CHECK(info.channels_last_output == std::vector<bool>{false, true});
  CHECK(info.prefers_channels_last);
  CHECK(info.params[1].max == 8.0);
  CHECK(info.params[2].required);
  CHECK(info.params[3].below == 1.0);
  CHECK(info.params[7].kind == ParamKind::choice);
  CHECK(info.inplace == std::vector<std::pair<int, int>>{{0, 1}});
  CHECK(info.backward_reads_output == std::vector<bool>{false, true});
  CHECK(info.backward_reads_input == std::vector<bool>{false, false, false});
  CHECK((info.accumulates && info.strides && info.random));
  CHECK_FALSE(info.kernels_elsewhere);
  CHECK(info.functions == std::vector<std::string>{"forward"});
  CHECK(info.renamed[0].to == "rate");
  CHECK(info.added[0].second == "pad");
  using Added = OperatorInfo::Added;
  CHECK(info.added_inputs == Added{{2, "index"}, {3, "rest"}});
  CHECK(info.added_outputs == Added{{3, "mask"}});
  CHECK(info.added_states == Added{{3, "variance"}});
  const std::pair<std::string, AttributeValue> was[] = {
      {"exact", 0.5}, {"weights", {0.5, 2.0}}, {"sizes", {7, 8}}};
  CHECK(std::equal(info.was.begin(), info.was.end(), std::begin(was), std::end(was)));
  REQUIRE(info.removed.size() == 3);
  CHECK(info.removed[0].name == "any");
  CHECK(!info.removed[0].was);
  CHECK(info.removed[1].was == AttributeValue("max"));
  CHECK(info.removed[2].was == AttributeValue({1.5, 3.0}));
}

TEST_CASE("sdk manifest: a former value must not be ignored by hosts; other new keys may") {
  // CBOR: the text needs, a list of one, the text was
  const std::string needs_was = "eneeds\x81\x63was";
  CHECK(manifest_of<Everything>("everything").ends_with(needs_was));
  CHECK(manifest_of<Worded>("worded").find("eneeds") == std::string::npos);
}

TEST_CASE("sdk manifest: texts and their choices") {
  const OperatorInfo info = read_back<Worded>("texts");
  REQUIRE(info.params.size() == 2);
  CHECK(info.params[0].default_value == AttributeValue("as it is"));
  CHECK(info.params[1].choices == std::vector<std::string>{"m", "km"});
  CHECK(info.types == floating.mask);
}

TEST_CASE("sdk manifest: tensors and lists of texts") {
  const OperatorInfo info = read_back<Tabled>("tabled");
  REQUIRE(info.params.size() == 4);
  CHECK(info.params[0].kind == ParamKind::tensor);
  CHECK(info.params[0].dtype == f32);
  CHECK(info.params[0].default_value == AttributeValue(Tensor::from<float>({0.5F, 2}, {2})));
  CHECK(info.params[0].above == 0.0);
  CHECK(info.params[1].default_value == AttributeValue(Tensor::from<std::int32_t>({3}, {1})));
  CHECK(info.params[2].dtype == f64);
  CHECK(info.params[2].default_value == AttributeValue(Tensor::zeros(f64, {0})));
  CHECK(info.params[3].kind == ParamKind::texts);
  CHECK_FALSE(info.params[3].dtype);
  CHECK(info.params[3].default_value == AttributeValue({"a", "b"}));
  CHECK(info.params[3].choices == std::vector<std::string>{"a", "b", "c"});
  CHECK(info.examples[0].params[0].value == AttributeValue(Tensor::from<float>({1, 2}, {2})));
  CHECK(info.examples[0].params[1].value == AttributeValue(std::vector<std::string>{"c"}));
}
