// Whether gradients are the slopes of what a graph computes, by stepping to both sides of single elements.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "check/test_call.hpp"

namespace tenon::checks {

/// How far to step, and how near the difference must come; from the digits of the dtype.
struct Precision {
  double step, tolerance, rounding;
};

/// What the inputs hold: numbers in (0.1, 0.9) times a scale, half of them negative or none.
struct InputNumbers {
  bool both_signs;
  double scale;
  Precision wide, narrow;  ///< of float64 and complex128, and of float32 and complex64
};
inline constexpr InputNumbers all_input_numbers[] = {
    {false, 1, {1e-7, 1e-6, 1e-15}, {1e-2, 2e-2, 5e-7}},        {true, 1, {1e-7, 1e-6, 1e-15}, {1e-2, 2e-2, 5e-7}},
    {true, 8, {1e-5, 1e-4, 1e-15}, {5e-2, 5e-2, 5e-7}},         {true, 128, {1e-4, 1e-4, 1e-15}, {1, 1e-1, 5e-7}},
    {true, 1.0 / 512, {1e-7, 1e-5, 1e-15}, {1e-4, 5e-2, 5e-7}},
};
/// `, numbers of both signs up to 0.9`.
std::string words_for(const InputNumbers& numbers);

/// The dtypes that have room for small steps. The widest of each kind comes first.
inline constexpr Types steppable{DType::f64, DType::f32, DType::c128, DType::c64};
/// Whether all inputs together are small enough: each element that is looked at costs two runs.
bool is_small(const TestInput& sample);

/// An operator between its inputs and a loss, the sum of fixed numbers times elements of one output, or of its gradients; and the gradients
/// of that. Complex elements count as two, their parts: dL/da + i dL/db is the gradient of a + ib.
class Differences {
 public:
  enum class Order : std::uint8_t { first, second };
  /// Throws Failure where the graph's gradient does.
  Differences(Host& host, const CheckedOperator& subject, const TestInput& sample, std::uint32_t output, Order order);

  /// Whether there is a loss, and something that it may depend on.
  bool has_slopes() const { return !loss_.empty() && !looked_at_.empty(); }
  /// Looks at up to `most` elements of each input. What is wrong, or an empty text; nothing where the operator refuses the numbers. Throws
  /// Failure where backward refuses small positive numbers that forward accepts, and for mistakes.
  std::optional<std::string> look(const InputNumbers& numbers, std::size_t most);

 private:
  struct LookedAt {
    std::string input, words;              ///< a graph input, and what its gradient is called
    std::vector<std::string> gradients{};  ///< outputs whose sum it is
  };

  Value seed_for(Value output, const std::string& name, std::uint64_t seed);
  void add_gradients(Value of, const std::string& name, const GradientOptions& options);
  void build_first(Value output);
  void build_second(Value output);
  void add_input(const InputNumbers& numbers, std::size_t i);
  NamedTensors run(const RunOptions& options);
  double loss_of(const NamedTensors& outputs);
  struct Slopes {
    double up, down;
  };
  Slopes slopes(const Tensor& input, std::size_t k, double here, double step);
  std::string compare(const LookedAt& place, std::size_t k, double gradient, double here, const Precision& precision);

  const CheckedOperator& subject_;
  const TestInput& sample_;
  Order order_;
  double terms_ = 0;  // the magnitudes of what the last loss is the sum of
  SingleNode node_;
  std::map<std::string, std::string> loss_;  // graph outputs, and the inputs that hold their factors; none: ones
  RunOptions loss_alone_;                    // steps need no gradients
  std::vector<LookedAt> looked_at_;
  std::vector<Value> wrt_;  // the same in the graph
  NamedTensors inputs_;
  bool narrow_ = false;  // something in between is not as precise as float64
  std::optional<Session> session_;
};

}  // namespace tenon::checks
