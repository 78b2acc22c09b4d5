// embedding against its definition.
#include <doctest/doctest.h>

#include "check_says.hpp"
#include "plugins/check.hpp"

namespace {

Case embedding(const tenon::Shape& indices, std::int64_t rows, std::int64_t columns,
               tenon::DType dtype, tenon::DType index_dtype) {
  return {tenon::join(dtype, " ", indices, " ", index_dtype),
          "nn",
          "embedding",
          {{"input_dim", rows}, {"output_dim", columns}},
          {Array(index_dtype, random_indices(indices, static_cast<unsigned>(rows), 1)),
           Array(dtype, random_doubles({rows, columns}, 2))},
          [=](const std::vector<DoubleArray>& in) {
            auto shape = tenon::Shape::of_rank(indices.rank() + 1);
            for (int axis = 0; axis < indices.rank(); ++axis) shape.set(axis, indices[axis]);
            shape.set(-1, columns);
            auto output = zeros(shape);
            for (std::int64_t i = 0; i < output.size(); ++i)
              output[i] =
                  in[1][static_cast<std::int64_t>(in[0][i / columns]) * columns + i % columns];
            return std::vector{output};
          },
          {1},
          dtype == tenon::f64   ? 1e-9
          : dtype == tenon::f32 ? 1e-5
                                : 3e-2};
}

}  // namespace

TEST_CASE("embedding matches its definition, and its gradient sums over repeated indices") {
  for (const tenon::Shape& indices :
       {tenon::Shape::scalar(), {1}, {7}, {3, 5}, {2, 3, 4}, {300}, {0}})
    for (const auto dtype : {tenon::f32, tenon::f64, tenon::f16, tenon::bf16})
      for (const auto index_dtype : {tenon::i64, tenon::i32, tenon::u8, tenon::i8})
        check(embedding(indices, 10, 3, dtype, index_dtype));
  check(embedding({40, 30}, 100, 200, tenon::f32, tenon::i32));
}

TEST_CASE("embedding refuses an index out of range, and names its position") {
  auto wrong = embedding({2, 2}, 10, 3, tenon::f32, tenon::i32);
  wrong.inputs[0] = Array(tenon::i32, DoubleArray{{2, 2}, {0, 9, 10, 3}});
  CHECK(error_of(wrong) == "indices[1, 0] is 10, but there are 10 rows in weight: needs 0 to 9");
  wrong.inputs[0] = Array(tenon::i32, DoubleArray{{2, 2}, {0, -1, 1, 3}});
  CHECK(error_of(wrong) == "indices[0, 1] is -1, but there are 10 rows in weight: needs 0 to 9");
}

TEST_CASE("embedding refuses inconsistent shapes") {
  const tenon::Attributes given{{"input_dim", 10}, {"output_dim", 3}};
  CHECK(error_of("nn", "embedding", given, {{{4}, tenon::i32}, {{10, 4}, tenon::f32}}) ==
        "input 'weight' is [10, 4] but needs [10, 3]");
  check_says(error_of("nn", "embedding", given,
                      {{tenon::Shape{1, 1, 1, 1, 1, 1, 1, 1}, tenon::i32}, {{}, tenon::f32}}),
             {"indices is [1, 1, 1, 1, 1, 1, 1, 1]", "at most 7 dimensions"});
}
