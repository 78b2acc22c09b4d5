// Sparse matrices for the plugin tests, and a host that rejects implicit conversions to dense.
#pragma once
#include <string>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "plugins/numbers.hpp"
#include "tensor/expanded.hpp"

namespace plugin_tests {

using tenon::Storage;

inline const Storage sparse_storages[] = {Storage::csr, Storage::row_sparse};

/// A host with the bundled plugins. An operator without a kernel for a sparse tensor fails.
tenon::Host& strict_host(int threads = 4);

/// The number and positions of a matrix's stored elements.
struct Pattern {
  const char* name;
  Shape shape;
  double density;
  bool every_other_row = false;
};

/// Empty, of one element, without rows or columns, with rows of zeros, sparse, full.
const std::vector<Pattern>& patterns();

/// Elements are multiples of 1/16 in [-2, 2], so that the sums of these tests are exact.
Tensor dense_of(const Pattern& pattern, DType dtype, unsigned seed = 1);
inline Tensor sparse_of(const Pattern& pattern, DType dtype, Storage storage, unsigned seed = 1) {
  return tenon::cast_storage(dense_of(pattern, dtype, seed), storage);
}

/// The gradient of sum(weights * op(inputs)) with respect to inputs[which].
Tensor gradient(tenon::Host& host, const std::string& op, const std::vector<Tensor>& inputs,
                const Attributes& attributes, std::size_t which, const Tensor& weights);

}  // namespace plugin_tests
