// Tells whether two results of a call differ because rounding decides on which side of a jump or
// kink a sum lies, which is not a fault.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon::checks {

/// Small relative changes of the inputs of a call.
class Displacement {
 public:
  /// Factors are from 1 - size to 1 + size.
  Displacement(std::uint64_t seed, double size) : seed_(seed), size_(size) {}
  /// Changes the stored values of input `index`. Zeros stay zeros, and so do integers.
  void displace(const Tensor& input, std::size_t index) const;

 private:
  std::uint64_t seed_;
  double size_;
};

/// An element that differs too much between the results of the reference and of the tested call.
struct DifferingElement {
  std::size_t tensor, element;
  double expected, found;
  std::function<bool(double expected, double found)> is_near;
};

/// Calls at inputs close to those of a comparison. They run only if results differ.
class NearbyCalls {
 public:
  /// The results with displaced inputs; nothing if the call is refused.
  using Results = std::optional<std::vector<Tensor>>;
  using Call = std::function<Results(const Displacement&)>;
  /// `precise` is the reference in float64 or complex128; empty if the results already have such a
  /// dtype, or if the operator does not support it.
  NearbyCalls(DType dtype, Call reference, Call tested, Call precise)
      : dtype_(dtype),
        reference_(std::move(reference)),
        tested_(std::move(tested)),
        precise_(std::move(precise)) {}

  /// Whether the function jumps at the inputs, within rounding but not exactly there: at almost all
  /// inputs nearby the results agree, at some of them the reference has the differing value, and
  /// changes far below the rounding of the dtype do not lead from one value to the other. The last
  /// condition is false where inputs are exactly at a jump, such as those of a clip at its bound:
  /// there a difference is a fault.
  bool explain(const DifferingElement& differing);
  bool ran() const { return ran_; }

 private:
  struct Pair {
    std::vector<Tensor> expected, found;
  };
  void run();

  DType dtype_;
  Call reference_, tested_, precise_;
  bool ran_ = false;
  std::vector<Pair> pairs_;
  std::size_t refused_ = 0;  // calls that only the tested kernel refuses
  std::vector<std::vector<Tensor>> precise_results_;
};

/// The tensors that run() returns in a range or map; nothing if the call is refused.
template <class Run>
NearbyCalls::Results results_of(Run&& run) {
  try {
    std::vector<Tensor> results;
    for (const auto& result : run()) {
      if constexpr (requires { result.second; })
        results.push_back(result.second);
      else
        results.push_back(result);
    }
    return results;
  } catch (const Failure&) {
    return std::nullopt;
  }
}

/// The dtype in which rounding decides nothing that a check could see.
constexpr DType widest_dtype(DType dtype) {
  if (dtype == DType::c64) return DType::c128;
  return floating.has(dtype) ? DType::f64 : dtype;
}

}  // namespace tenon::checks
