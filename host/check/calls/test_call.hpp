// One call of a sample, in memory controlled by the check.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/tensor.hpp>

#include "check/calls/guarded_memory.hpp"
#include "check/check.hpp"
#include "check/test_input.hpp"
#include "io/counted.hpp"
#include "run/calls/operator_call.hpp"
#include "tensor/sparse/sparse_memory.hpp"

namespace tenon::checks {

/// SplitMix64, which is cheap to seed: most tensors of checks have few elements. Source: Steele,
/// Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
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
  /// Inputs are filled by fill_input() with `seed`, outputs with `fill`.
  TestCall(const OperatorCall& call, const TestInput& sample, std::uint64_t seed,
           Placement placement = Placement::aligned, std::uint8_t fill = 0xc3);

  /// Throws Failure if the kernel rejects the call.
  void run(Threads& threads, tenon_write write = TENON_WRITE_TO);
  /// Makes output `output` share the memory of input `input`.
  void share(std::size_t input, std::size_t output) { outputs[output] = inputs[input]; }

  std::vector<Tensor> inputs, outputs, states;  ///< empty for omitted inputs

 private:
  const OperatorCall& call_;
  CallTypes types_;
  std::uint64_t seed_;
  Placement placement_;
  std::uint8_t fill_;
};

/// As in `input 'x'`, `output 'y'`.
std::string input_label(const OperatorInfo& info, std::size_t i);
std::string output_label(const OperatorCall& call, std::size_t i);
/// Memory for outputs that the kernel allocates. `outputs`, the tensors of the call, must outlive
/// the result.
SparseMemory::Source guarded_source(const OperatorCall& call,
                                    std::span<tenon_tensor* const> outputs, Placement placement,
                                    std::uint8_t fill);

/// `indices`: if not 0, numbers are indices below it.
void fill_with_numbers(const Tensor& tensor, std::uint64_t seed, int indices = 0);
/// Number of valid indices for input i of a sample: 2 if it may index rows or classes, 1 if some
/// tensor has only one; 0 if it holds no indices.
int indices_of(const OperatorInfo& info, const CallTypes& types, std::size_t i);
/// Fills with input i of the sample: its elements, or numbers of its magnitude generated from
/// `seed`.
void fill_input(const Tensor& tensor, const OperatorInfo& info, const TestInput& sample,
                std::size_t i, std::uint64_t seed);
/// As in `, numbers of both signs`; empty for small positive ones.
const char* describe_numbers(Magnitude numbers);
/// All elements, stored or not.
std::vector<double> doubles_of(const Tensor& tensor);
/// Index of the first pair that differs; -1 if none does. Absent tensors are equal.
int first_difference(const std::vector<Tensor>& left, const std::vector<Tensor>& right);

/// Distribution of the inputs: small positive numbers, or numbers of both signs with large ones
/// among them.
enum class Draws : std::uint8_t { positive, mixed };

/// The sample, and variants with other generated indices, because legal values may depend on a
/// parameter.
std::vector<TestInput> with_other_elements(const OperatorInfo& info, const TestInput& sample);

/// The first of these that the CPU's kernel accepts; nothing if it rejects all. Throws Failure for
/// bugs of the kernel (see is_kernel_bug()).
std::optional<TestInput> accepted_by_kernel(const CheckedOperator& checked, const TestInput& sample,
                                            Refusals& refusals);

/// `test(call, sample)` returns what is wrong, or nothing. The first fault is reported with its
/// inputs. If a kernel rejects a call with a reason, that is not a fault; other elements are tried.
template <class Test>
Outcome each_sample(const CheckedOperator& checked, std::span<const TestInputKind> kinds,
                    Test&& test, std::size_t max_samples = 64, Draws draws = Draws::mixed) {
  Refusals refusals;
  std::size_t count = 0;
  const auto try_with = [&](const TestInput& sample) -> std::optional<std::string> {
    report_call(*checked.op.info, sample, describe_numbers(sample.numbers));
    const OperatorCall call(checked.op, sample.attributes);
    try {
      return test(call, sample);
    } catch (const Failure& failure) {
      if (is_kernel_bug(failure)) throw;
      refusals.add(Refusals::kernel, failure.what());
      return std::nullopt;
    }
  };
  for (const auto kind : kinds) {
    const auto& samples = find_samples(checked, kind);
    refusals.add(samples.refusals);
    for (std::size_t i = 0; i < std::min(max_samples, samples.found.size()); ++i) {
      auto sample = samples.found[i];
      for (const auto numbers : {Magnitude::positive, Magnitude::ordinary, Magnitude::large}) {
        if (numbers != Magnitude::positive &&
            (draws == Draws::positive || (numbers == Magnitude::large && i % 4 != 0)))
          continue;
        sample.numbers = numbers;
        auto fault = try_with(sample);
        if (!fault && numbers == Magnitude::positive) {
          const auto accepted = accepted_by_kernel(checked, sample, refusals);
          if (!accepted) continue;
          fault = try_with(sample = *accepted);
        }
        if (!fault) continue;
        ++count;
        if (!fault->empty())
          return failed(*fault + ", with " + describe_sample(*checked.op.info, sample) +
                        describe_numbers(numbers));
      }
    }
  }
  if (count == 0) return untried(refusals);
  return passed(counted(count, "call"));
}
template <class Test>
Outcome each_sample(const CheckedOperator& checked, TestInputKind kind, Test&& test,
                    std::size_t max_samples = 64, Draws draws = Draws::mixed) {
  return each_sample(checked, std::span(&kind, 1), test, max_samples, draws);
}
/// All kinds except `large`.
inline constexpr TestInputKind all_kinds[] = {TestInputKind::ordinary, TestInputKind::odd,
                                              TestInputKind::scalar, TestInputKind::empty};

/// Fills the stored values. For integers, uses -16 to 16, or 0 to 16 if unsigned, whatever the
/// magnitude.
void fill_with_mixed_numbers(const Tensor& tensor, Magnitude magnitude, std::uint64_t seed);

/// Whether the host warns that a function changed the floating-point modes.
inline bool is_about_float_modes(const std::string& warning) {
  return warning.find("floating-point modes") != std::string::npos;
}

/// Options of a single-threaded host for the checked plugins.
HostOptions host_options(const CheckedOperator& checked);
/// Adds the operator and its dependencies to the host.
void add_operators(Host& host, const CheckedOperator& checked);

/// A graph with a single node, called `node`. Inputs are graph inputs `input_0`, `input_1` and so
/// on; omitted inputs are empty, and inputs with user-provided elements are constants unless they
/// are floating-point.
struct SingleNode {
  /// `fixed`: elements of inputs that are variables instead; empty tensors for the others.
  SingleNode(Host& host, const LoadedOperator& op, const TestInput& sample,
             const std::vector<Tensor>& fixed = {});
  /// Adds outputs `gradient_0` and so on, for all floating-point inputs, if the operator has a
  /// gradient.
  void add_gradients(const TestInput& sample);
  static bool is_input(const TestInput& sample, std::size_t i) {
    return sample.types.inputs[i].present &&
           (!sample.has_elements(i) || is_floating(sample.types.inputs[i]));
  }
  Graph graph;
  std::vector<Value> inputs;
  Value output;
};

}  // namespace tenon::checks
