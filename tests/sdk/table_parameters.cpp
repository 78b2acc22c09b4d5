// Lists of texts and small tensors as members: their defaults at compile time, copies, and create()
// with attributes.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <tenon/operator.hpp>
#include <tenon/table.hpp>
#include <utility>
#include <vector>

#include "../probe_operators.hpp"
#include "call_by_hand.hpp"
#include "check_says.hpp"

using tenon::Table;
using tenon::Texts;

namespace {

struct Members : tenon::Operator {
  Table<float> taps = {0.5f, 2};
  Table<std::int32_t> sizes = {1, 2, 3};
  Table<std::int64_t> wide;
  Table<double> exact;
  Texts names = {"mean", "sum"};
  Texts any;

  static constexpr void describe(auto& op) {
    op.doc("parameters of both kinds");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("taps", &Members::taps, "above 0").greater_than(0);
    op.param("sizes", &Members::sizes, "from 1 to 9").at_least(1).at_most(9);
    op.param("wide", &Members::wide, "any");
    op.param("exact", &Members::exact, "any");
    op.param("names", &Members::names, "choices").one_of({"mean", "sum", "max"});
    op.param("any", &Members::any, "texts");
    op.example({{"x", {2}}}, {{"names", {"max"}}, {"taps", {1, 2}}});
  }
  void forward(const tenon::Call&) const {}
};

// The class's description, which the compiler evaluated.
constexpr const auto& described = tenon::detail::description_of<Members>;
static_assert(described.params[0].kind == tenon::detail::Kind::tensor &&
              described.params[0].dtype == tenon::f32);
static_assert(described.params[0].values == 2 && described.floats[0] == 0.5 &&
              described.floats[1] == 2);
static_assert(described.params[1].values == 3 && described.ints[0] == 1 && described.ints[2] == 3);
static_assert(described.params[1].bounds[1].integer == 9);
static_assert(described.params[2].dtype == tenon::i64 && described.params[2].values == 0);
static_assert(described.params[4].kind == tenon::detail::Kind::texts &&
              described.params[4].values == 2);
static_assert(described.texts[0] == "mean" && described.texts[1] == "sum" &&
              described.texts[2] == "max");
static_assert(described.params[5].values == 0);
static_assert(described.fault == tenon::detail::ClassFault::none);

struct RawParameter {
  tenon_attribute attribute{};
  tenon_tensor tensor{};
  std::vector<std::int64_t> dims;

  static RawParameter texts(const char* name, std::string_view joined) {
    RawParameter parameter;
    parameter.attribute.name = name, parameter.attribute.kind = TENON_ATTR_TEXTS;
    parameter.attribute.text = joined.data(), parameter.attribute.count = joined.size();
    return parameter;
  }
  static RawParameter table(const char* name, tenon_dtype dtype, const void* elements,
                            std::vector<std::int64_t> dims) {
    RawParameter parameter;
    parameter.dims = std::move(dims);
    parameter.attribute.name = name, parameter.attribute.kind = TENON_ATTR_TENSOR;
    parameter.tensor.size = sizeof parameter.tensor,
    parameter.tensor.dtype = static_cast<std::uint8_t>(dtype);
    parameter.tensor.dense.data = const_cast<void*>(elements),
    parameter.tensor.dense.device_type = TENON_CPU;
    parameter.tensor.dense.ndim = static_cast<std::int32_t>(parameter.dims.size());
    return parameter;
  }
};

// The parameters of an object made from the attribute, or the error. `change` may invalidate what
// crosses the boundary.
std::string made_of(
    RawParameter parameter,
    void (*change)(tenon_attribute&, tenon_tensor&) = [](tenon_attribute&, tenon_tensor&) {}) {
  parameter.tensor.dense.shape = parameter.dims.data();
  if (parameter.attribute.kind == TENON_ATTR_TENSOR) parameter.attribute.tensor = &parameter.tensor;
  change(parameter.attribute, parameter.tensor);
  const auto* table = tenon::table_of<Members>();
  void* object = nullptr;
  by_hand::ErrorText error;
  if (table->create(&parameter.attribute, 1, &object, &error.raw) != 0) return error.text;
  std::string found;
  tenon::attributes_of(*static_cast<const Members*>(object),
                       [&](std::string_view name, const auto& value) {
                         if (name == parameter.attribute.name) found = tenon::join(value);
                       });
  table->destroy(object);
  return found;
}

// The literal's terminating zero byte ends the last text.
template <std::size_t size>
constexpr std::string_view joined(const char (&text)[size]) {
  return {text, size};
}

}  // namespace

TEST_CASE("table members: create() reads shapes and elements") {
  const float floats[] = {1, 2, 3, 0.5f};
  const std::int32_t integers[] = {9, 1};
  const std::int64_t wide[] = {std::numeric_limits<std::int64_t>::min()};
  const double exact[] = {0.1};
  CHECK(made_of(RawParameter::table("taps", TENON_F32, floats, {4})) == "[1, 2, 3, 0.5]");
  CHECK(made_of(RawParameter::table("taps", TENON_F32, floats, {2, 2})) ==
        "[2, 2] of 1, 2, 3, 0.5");
  CHECK(made_of(RawParameter::table("taps", TENON_F32, floats, {})) == "[] of 1");
  CHECK(made_of(RawParameter::table("taps", TENON_F32, nullptr, {0})) == "[]");
  CHECK(made_of(RawParameter::table("taps", TENON_F32, nullptr, {0, 3})) == "[0, 3] of ");
  CHECK(made_of(RawParameter::table("sizes", TENON_I32, integers, {2})) == "[9, 1]");
  CHECK(made_of(RawParameter::table("wide", TENON_I64, wide, {1})) == "[-9223372036854775808]");
  CHECK(made_of(RawParameter::table("exact", TENON_F64, exact, {1})) == "[0.1]");
  CHECK(made_of(RawParameter::table("taps", TENON_F32, floats, {3}),
                [](auto&, auto& tensor) { tensor.dense.byte_offset = 4; }) == "[2, 3, 0.5]");
}

