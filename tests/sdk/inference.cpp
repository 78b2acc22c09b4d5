// The dtype of an output that infer() gives none: the one that inputs without types of their own share.
#include <doctest/doctest.h>

#include "call_by_hand.hpp"

namespace {

using tenon::DType;
constexpr DType none = tenon::unknown_dtype;

struct Choose : tenon::Operator {
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

struct Place : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("indices are all it has");
    op.input("index", "any shape").types(tenon::integral);
    op.output("same", "same shape");
  }
  void forward(const tenon::Call&) const {}
};

DType output_dtype(const tenon_operator* table, const std::vector<DType>& inputs) {
  std::vector<tenon_type> in;
  for (const auto dtype : inputs) {
    auto& type = in.emplace_back();
    type.rank = -1;
    type.dtype = static_cast<std::uint8_t>(dtype);
    type.present = 1;
  }
  tenon_type out{};
  out.rank = -1;
  out.dtype = TENON_DTYPE_UNKNOWN;
  by_hand::ErrorText error;
  tenon_infer io{};
  io.size = sizeof io;
  io.error = &error.raw;
  io.input_count = static_cast<std::uint32_t>(in.size());
  io.output_count = 1;
  io.inputs = in.data();
  io.outputs = &out;
  const by_hand::Instance instance(table);
  REQUIRE_MESSAGE(table->infer(instance.object(), &io) == 0, error.text);
  return static_cast<DType>(out.dtype);
}

}  // namespace

TEST_CASE("an output without a dtype has the shared one") {
  const auto* choose = tenon::table_of<Choose>();
  CHECK(output_dtype(choose, {tenon::boolean, tenon::f64, tenon::f64}) == tenon::f64);
  CHECK(output_dtype(choose, {tenon::boolean, none, none}) == none);  // the condition's says nothing of it
  CHECK(output_dtype(tenon::table_of<Place>(), {tenon::i32}) == tenon::i32);
}
