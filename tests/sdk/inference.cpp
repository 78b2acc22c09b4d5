// The dtype of an output that gets none from infer(): that of the inputs without types of their
// own.
#include <doctest/doctest.h>

#include "call_by_hand.hpp"

namespace {

using tenon::DType;
constexpr DType none = tenon::unknown_dtype;

struct ChooseOperator : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("yes where the condition holds, no elsewhere");
    op.input("condition", "any shape").types({tenon::boolean});
    op.input("yes", "same shape");
    op.input("no", "same shape");
    op.output("chosen", "same shape");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call&) const {}
};

struct IndicesOnly : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("indices are all it has");
    op.input("index", "any shape").types(tenon::integral);
    op.output("same", "same shape");
  }
  void forward(const tenon::Call&) const {}
};

/// Sets the dtype of one output, but not that of the other.
struct Arg : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("an index");
    op.input("data", "any shape");
    op.output("index", "one");
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, {1}, tenon::i64);
    io.set_output("index", {1});
  }
  void forward(const tenon::Call&) const {}
};

DType output_dtype(const tenon_operator* table, const std::vector<DType>& inputs,
                   DType known = none, std::string* error_text = nullptr) {
  std::vector<tenon_type> in;
  for (const auto dtype : inputs) {
    auto& type = in.emplace_back();
    type.rank = -1;
    type.dtype = static_cast<std::uint8_t>(dtype);
    type.present = 1;
  }
  tenon_type out{};
  out.rank = -1;
  out.dtype = static_cast<std::uint8_t>(known);
  by_hand::ErrorText error;
  tenon_infer io{};
  io.size = sizeof io;
  io.error = &error.raw;
  io.input_count = static_cast<std::uint32_t>(in.size());
  io.output_count = 1;
  io.inputs = in.data();
  io.outputs = &out;
  const by_hand::Instance instance(table);
  const bool refused = table->infer(instance.object(), &io) != 0;
  if (refused && error_text != nullptr) *error_text = error.text;
  REQUIRE_MESSAGE((!refused || error_text != nullptr), error.text);
  CHECK(out.layout == 0);
  return static_cast<DType>(out.dtype);
}

}  // namespace

TEST_CASE("an output without a dtype has the shared one") {
  const auto* choose = tenon::table_of<ChooseOperator>();
  CHECK(output_dtype(choose, {tenon::boolean, tenon::f64, tenon::f64}) == tenon::f64);
  CHECK(output_dtype(choose, {tenon::boolean, none, none}) ==
        none);  // the condition's dtype does not count
  CHECK(output_dtype(tenon::table_of<IndicesOnly>(), {tenon::i32}) == tenon::i32);
}

TEST_CASE(
    "an output that is known to have another dtype is rejected, whether or not infer() sets one") {
  std::string error_text;
  output_dtype(tenon::table_of<ChooseOperator>(), {tenon::boolean, tenon::f32, tenon::f32},
               tenon::i8, &error_text);
  CHECK(error_text == "output 'chosen' is int8 but needs float32");
  output_dtype(tenon::table_of<IndicesOnly>(), {tenon::i32}, tenon::i64, &error_text);
  CHECK(error_text == "output 'same' is int64 but needs int32");
  CHECK(output_dtype(tenon::table_of<ChooseOperator>(), {tenon::boolean, none, none}, tenon::f64) ==
        tenon::f64);
  CHECK(output_dtype(tenon::table_of<ChooseOperator>(), {tenon::boolean, tenon::f64, tenon::f64},
                     tenon::f64) == tenon::f64);
}

TEST_CASE("an output's dtype needs to be set only once") {
  CHECK(output_dtype(tenon::table_of<Arg>(), {tenon::f32}) == tenon::i64);
}
