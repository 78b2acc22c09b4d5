// One call of a sample, in memory that the check chose.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/tensor.hpp>

#include "check/check.hpp"
#include "check/guarded_memory.hpp"
#include "check/test_input.hpp"
#include "io/counted.hpp"
#include "run/operator_call.hpp"
#include "tensor/sparse_memory.hpp"

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
  /// Inputs hold what fill_input() says of `seed`. Outputs hold `fill`.
  TestCall(const OperatorCall& call, const TestInput& sample, std::uint64_t seed, Placement placement = Placement::apart,
           std::uint8_t fill = 0xc3);

  /// Throws Failure where the kernel refuses.
  void run(Threads& threads, tenon_write write = TENON_WRITE_TO);
  /// Output `output` becomes the memory of input `input`.
  void share(std::size_t input, std::size_t output) { outputs[output] = inputs[input]; }

  std::vector<Tensor> inputs, outputs, states;  ///< empty: an input that is left out

 private:
  const OperatorCall& call_;
  CallTypes types_;
  std::uint64_t seed_;
  Placement placement_;
  std::uint8_t fill_;
};

/// `input 'x'`, `output 'y'`.
std::string input_words(const OperatorInfo& info, std::size_t i);
std::string output_words(const OperatorCall& call, std::size_t i);
/// Memory for outputs that the kernel allocates; `outputs` are the tensors of the call, which must live as long.
SparseMemory::Source guarded_source(const OperatorCall& call, std::span<tenon_tensor* const> outputs, Placement placement,
                                    std::uint8_t fill);

/// indices: numbers from 0 to below that; 0: no indices.
void fill_with_numbers(const Tensor& tensor, std::uint64_t seed, int indices = 0);
/// What input i of a sample is filled with: indices 0 and 1 where they may point to rows or classes, 0 alone where some tensor has only
/// one.
int indices_of(const OperatorInfo& info, const CallTypes& types, std::size_t i);
/// Input i of the sample: the elements that it has, or numbers of its magnitude made from `seed`.
void fill_input(const Tensor& tensor, const OperatorInfo& info, const TestInput& sample, std::size_t i, std::uint64_t seed);
/// `, numbers of both signs`, of inputs; empty for small positive ones.
const char* words_for(Magnitude numbers);
/// All elements, stored or not.
std::vector<double> doubles_of(const Tensor& tensor);
/// Index of the first pair that differs; -1 where none does. A tensor that is left out equals another.
int first_difference(const std::vector<Tensor>& left, const std::vector<Tensor>& right);

/// Which numbers the inputs of samples hold: small positive ones, then both signs for all and large ones for some.
enum class Draws : std::uint8_t { positive, mixed };

/// The sample, and it with other indices where elements are made up: what is legal may follow from a parameter.
std::vector<TestInput> with_other_elements(const OperatorInfo& info, const TestInput& sample);

/// The first of them that the CPU's kernel accepts; nothing where it refuses all. Throws Failure for mistakes (see is_mistake()).
std::optional<TestInput> accepted_by_kernel(const CheckedOperator& subject, const TestInput& sample, Refusals& refusals);

/// `look(call, sample)` returns what is wrong, or nothing. The first fault is reported with its inputs. What a kernel refuses with a reason
/// is no fault; it is tried with other elements.
template <class Look>
Outcome each_sample(const CheckedOperator& subject, std::span<const TestInputKind> kinds, Look&& look, std::size_t most = 64,
                    Draws draws = Draws::mixed) {
  Refusals refusals;
  std::size_t count = 0;
  const auto try_with = [&](const TestInput& sample) -> std::optional<std::string> {
    tell_call(*subject.op.info, sample, words_for(sample.numbers));
    const OperatorCall call(subject.op, sample.attributes);
    try {
      return look(call, sample);
    } catch (const Failure& failure) {
      if (is_mistake(failure)) throw;
      refusals.add(Refusals::kernel, failure.what());
      return std::nullopt;
    }
  };
  for (const auto kind : kinds) {
    const auto& samples = find_samples(subject, kind);
    refusals.add(samples.refusals);
    for (std::size_t i = 0; i < std::min(most, samples.found.size()); ++i) {
      auto sample = samples.found[i];
      for (const auto numbers : {Magnitude::positive, Magnitude::ordinary, Magnitude::large}) {
        if (numbers != Magnitude::positive && (draws == Draws::positive || (numbers == Magnitude::large && i % 4 != 0))) continue;
        sample.numbers = numbers;
        auto fault = try_with(sample);
        if (!fault && numbers == Magnitude::positive) {
          const auto accepted = accepted_by_kernel(subject, sample, refusals);
          if (!accepted) continue;
          fault = try_with(sample = *accepted);
        }
        if (!fault) continue;
        ++count;
        if (!fault->empty()) return failed(*fault + ", with " + describe_sample(*subject.op.info, sample) + words_for(numbers));
      }
    }
  }
  if (count == 0) return untried(refusals);
  return passed(counted(count, "call"));
}
template <class Look>
Outcome each_sample(const CheckedOperator& subject, TestInputKind kind, Look&& look, std::size_t most = 64, Draws draws = Draws::mixed) {
  return each_sample(subject, std::span(&kind, 1), look, most, draws);
}
/// All kinds but the large.
inline constexpr TestInputKind all_kinds[] = {TestInputKind::ordinary, TestInputKind::odd, TestInputKind::scalar, TestInputKind::empty};

/// Fills the stored values. Integers are whole numbers from -16 to 16, or from 0, whatever the magnitude.
void fill_with_mixed_numbers(const Tensor& tensor, Magnitude magnitude, std::uint64_t seed);

/// Whether a warning of the host says that a function left them changed.
inline bool is_about_float_modes(const std::string& warning) {
  return warning.find("floating-point modes") != std::string::npos;
}

/// A host with the subject's plugins, on one thread.
HostOptions host_options(const CheckedOperator& subject);
/// Gives the host the subject, and what it may need besides.
void add_operators(Host& host, const CheckedOperator& subject);

/// Its inputs are `input_0`, `input_1` ... as graph inputs; those that the sample leaves out are empty, and those whose elements it has are
/// constants, unless they are floating. The node is called `node`.
struct SingleNode {
  /// `fixed`: elements of inputs that are variables instead; empty tensors for the others.
  SingleNode(Host& host, const LoadedOperator& op, const TestInput& sample, const std::vector<Tensor>& fixed = {});
  /// Outputs `gradient_0` ... by all floating inputs, if the operator has a gradient.
  void add_gradients(const TestInput& sample);
  static bool is_input(const TestInput& sample, std::size_t i) {
    return sample.types.inputs[i].present && (!sample.has_elements(i) || is_floating(sample.types.inputs[i]));
  }
  Graph graph;
  std::vector<Value> inputs;
  Value output;
};

}  // namespace tenon::checks