TEST_CASE("table members: attributes that create() rejects") {
  const float floats[] = {1, 0, 3, 0.5f};
  const std::int32_t integers[] = {1, 10};
  CHECK(made_of(RawParameter::table("taps", TENON_F32, floats, {2})) ==
        "parameter 'taps' is 0 but must be greater than 0");
  CHECK(made_of(RawParameter::table("sizes", TENON_I32, integers, {2})) ==
        "parameter 'sizes' is 10 but must be at most 9");
  CHECK(made_of(RawParameter::table("wide", TENON_I32, integers, {2})) ==
        "parameter 'wide' must be an int64 tensor, not an int32 tensor [2]");
  CHECK(made_of(RawParameter::texts("taps", joined("a\0b"))) ==
        "parameter 'taps' must be a float32 tensor, not ['a', 'b']");
  const auto spoilt = [&](void (*change)(tenon_attribute&, tenon_tensor&)) {
    return made_of(RawParameter::table("exact", TENON_F64, floats, {1}), change);
  };
  check_says(spoilt([](auto&, auto& tensor) { tensor.dense.strides = tensor.dense.shape; }),
             {"parameter 'exact'", "dense, contiguous and in CPU memory", "a float64 tensor [1]"});
  CHECK(spoilt([](auto&, auto& tensor) { tensor.storage = TENON_CSR; }).find("must be dense") !=
        std::string::npos);
  CHECK(spoilt([](auto&, auto& tensor) {
          tensor.dense.device_type = TENON_CUDA;
        }).find("must be dense") != std::string::npos);
  CHECK(spoilt([](auto& attribute, auto&) { attribute.tensor = nullptr; }) ==
        "parameter 'exact' has no values");
  CHECK(spoilt([](auto&, auto& tensor) { tensor.dense.data = nullptr; }) ==
        "parameter 'exact' has no values");
}

TEST_CASE("text list members: create() reads each text, or reports what is wrong") {
  CHECK(made_of(RawParameter::texts("any", joined("a\0b"))) == "['a', 'b']");
  CHECK(made_of(RawParameter::texts("any", joined("\0"))) == "['', '']");
  CHECK(made_of(RawParameter::texts("any", {})) == "[]");
  CHECK(made_of(RawParameter::texts("names", joined("max\0mean"))) == "['max', 'mean']");
  CHECK(made_of(RawParameter::texts("names", joined("max\0min"))) ==
        "parameter 'names' is ['max', 'min'] but must be one of mean, sum, max");
  CHECK(made_of(RawParameter::texts("any", "abc")) ==
        "the last text of parameter 'any' does not end with a zero byte");
  CHECK(made_of(RawParameter::texts("any", joined("a\0b")), [](auto& attribute, auto&) {
          attribute.text = nullptr;
        }) == "parameter 'any' has no values");
  CHECK(made_of(RawParameter::texts("any", joined("a\0b")), [](auto& attribute, auto&) {
          attribute.kind = TENON_ATTR_TEXT;
        }).starts_with("parameter 'any' must be a list of texts, not 'a"));
  const std::string most(32, '\0'), more(33, '\0');
  CHECK(made_of(RawParameter::texts("any", most)).starts_with("['', ''"));
  CHECK(made_of(RawParameter::texts("any", more)) ==
        "parameter 'any' has 33 values, but a list parameter holds at most 32");
}

TEST_CASE("table members: copies own their elements, inline or on the heap") {
  for (const std::int64_t count : {0, 1, 32, 33, 1000}) {
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(0.5 * static_cast<double>(i));
    Table<double> table(tenon::Shape{count, 1}, numbers.data());
    std::fill(numbers.begin(), numbers.end(), -1);
    Table<double> copy = table, assigned = {1, 2};
    assigned = copy;
    const Table<double> moved = std::move(copy);
    table = {7};
    CAPTURE(count);
    for (const auto& other : {assigned, moved}) {
      REQUIRE(other.size() == count);
      CHECK(other.shape() == tenon::Shape{count, 1});
      for (std::int64_t i = 0; i < count; ++i) REQUIRE(other[i] == 0.5 * static_cast<double>(i));
    }
    CHECK(assigned == moved);
    CHECK_FALSE(assigned == table);
    CHECK(table.shape() == tenon::Shape{1});
  }
  CHECK(Table<float>().shape() == tenon::Shape{0});
  CHECK(tenon::join(Table<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}) == "[1, 2, 3, 4, 5, 6, 7, 8, ...]");
  const float more[33] = {};
  CHECK_THROWS_AS(
      (Table<float>{more[0], more[1], more[2], more[3], more[4], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0,       0,       0,       0,       0,       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      tenon::Error);
}

TEST_CASE("text list members: copies own their texts") {
  std::string text = "one";
  Texts first = {std::string_view(text), "two"};
  text = "ten";
  Texts second = first;
  first = {"three"};
  CHECK(tenon::join(second) == "['one', 'two']");
  CHECK(first == Texts{"three"});
  const Texts third = std::move(second);
  CHECK(third == Texts{"one", "two"});
}

TEST_CASE("needs: only operators with such parameters list them") {
  const auto says = [](const std::string& manifest) {
    return manifest.find("parameters") != std::string::npos &&
           manifest.find("needs") != std::string::npos;
  };
  CHECK(says(tenon::manifest_of<Members>("members")));
  CHECK_FALSE(says(tenon::manifest_of<probes::Copy>("plain")));
}
