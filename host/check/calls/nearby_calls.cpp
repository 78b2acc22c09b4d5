#include "check/calls/nearby_calls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/host/cast_storage.hpp>
#include <tenon/visit.hpp>

#include "check/calls/test_call.hpp"
#include "tensor/dtype_traits.hpp"

namespace tenon::checks {
namespace {

constexpr std::size_t call_count = 16, precise_count = 32;

/// Far more than the rounding of sums, but not more than results may differ.
double size_of_displacements(DType dtype) {
  constexpr double roundings = 8;
  const double epsilon = dtype == DType::bf16 ? 0x1p-7 : dtype == DType::f16 ? 0x1p-10 : 0x1p-23;
  return std::max(traits_of(dtype).tolerance.devices / 4, roundings * epsilon);
}
/// Above the rounding of sums in float64, but far below that of other dtypes.
constexpr double size_of_precise_displacements = 1e-13;

/// Counts elements as doubles_of() does. NaN if there is no such element.
double element_of(const std::vector<Tensor>& tensors, std::size_t tensor, std::size_t element) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (tensor >= tensors.size() || !tensors[tensor]) return number;
  const auto dense = tensors[tensor].storage() == Storage::dense
                         ? tensors[tensor]
                         : cast_storage(tensors[tensor], Storage::dense);
  visit<every_type>(dense.dtype(), [&]<class T>() {
    const auto values = dense.values<T>();
    const std::size_t index = is_complex<T> ? element / 2 : element;
    if (index >= values.size()) return;
    if constexpr (is_complex<T>)
      number = element % 2 == 0 ? values[index].re : values[index].im;
    else
      number = static_cast<double>(values[index]);
  });
  return number;
}

/// Whether a number is close to one of the two values, compared with their difference.
bool is_close(double number, double value, const DifferingElement& differing) {
  if (number == value || (std::isnan(number) && std::isnan(value))) return true;
  const double difference = std::abs(differing.expected - differing.found);
  return std::isfinite(difference) && std::abs(number - value) <= difference / 4;
}

}  // namespace

void Displacement::displace(const Tensor& input, std::size_t index) const {
  if (!input || !(floating + any_complex).has(input.dtype())) return;
  RandomBits generator(seed_ * 64 + index);
  // half of the displacements have a single direction, which certainly moves sums of one sign
  const auto direction = seed_ % 4;
  visit<floating + any_complex>(input.dtype(), [&]<class T>() {
    for (auto& value : input.stored_values().values<T>()) {
      const double amount = size_ * (1.0 + static_cast<double>(generator() % 1024)) / 1024;
      const bool up = direction == 0 || (direction != 1 && generator() % 2 == 0);
      const double factor = up ? 1 + amount : 1 - amount;
      if constexpr (is_complex<T>) {
        using Part = decltype(T::re);
        value = T(static_cast<Part>(static_cast<double>(value.re) * factor),
                  static_cast<Part>(static_cast<double>(value.im) * factor));
      } else {
        value = static_cast<T>(static_cast<double>(value) * factor);
      }
    }
  });
}

void NearbyCalls::run() {
  ran_ = true;
  for (std::uint64_t seed = 0; seed < call_count; ++seed) {
    const Displacement displacement(seed, size_of_displacements(dtype_));
    auto expected = reference_(displacement);
    if (!expected) continue;
    auto found = tested_(displacement);
    if (found)
      pairs_.push_back({std::move(*expected), std::move(*found)});
    else
      ++refused_;
  }
  for (std::uint64_t seed = 0; seed <= precise_count; ++seed) {
    const double size = seed < precise_count ? size_of_precise_displacements : 0;
    if (auto results = precise_(Displacement(seed, size)))
      precise_results_.push_back(std::move(*results));
  }
}

bool NearbyCalls::explain(const DifferingElement& differing) {
  if (!precise_) return false;
  if (!ran_) run();
  std::size_t agreeing = 0;
  bool reaches = false;
  for (const auto& [expected, found] : pairs_) {
    const double reference = element_of(expected, differing.tensor, differing.element);
    if (differing.is_near(reference, element_of(found, differing.tensor, differing.element)))
      ++agreeing;
    reaches = reaches || is_close(reference, differing.found, differing);
  }
  const bool agrees =
      pairs_.size() >= call_count / 2 && 4 * agreeing >= 3 * (pairs_.size() + refused_);
  const auto is_precise = [&](double value) {
    return std::any_of(precise_results_.begin(), precise_results_.end(), [&](const auto& results) {
      return is_close(element_of(results, differing.tensor, differing.element), value, differing);
    });
  };
  return agrees && reaches && !precise_results_.empty() &&
         !(is_precise(differing.expected) && is_precise(differing.found));
}

}  // namespace tenon::checks
