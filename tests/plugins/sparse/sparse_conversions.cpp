// Conversion of sparse tensors between dtypes: values are converted like those of dense tensors,
// indices do not change.
#include <doctest/doctest.h>

#include <cmath>

#include "sparse.hpp"

using namespace plugin_tests;

namespace {

/// By the tests' own accessors; the numbers are multiples of 1/16, which all dtypes but the
/// integers represent.
Doubles converted(const Doubles& values, DType to) {
  Doubles result;
  for (const auto value : values)
    result.push_back(to == tenon::boolean ? value != 0
                     : to == tenon::i32   ? std::trunc(value)
                                          : value);
  return result;
}

bool same_places(const Tensor& left, const Tensor& right) {
  if (left.storage() != right.storage() || left.stored() != right.stored()) return false;
  if (left.storage() == Storage::row_sparse) return same_bits(left.row_ids(), right.row_ids());
  return same_bits(left.columns(), right.columns()) &&
         same_bits(left.row_starts(), right.row_starts());
}

}  // namespace

TEST_CASE(
    "cast of a sparse tensor converts the stored values and keeps their positions, even if values "
    "become 0") {
  auto all = patterns();
  all.push_back({"many rows", {700, 300}, 0.2, true});  // several chunks for each loop
  for (const auto& pattern : all)
    for (const auto storage : sparse_storages)
      for (const auto from : {tenon::f32, tenon::f16, tenon::f64})
        for (const auto to : {tenon::f32, tenon::f64, tenon::bf16, tenon::i32, tenon::boolean}) {
          CAPTURE(pattern.name);
          const std::string names = std::string(name(from)) + " to " + std::string(name(to));
          CAPTURE(names);
          const auto given = sparse_of(pattern, from, storage);
          for (const int threads : {1, 4}) {
            const auto found =
                strict_host(threads).call("cast", {given}, {{"dtype", std::string(name(to))}});
            CHECK(found.dtype() == to);
            CHECK(same_places(found, given));
            CHECK(expanded(found) == converted(expanded(given), to));
          }
        }
}

TEST_CASE(
    "the gradient of cast has the storage format of its output's gradient, and the dtype of its "
    "input") {
  for (const auto& pattern : patterns())
    for (const auto storage : sparse_storages) {
      CAPTURE(pattern.name);
      const auto x = sparse_of(pattern, tenon::f32, storage);
      for (const unsigned seed : {1U, 2U}) {  // the positions of x, and others
        const auto weights = sparse_of(pattern, tenon::f64, storage, seed);
        for (const auto& input : {x, cast_storage(x, Storage::dense)}) {
          const auto dx =
              gradient(strict_host(), "cast", {input}, {{"dtype", "float64"}}, 0, weights);
          CHECK(dx.dtype() == tenon::f32);
          CHECK(same_places(dx, cast_storage(weights, storage)));
          CHECK(expanded(dx) == expanded(weights));
        }
      }
      const auto weights = dense_of(pattern, tenon::f64, 3);
      const auto dx = gradient(strict_host(), "cast", {x}, {{"dtype", "float64"}}, 0, weights);
      CHECK(dx.storage() == Storage::dense);
      CHECK(expanded(dx) == expanded(weights));
    }
}
