// The interface between an operator's class and the generic code: one loop over a block, and the
// tensors that it reads and writes. Everything else (dtypes, broadcasting, strides, write modes,
// threads) is the same for every class and compiled once per plugin.
#pragma once

#include <cstdint>

#include "../abi.h"
#include "../dtype.hpp"
#include "../version.hpp"
#include "convert.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Computes out[i] = f(in[0][i], in[1][i] ...) for i in [0, n), all contiguous. out may be exactly
/// one of the inputs.
using Loop = void (*)(const void* op, const void* const* in, void* out, std::int64_t n);

/// Computes to[i] += values[i].
using Accumulate = void (*)(const void* values, void* to, std::int64_t n);

/// Maximum number of tensors that a loop reads: the inputs, and in backward the output and its
/// gradient.
inline constexpr int max_sources = 8;
/// Maximum number of inputs of an elementwise operator.
inline constexpr int max_inputs = max_sources - 2;
/// Elements per chunk of a thread.
inline constexpr std::int64_t grain = 16384;

struct Job {
  const void* op;
  Loop loop;
  Accumulate accumulate;
  Convert convert;
  DType compute, result;  ///< dtypes that the loop reads and writes
  tenon_tensor* output;
  Write write;
  int source_count = 0;
  const tenon_tensor* sources[max_sources] = {};  ///< null: zeros

  void read(const tenon_tensor* tensor) { sources[source_count++] = tensor; }
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
