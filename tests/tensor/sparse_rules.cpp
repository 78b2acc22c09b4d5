#include "tensor/sparse/sparse_rules.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "graph/inference/type.hpp"

using namespace tenon;

namespace {

template <class Index>
std::string csr(std::int64_t rows, std::int64_t columns, const std::vector<Index>& starts,
                const std::vector<Index>& indices, std::size_t values, std::uint64_t stored) {
  const std::vector<float> floats(values);
  SparseBuffers parts{type_of(f32, {rows, columns}),
                      stored,
                      dtype_of<Index> == i32 ? std::uint8_t{TENON_I32} : std::uint8_t{TENON_I64},
                      std::as_bytes(std::span(floats)),
                      std::as_bytes(std::span(indices)),
                      std::as_bytes(std::span(starts))};
  parts.type.storage = TENON_CSR;
  return sparse_fault(parts);
}

std::string rows(const Shape& shape, const std::vector<std::int64_t>& indices, std::size_t values,
                 std::uint64_t stored) {
  const std::vector<float> floats(values);
  SparseBuffers parts{type_of(f32, shape),
                      stored,
                      TENON_I64,
                      std::as_bytes(std::span(floats)),
                      std::as_bytes(std::span(indices)),
                      {}};
  parts.type.storage = TENON_ROW_SPARSE;
  return sparse_fault(parts);
}

}  // namespace

TEST_CASE("sparse rules: valid csr tensors") {
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 3}, {0, 2, 1}, 3, 3) == "");
  CHECK(csr<std::int32_t>(2, 3, {0, 2, 3}, {0, 2, 1}, 3, 3) == "");
  CHECK(csr<std::int64_t>(3, 3, {0, 0, 0, 0}, {}, 0, 0) == "");
  CHECK(csr<std::int64_t>(0, 3, {0}, {}, 0, 0) == "");
}

TEST_CASE("sparse rules: invalid csr tensors") {
  CHECK(csr<std::int64_t>(2, 3, {0, 3}, {0, 2, 1}, 3, 3) ==
        "its row starts take 16 bytes, but need 3 entries of 8 bytes");
  CHECK(csr<std::int32_t>(2, 3, {0, 2, 3}, {0, 2}, 3, 3) ==
        "its indices take 8 bytes, but need 3 entries of 4 bytes");
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 3}, {0, 2, 1}, 2, 3) ==
        "its values take 8 bytes, but need 3 entries of 4 bytes");
  check_says(csr<std::int64_t>(2, 3, {0, 2, 3}, {0, 2, 1}, 3, std::uint64_t{1} << 63),
             {"values take 12 bytes", "9223372036854775808 entries of 4 bytes"});
  CHECK(csr<std::int64_t>(INT64_MAX, 3, {0, 2, 3}, {0, 2, 1}, 3, 3) ==
        "it has more rows than can be counted");
  CHECK(csr<std::int64_t>(2, 3, {1, 2, 3}, {0, 2, 1}, 3, 3) ==
        "its row starts go from 1 to 3, not from 0 to 3");
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 4}, {0, 2, 1}, 3, 3) ==
        "its row starts go from 0 to 4, not from 0 to 3");
  CHECK(csr<std::int64_t>(3, 3, {0, 4, 2, 3}, {0, 2, 1}, 3, 3) ==
        "row 1 starts at 4, but row 2 starts at 2: row starts must not decrease");
  check_says(csr<std::int64_t>(3, 3, {0, -1, 2, 3}, {0, 2, 1}, 3, 3),
             {"row 0 starts at 0", "row 1 starts at -1"});
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 3}, {0, 3, 1}, 3, 3) ==
        "column index 1 is 3, but there are 3 columns");
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 3}, {-1, 2, 1}, 3, 3) ==
        "column index 0 is -1, but there are 3 columns");
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 3}, {2, 0, 1}, 3, 3) ==
        "column 1 is 0, after 2: they must be strictly increasing");
  CHECK(csr<std::int64_t>(2, 3, {0, 2, 3}, {1, 1, 1}, 3, 3) ==
        "column 1 is 1, after 1: they must be strictly increasing");
}

TEST_CASE("sparse rules: row_sparse tensors") {
  CHECK(rows({5, 2}, {0, 4}, 4, 2) == "");
  CHECK(rows({5}, {1}, 1, 1) == "");
  CHECK(rows({5, 0}, {0, 1, 2}, 0, 3) == "");
  CHECK(rows(Shape::scalar(), {}, 0, 0) == "row_sparse needs at least one dimension");
  CHECK(rows({5, 2}, {0, 4}, 3, 2) == "its values take 12 bytes, but need 2 entries of 8 bytes");
  CHECK(rows({5, 2}, {0, 5}, 4, 2) == "row index 1 is 5, but there are 5 rows");
  CHECK(rows({5, 2}, {4, 0}, 4, 2) == "row 1 is 0, after 4: they must be strictly increasing");
  CHECK(rows({0, INT64_MAX, INT64_MAX}, {}, 0, 0) == "its rows are too long to count");
}
