// The two directions of a form's rules: what the exporter writes, the importer reads.
#include "onnx/form_mapping.hpp"

#include <doctest/doctest.h>

#include "exported.hpp"

namespace form_mapping_tests {
namespace {

using tenon::AttributeValue;
using tenon::onnx::FormMapping;
using tenon::onnx::OnnxField;

/// Calls `check` with the mapping of each form of each bundled operator, and with the operator.
template <class Check>
void for_each_form(const Check& check) {
  exported::ExportHost on;
  const auto catalog = on.host.catalog();
  std::size_t forms = 0;
  for (const auto& op : catalog.operators())
    for (const auto& form : op.info.onnx) {
      const auto name = op.full_name() + " as " + form.type;
      CAPTURE(name);
      check(FormMapping(op.info, form), op.info);
      ++forms;
    }
  CHECK(forms > 100);
}

/// The mapping of the operator's form for ONNX's operator of this type and opset.
template <class Check>
void with_form(const std::string& type, int version, const Check& check) {
  exported::ExportHost on;
  const auto catalog = on.host.catalog();
  const auto claims = catalog.find_onnx("", type, version);
  REQUIRE(claims.size() == 1);
  check(FormMapping(claims[0].op->info, *claims[0].form));
}

}  // namespace

TEST_CASE("form mappings: a default that is written is read as the same value") {
  for_each_form([](const FormMapping& mapping, const tenon::OperatorInfo&) {
    for (const auto& one : mapping.params()) {
      const auto& first = *one.param;
      const auto& second = one.second != nullptr ? *one.second : first;
      CAPTURE(first.name);
      if (first.required || second.required) continue;
      const auto written = mapping.onnx_value(one, first.default_value, second.default_value);
      if (!written) continue;
      FormMapping::Params read;
      CHECK(mapping.read(one, *written, read) == "");
      CHECK(read.at(first.name) == first.default_value);
      CHECK(read.at(second.name) == second.default_value);

      const auto elements = tenon::onnx::elements_of(*written, tenon::f64);
      if (!one.field.input || !elements) continue;
      read.clear();
      CHECK(mapping.read(one, tenon::onnx::value_of(*elements), read) == "");
      CHECK(read.at(first.name) == first.default_value);
      CHECK(read.at(second.name) == second.default_value);
    }
  });
}

TEST_CASE("form mappings: an input is read from the position at which it is written") {
  for_each_form([](const FormMapping& mapping, const tenon::OperatorInfo& info) {
    const auto count = info.inputs.size();
    for (std::size_t i = 0; i < count + info.states.size(); ++i)
      if (const auto position = mapping.position_of(i, count))
        CHECK(mapping.input_at(*position) ==
              (i < count ? info.inputs[i].name : info.states[i - count].name));
    if (!info.variadic()) return;
    if (const auto position = mapping.position_of(count + 2, count + 3)) {
      CHECK(*position == *mapping.position_of(count - 1, count + 3) + 3);
      CHECK(mapping.input_at(*position) == info.inputs.back().name);
    }
  });
}

TEST_CASE("form mappings: halves become two parameters, and their concatenation is written") {
  with_form("Pad", 13, [](const FormMapping& mapping) {
    const auto* pads = mapping.find({1});
    REQUIRE(pads != nullptr);
    FormMapping::Params read;
    CHECK(mapping.read(*pads, {1, 2, 3, 4}, read) == "");
    CHECK(read.at("before") == AttributeValue{1, 2});
    CHECK(read.at("after") == AttributeValue{3, 4});
    CHECK(mapping.onnx_value(*pads, {1, 2}, {3, 4}) == AttributeValue{1, 2, 3, 4});
    CHECK(!mapping.onnx_value(*pads, {1, 2}, {3}));
    CHECK(mapping.read(*pads, {1, 2, 3}, read) == "its input 1 is not a list of even length");
    CHECK(mapping.is_required(*pads));
  });
}

TEST_CASE("form mappings: ONNX's scalars and lists of one element") {
  with_form("TopK", 13, [](const FormMapping& mapping) {
    const auto* k = mapping.find({1});
    REQUIRE(k != nullptr);
    CHECK(mapping.onnx_value(*k, 3, 3) == AttributeValue{3});
  });
  const auto scalar = tenon::onnx::elements_of(3, {});
  REQUIRE(scalar);
  CHECK(scalar->shape().rank() == 0);
  CHECK(tenon::onnx::value_of(*scalar) == AttributeValue(3));
  CHECK(!tenon::onnx::elements_of(0.5, {}));
  CHECK(!tenon::onnx::elements_of(1e300, tenon::f32));
  CHECK(!tenon::onnx::elements_of("text", tenon::f32));
}

TEST_CASE("form mappings: fields and values that are newer than the form") {
  with_form("Pad", 13, [](const FormMapping& mapping) {
    const OnnxField mode{{}, "mode"};
    const AttributeValue wrap = "wrap", edge = "edge";
    CHECK(mapping.since({2}) == 1);
    CHECK(mapping.since({3}) == 18);
    CHECK(mapping.since(mode) == 1);
    CHECK(mapping.since(mode, &edge) == 1);
    CHECK(mapping.since(mode, &wrap) == 19);
  });
  with_form("ScatterND", 18, [](const FormMapping& mapping) {
    const OnnxField reduction{{}, "reduction"};
    const AttributeValue add = "add", max = "max";
    CHECK(mapping.since(reduction, &add) == 16);
    CHECK(mapping.since(reduction, &max) == 18);
    REQUIRE(mapping.index_types(1));
    CHECK(mapping.index_types(1)->mask == tenon::Types{tenon::i64}.mask);
    CHECK(!mapping.index_types(0));
  });
}

}  // namespace form_mapping_tests
