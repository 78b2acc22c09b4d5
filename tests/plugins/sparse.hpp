// Sparse matrices of the plugin tests, and a host that refuses to make them dense behind a test's back.
#pragma once
#include <string>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "numbers.hpp"
#include "tensor/expanded.hpp"

namespace plugin_tests {

using tenon::Storage;

inline const Storage sparse_storages[] = {Storage::csr, Storage::row_sparse};

/// Knows the bundled plugins. A sparse tensor without a sparse kernel is a failure.
tenon::Host& strict_host(int threads = 4);

/// How much of a matrix is stored, and where.
struct Pattern {
  const char* name;
  Shape shape;
  double density;
  bool every_other_row = false;
};

/// Empty, of one element, without rows or columns, with rows of zeros, sparse, full.
const std::vector<Pattern>& patterns();

/// Elements are multiples of 1/16 between -2 and 2, so that the sums of these tests are exact.
Tensor dense_of(const Pattern& pattern, DType dtype, unsigned seed = 1);
inline Tensor sparse_of(const Pattern& pattern, DType dtype, Storage storage, unsigned seed = 1) {
  return tenon::cast_storage(dense_of(pattern, dtype, seed), storage);
}

/// The gradient of sum(weights * op(inputs)) by inputs[which].
Tensor gradient(tenon::Host& host, const std::string& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                std::size_t which, const Tensor& weights);

}  // namespace plugin_tests
