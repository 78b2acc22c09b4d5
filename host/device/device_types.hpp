// Types of devices for which operators can have kernels. To add one, add a row here and a folder
// next to this file.
#pragma once
#include <tenon/abi.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenon {

struct DeviceType {
  std::int32_t number;  ///< enum tenon_device
  const char* name;     ///< as in kernel symbols and device names
};
inline constexpr std::array device_types{DeviceType{TENON_CPU, "cpu"},
                                         DeviceType{TENON_CUDA, "cuda"}};

constexpr std::size_t device_type_index(std::int32_t number) {
  std::size_t i = 0;
  while (i + 1 < device_types.size() && device_types[i].number != number) ++i;
  return i;
}

constexpr const char* device_type_name(std::int32_t number) {
  return device_types[device_type_index(number)].name;
}

/// One value for each type of device, in the order of device_types.
template <class T>
class ByDevice {
 public:
  T& operator[](std::int32_t type) { return values_[device_type_index(type)]; }
  const T& operator[](std::int32_t type) const { return values_[device_type_index(type)]; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const ByDevice&) const = default;

 private:
  std::array<T, device_types.size()> values_{};
};

}  // namespace tenon
