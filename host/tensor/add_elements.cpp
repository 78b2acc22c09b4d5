#include "tensor/add_elements.hpp"

#include <tenon/visit.hpp>
#include <type_traits>

#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

template <class T>
T sum_of(T left, T right) {
  if constexpr (std::is_same_v<T, bool>)
    return left || right;
  else if constexpr (is_half<T>)
    return static_cast<T>(static_cast<float>(left) + static_cast<float>(right));
  else if constexpr (std::is_integral_v<T>)  // wraps on overflow, as kernels do
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(left) +
                          static_cast<std::make_unsigned_t<T>>(right));
  else
    return left + right;
}

}  // namespace

void add_elements(const Tensor& from, const Tensor& to) {
  if (from.device() != "cpu") return add_elements(from.to("cpu"), to);
  if (to.device() != "cpu") {
    const Tensor sum = to.to("cpu");
    add_elements(from, sum);
    return copy_elements(sum, to);
  }
  visit<every_type>(to.dtype(), [&]<class T>() {
    const auto added = from.values<T>();
    auto sums = to.values<T>();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_of(sums[i], added[i]);
  });
}

void copy_elements(const Tensor& from, const Tensor& to) {
  copy_bytes(from.abi().dense, to.abi().dense, static_cast<std::uint64_t>(to.bytes()));
}

}  // namespace tenon
