// Packed constants: data that kernels precompute from constants, such as packed weights. A kernel
// is called once to count them and once to fill them.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "plan/tensor_table.hpp"

namespace tenon {

struct Plan;
class Kernels;

/// A packed constant: memory that is filled before a step's kernel is called.
struct PackedConstant {
  std::uint32_t step, slot;
  ValueId value;  ///< the constant that it is computed from
  std::string key;
  std::uint64_t bytes;
  bool operator==(const PackedConstant&) const = default;
};

struct PackingQuery {
  const Plan& plan;
  const Kernels& kernels;
  const TensorTable& tensors;  ///< the plan's constants
  int threads;                 ///< threads that a call may use
};

/// Called for each packed constant. `fill` writes it; it is not called when packed constants are
/// only counted. May throw Failure.
using PackConstant =
    std::function<void(const PackedConstant& constant, tenon_fill fill, void* fill_context)>;

/// Calls the prepare() of the step's kernel, if any. Throws Failure that names the node for errors
/// of prepare(), for invalid packed constants, and for errors of `pack`.
void query_packed_constants(const PackingQuery& query, std::uint32_t step,
                            const PackConstant& pack);

}  // namespace tenon
