#include "cli/check/device_memory.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "device/tensor_device.hpp"

namespace tenon::cli {
namespace {

constexpr std::int64_t margin = 256;  // bytes
constexpr int untouched = 0xa5;

using Strides = std::array<std::int64_t, TENON_MAX_RANK>;

// In elements. Of contiguous tensors too.
Strides strides_of(const Shape& shape, Lie lie) {
  Strides strides{};
  std::int64_t next = lie == Lie::strided ? 2 : 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = lie == Lie::strided ? i : shape.rank() - 1 - i;
    strides[static_cast<std::size_t>(axis)] = next;
    next *= shape[axis];
  }
  return strides;
}

// Calls body(index in row-major order, place) for each element.
template <class Body>
void each_place(const Shape& shape, Lie lie, Body&& body) {
  const auto strides = strides_of(shape, lie);
  for (std::int64_t i = 0, count = shape.size(); i < count; ++i) {
    std::int64_t place = lie == Lie::strided ? 0 : i, rest = i;
    for (int axis = shape.rank(); lie == Lie::strided && axis-- > 0; rest /= shape[axis])
      place += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
    body(i, place);
  }
}

char* at(const Tensor& bytes, std::int64_t offset) {
  return static_cast<char*>(bytes.data()) + offset;
}

}  // namespace

DeviceMemory::DeviceMemory(std::int64_t bytes, std::size_t tensors, const std::string& device)
    : used_(margin), before_(Tensor::empty(DType::u8, {2 * bytes + 3 * margin * static_cast<std::int64_t>(tensors + 1)})) {
  std::memset(before_.data(), untouched, static_cast<std::size_t>(before_.bytes()));
  bytes_ = Tensor::empty(DType::u8, before_.shape(), device);
}

Tensor DeviceMemory::add(const Tensor& elements, Lie lie) {
  const auto size = static_cast<std::int64_t>(size_of(elements.dtype()));
  const auto begin = used_ + (lie == Lie::unaligned ? size : 0), end = begin + elements.bytes() * (lie == Lie::strided ? 2 : 1);
  used_ = (end + margin) / margin * margin + margin;
  auto strides = strides_of(elements.shape(), lie);
  tenon_tensor raw = elements.abi();
  raw.dense.data = at(bytes_, begin);
  raw.dense.device_type = bytes_.abi().dense.device_type;
  raw.dense.device_id = bytes_.abi().dense.device_id;
  raw.dense.strides = strides.data();
  parts_[raw.dense.data] = {begin, end, lie};
  auto there = Tensor::borrow(raw, std::make_shared<Tensor>(bytes_));
  change(there, elements);
  return there;
}

void DeviceMemory::change(const Tensor& there, const Tensor& elements) {
  const auto& part = parts_.at(there.data());
  const auto size = static_cast<std::int64_t>(size_of(elements.dtype()));
  each_place(elements.shape(), part.lie, [&](std::int64_t i, std::int64_t place) {
    std::memcpy(at(before_, part.begin + place * size), at(elements, i * size), static_cast<std::size_t>(size));
  });
}

void DeviceMemory::upload() {
  copy_bytes(before_.abi().dense, bytes_.abi().dense, static_cast<std::uint64_t>(used_));
}

void DeviceMemory::download() {
  after_ = Tensor::empty(DType::u8, before_.shape());
  copy_bytes(bytes_.abi().dense, after_.abi().dense, static_cast<std::uint64_t>(used_));
}

Tensor DeviceMemory::elements(const Tensor& there) const {
  const auto& part = parts_.at(there.data());
  const auto size = static_cast<std::int64_t>(size_of(there.dtype()));
  Tensor result = Tensor::empty(there.dtype(), there.shape());
  each_place(there.shape(), part.lie, [&](std::int64_t i, std::int64_t place) {
    std::memcpy(at(result, i * size), at(after_, part.begin + place * size), static_cast<std::size_t>(size));
  });
  return result;
}

std::string DeviceMemory::stray_write() const {
  std::int64_t from = 0;
  for (const auto& [data, part] : parts_) {
    for (auto i = from; i < part.begin; ++i)
      if (*at(after_, i) != *at(before_, i)) return fmt::format("the byte {} before a tensor is written", part.begin - i);
    from = part.end;
  }
  for (auto i = from; i < used_; ++i)
    if (*at(after_, i) != *at(before_, i)) return fmt::format("the byte {} behind a tensor is written", i - from + 1);
  return {};
}

}  // namespace tenon::cli
