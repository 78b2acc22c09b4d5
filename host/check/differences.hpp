// Compares gradients with finite differences, by perturbing single elements in both directions.
// Near a kink or jump, where differences say nothing, the comparison is repeated next to it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "check/calls/test_call.hpp"

namespace tenon::checks {

/// Step size and tolerances, chosen for the precision of the dtype.
struct Precision {
  double step, tolerance, rounding;
};

/// Distribution of the inputs: numbers in (0.1, 0.9) times a scale, with all or half of them
/// positive.
struct InputNumbers {
  bool both_signs;
  double scale;
  Precision wide, narrow;  ///< for float64 and complex128, and for float32 and complex64
};
inline constexpr InputNumbers all_input_numbers[] = {
    {false, 1, {1e-7, 1e-6, 1e-15}, {1e-2, 2e-2, 5e-7}},
    {true, 1, {1e-7, 1e-6, 1e-15}, {1e-2, 2e-2, 5e-7}},
    {true, 8, {1e-5, 1e-4, 1e-15}, {5e-2, 5e-2, 5e-7}},
    {true, 128, {1e-4, 1e-4, 1e-15}, {1, 1e-1, 5e-7}},
    {true, 1.0 / 512, {1e-7, 1e-5, 1e-15}, {1e-4, 5e-2, 5e-7}},
};
/// As in `, numbers of both signs up to 0.9`.
std::string describe_numbers(const InputNumbers& numbers);

/// Dtypes precise enough for small steps, the widest of each kind first.
inline constexpr Types perturbable{DType::f64, DType::f32, DType::c128, DType::c64};
/// Whether all inputs together are small enough; each examined element costs two runs.
bool is_small(const TestInput& sample);

/// A graph of an operator and a loss, which is a weighted sum of the elements of one output or of
/// its gradients, with the gradients of that loss. A complex element counts as two numbers, its
/// real and imaginary parts: dL/da + i dL/db is the gradient of a + ib.
class Differences {
 public:
  enum class Order : std::uint8_t { first, second };
  /// Throws Failure if the gradient graph cannot be built.
  Differences(Host& host, const CheckedOperator& checked, const TestInput& sample,
              std::uint32_t output, Order order);

  /// Whether there is a loss that may depend on an input.
  bool has_slopes() const { return !loss_.empty() && !checked_inputs_.empty(); }
  /// Examines up to `max_elements` elements of each input. Returns what is wrong, or an empty text;
  /// nothing if the operator rejects the numbers. Throws Failure if backward rejects small positive
  /// numbers that forward accepts, and for bugs of the kernel (is_kernel_bug()).
  std::optional<std::string> test(const InputNumbers& numbers, std::size_t max_elements);
  /// Number of comparisons that were repeated near a kink or jump.
  std::size_t repeated() const { return repeated_; }

 private:
  struct CheckedInput {
    std::string input, description;        ///< a graph input, and its gradient in messages
    std::vector<std::string> gradients{};  ///< graph outputs whose sum is the gradient
  };

  Value seed_for(Value output, const std::string& name, std::uint64_t seed);
  void add_gradients(Value differentiated, const std::string& name, const GradientOptions& options);
  void build_first(Value output);
  void build_second(Value output);
  void add_input(const InputNumbers& numbers, std::size_t i);
  NamedTensors run(const RunOptions& options);
  double loss_of(const NamedTensors& outputs);
  struct Slopes {
    double up, down;
    double mean() const { return (up + down) / 2; }
  };
  Slopes slopes(const Tensor& input, std::size_t k, double here, double step);
  /// The verdict of finite differences on the gradient of an element.
  struct Comparison {
    enum { agrees, differs, unclear } verdict;
    double gradient, slope;
  };
  std::vector<double> gradient_of(const CheckedInput& checked_input, const NamedTensors& outputs);
  Comparison compare(const CheckedInput& checked_input, std::size_t k, double gradient, double here,
                     const Precision& precision);
  Comparison repeat_nearby(const CheckedInput& checked_input, std::size_t k,
                           const Precision& precision);
  std::string describe(const CheckedInput& checked_input, std::size_t k,
                       const Comparison& comparison) const;

  const CheckedOperator& checked_;
  const TestInput& sample_;
  Order order_;
  double terms_ = 0;  // sum of the magnitudes of the last loss's terms
  SingleNode node_;
  // graph outputs and the inputs that hold their weights; weights of 1 if there is none
  std::map<std::string, std::string> loss_;
  RunOptions loss_only_;  // for the perturbed runs, which need no gradients
  std::vector<CheckedInput> checked_inputs_;
  std::vector<Value> wrt_;  // the corresponding graph values
  NamedTensors inputs_;
  std::size_t repeated_ = 0, repeated_of_test_ = 0;
  bool narrow_ = false;  // whether some value is less precise than float64
  std::optional<Session> session_;
};

}  // namespace tenon::checks
