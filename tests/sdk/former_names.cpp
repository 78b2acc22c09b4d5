// Deprecated names of the SDK still compile, and mean what they did.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <tenon/elementwise.hpp>
#include <tenon/gpu/row_major.hpp>
#include <tenon/gpu/search.hpp>
#include <tenon/onnx_words.hpp>
#include <tenon/operator.hpp>
#include <tenon/same_places.hpp>
#include <tenon/words.hpp>
#include <type_traits>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

/// Never called: it compiles.
struct FormerNames : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("copies x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.types({tenon::f32});
  }
  void infer_storage(tenon::InferStorage& io) const { tenon::keep_places(io); }
  void prepare(tenon::Prepare& io) const {
    io.keep(0, "x", "zeros", 4, [](void*) {});
  }
  void forward(const tenon::Call& call) const {
    const tenon::SamePlaces values(call, tenon::copy_indices);
    tenon::elementwise::for_each_part(call, values.count(), 1,
                                      [&](std::int64_t begin, std::int64_t end) {
                                        for (auto i = begin; i < end; ++i)
                                          values.written<float>()[i] = values.read<float>()[i];
                                      });
    if (call.kept(0)) return;
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
};

}  // namespace

TEST_CASE("former names of the SDK forward to today's") {
  CHECK(tenon::table_of<FormerNames>() != nullptr);
  static_assert(std::is_same_v<tenon::Part, tenon::MessagePart>);
  static_assert(tenon::elementwise::least<std::int8_t> == -128);
  static_assert(tenon::elementwise::most<std::int8_t> == 127);
  const std::int64_t list[] = {2, 3, 5};
  CHECK(tenon::gpu::place_of(list, 3, 5) == 2);
  CHECK(tenon::gpu::place_of(list, 3, 4) == -1);
  tenon::gpu::RowMajor box;
  box.push(2), box.push(3);
  std::vector<std::int64_t> found;
  box.each_place(5, [&](int, auto index) { found.push_back(index); });
  CHECK(found == std::vector<std::int64_t>{2, 1});
}

#pragma GCC diagnostic pop
