// One call of a sample, in memory that the check chose.
#pragma once
#include <tenon/tensor.hpp>

#include "cli/check/guarded_memory.hpp"
#include "cli/check/sample.hpp"
#include "run/operator_call.hpp"

namespace tenon::cli {

class Trial {
 public:
  /// Inputs hold numbers made from `seed`: floating ones in (0.1, 0.9), integers from 1 to 4, indices 0 or 1. Outputs hold `fill`.
  Trial(const OperatorCall& call, const Sample& sample, std::uint64_t seed, Placement placement = Placement::apart,
        std::uint8_t fill = 0xc3);

  /// Throws Failure where the kernel refuses.
  void run(Threads& threads, tenon_write write = TENON_WRITE_TO);
  /// Output `output` becomes the memory of input `input`.
  void share(std::size_t input, std::size_t output) { outputs[output] = inputs[input]; }

  std::vector<Tensor> inputs, outputs, states;  ///< empty: an input that is left out

 private:
  const OperatorCall& call_;
  OperatorTypes types_;
  std::uint64_t seed_;
};

/// indices: numbers from 0 to below that; 0: no indices.
void fill_with_numbers(const Tensor& tensor, std::uint64_t seed, int indices = 0);
/// What input i of a sample is filled with: indices 0 and 1 where they may point to rows or classes, 0 alone where some tensor has only
/// one.
int indices_of(const OperatorInfo& info, const OperatorTypes& types, std::size_t i);
/// All elements, stored or not.
std::vector<double> doubles_of(const Tensor& tensor);
/// Index of the first pair that differs; -1 where none does. A tensor that is left out equals another.
int first_difference(const std::vector<Tensor>& left, const std::vector<Tensor>& right);

}  // namespace tenon::cli
