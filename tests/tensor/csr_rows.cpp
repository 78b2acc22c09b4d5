#include <doctest/doctest.h>

#include <random>
#include <tenon/host/cast_storage.hpp>

#include "expanded.hpp"
#include "tensor/sparse/rows.hpp"

using namespace tenon;

TEST_CASE("csr_rows: selected rows equal those of the dense matrix, in the requested order") {
  std::mt19937 random(3);
  for (const Shape& shape : {Shape{7, 5}, Shape{1, 1}, Shape{30, 12}, Shape{4, 0}}) {
    for (const DType index : {i32, i64}) {
      const Tensor dense = Tensor::zeros(f64, shape);
      for (double& value : dense.values<double>()) value = random() % 3 == 0 ? 1 + random() % 9 : 0;
      const Tensor csr = cast_storage(dense, Storage::csr, index);
      for (const std::size_t count : {0, 1, 4, 50}) {
        std::vector<std::int64_t> rows;
        std::vector<double> expected;
        for (std::size_t i = 0; i < count; ++i) {
          rows.push_back(static_cast<std::int64_t>(random()) % shape[0]);
          for (std::int64_t column = 0; column < shape[1]; ++column)
            expected.push_back(dense.data<double>()[rows.back() * shape[1] + column]);
        }
        const Tensor taken = csr_rows(csr, rows);
        CHECK(taken.shape() == Shape{static_cast<std::int64_t>(count), shape[1]});
        CHECK(taken.index_dtype() == index);
        CHECK(expanded(taken) == expected);
      }
    }
  }
}
