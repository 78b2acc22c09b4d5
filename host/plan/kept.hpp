// What kernels keep of constants, such as a packed weight: asked of them once to count it, and once more to fill it.
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

/// Memory that a step's kernel finds filled whenever it is called.
struct KeptPart {
  std::uint32_t step, slot;
  ValueId value;  ///< the constant that it is made of
  std::string key;
  std::uint64_t bytes;
  bool operator==(const KeptPart&) const = default;
};

struct KeptQuestion {
  const Plan& plan;
  const Kernels& kernels;
  const TensorTable& tensors;  ///< of the plan's constants
  int threads;                 ///< that a call may use
};

/// What to do with a part; `fill` writes it, and is not called where it is only counted. May throw Failure.
using KeepPart = std::function<void(const KeptPart& part, tenon_fill fill, void* fill_context)>;

/// Asks the step's kernel, if it has prepare(). Throws Failure that names the node for what prepare() refuses, for a part that cannot be,
/// and for what `keep` throws.
void ask_kernel(const KeptQuestion& question, std::uint32_t step, const KeepPart& keep);

}  // namespace tenon
