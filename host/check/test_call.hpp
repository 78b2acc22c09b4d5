// One call of a sample, in memory that the check chose.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/tensor.hpp>

#include "check/check.hpp"
#include "check/guarded_memory.hpp"
#include "check/test_input.hpp"
#include "run/operator_call.hpp"

namespace tenon::checks {

/// Random bits, from a generator that begins in no time: most tensors of trials have a few elements. SplitMix64; source: Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class RandomBits {
 public:
  explicit RandomBits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t bits = state_ += 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
    return bits ^ (bits >> 31);
  }

 private:
  std::uint64_t state_;
};

class TestCall {
 public:
  /// Inputs hold numbers made from `seed`: floating ones in (0.1, 0.9), integers from 1 to 4, indices 0 or 1. Outputs hold `fill`.
  TestCall(const OperatorCall& call, const TestInput& sample, std::uint64_t seed, Placement placement = Placement::apart,
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

/// `look(call, sample)` returns what is wrong, or nothing. The first fault is reported with its inputs.
template <class Look>
Outcome each_sample(const CheckedOperator& subject, TestInputKind kind, Look&& look, std::size_t most = 24) {
  const auto samples = find_samples(subject.op, kind);
  if (samples.found.empty()) return skipped("no inputs were found that it accepts: " + samples.error);
  std::size_t count = 0;
  for (const auto& sample : samples.found) {
    if (count == most) break;
    ++count;
    const OperatorCall call(subject.op, sample.attributes);
    const std::string fault = look(call, sample);
    if (!fault.empty()) return failed(fault + ", with " + describe_sample(*subject.op.info, sample));
  }
  return passed(std::to_string(count) + (count == 1 ? " call" : " calls"));
}

enum class Magnitude : std::uint8_t {
  positive,  ///< as fill_with_numbers() has them: (0.1, 0.9)
  ordinary,  ///< quarters from -16 to 16
  large,     ///< 1024 times those
  small,     ///< a 1024th of those
  special    ///< those, and infinities, nan, the largest and the least numbers
};

/// Fills the stored values. Integers are whole numbers from -16 to 16, or from 0, whatever the magnitude.
void fill_with_mixed_numbers(const Tensor& tensor, Magnitude magnitude, std::uint64_t seed);

/// Whether a warning of the host says that a function left them changed.
inline bool is_about_float_modes(const std::string& warning) {
  return warning.find("floating-point modes") != std::string::npos;
}

/// A host with the subject's plugins, on one thread.
HostOptions host_options(const CheckedOperator& subject);

/// Its inputs are `input_0`, `input_1` ... as graph inputs; those that the sample leaves out are empty. The node is called `node`.
struct SingleNode {
  SingleNode(Host& host, const LoadedOperator& op, const TestInput& sample);
  Graph graph;
  std::vector<Value> inputs;
  Value output;
};

}  // namespace tenon::checks
