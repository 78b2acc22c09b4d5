#include "check/calls/device_memory.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "tensor/tensor_device.hpp"

namespace tenon::checks {
namespace {

constexpr std::int64_t margin = 256;  // in bytes
constexpr int untouched = 0xa5;

using Strides = std::array<std::int64_t, TENON_MAX_RANK>;

// Stride between elements, in elements.
std::int64_t element_stride(Layout layout) {
  return layout == Layout::strided ? 2 : 1;
}

// In elements; contiguous tensors have strides, too.
Strides strides_of(const Shape& shape, Layout layout) {
  Strides strides{};
  std::int64_t next = element_stride(layout);
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout == Layout::strided ? i : shape.rank() - 1 - i;
    strides[static_cast<std::size_t>(axis)] = next;
    next *= shape[axis];
  }
  return strides;
}

// Calls body(index in row-major order, offset, elements) for each run of adjacent elements.
template <class Body>
void for_each_run(const Shape& shape, Layout layout, Body&& body) {
  const auto count = shape.size();
  if (layout != Layout::strided) return body(0, 0, count);
  const auto strides = strides_of(shape, layout);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0, rest = i;
    for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis])
      offset += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
    body(i, offset, 1);
  }
}

char* at(const Tensor& bytes, std::int64_t offset) {
  return static_cast<char*>(bytes.data()) + offset;
}

}  // namespace

DeviceMemory::DeviceMemory(std::int64_t bytes, std::size_t tensors, Layout layout, Device& device)
    : used_(margin),
      before_(Tensor::empty(DType::u8, {element_stride(layout) * bytes +
                                        3 * margin * static_cast<std::int64_t>(tensors + 1)})) {
  std::memset(before_.data(), untouched, static_cast<std::size_t>(before_.bytes()));
  bytes_ = std::make_shared<Block>(
      tensor_stream(device), static_cast<std::uint64_t>(before_.bytes()), "the tensors of a check");
}

Tensor DeviceMemory::add(const Tensor& elements, Layout layout) {
  const auto size = static_cast<std::int64_t>(size_of(elements.dtype()));
  const auto begin = used_ + (layout == Layout::unaligned ? size : 0),
             end = begin + elements.bytes() * element_stride(layout);
  used_ = (end + margin) / margin * margin + margin;
  auto strides = strides_of(elements.shape(), layout);
  tenon_tensor raw = elements.abi();
  raw.dense.data = bytes_->data() + begin;
  raw.dense.device_type = bytes_->device().type();
  raw.dense.device_id = bytes_->device().id();
  raw.dense.strides = strides.data();
  regions_[raw.dense.data] = {begin, end, layout};
  auto device_tensor = Tensor::borrow(raw, bytes_);
  change(device_tensor, elements);
  return device_tensor;
}

void DeviceMemory::change(const Tensor& device_tensor, const Tensor& elements) {
  const auto& region = regions_.at(device_tensor.data());
  const auto size = static_cast<std::int64_t>(size_of(elements.dtype()));
  for_each_run(elements.shape(), region.layout,
               [to = at(before_, region.begin), from = at(elements, 0), size](auto i, auto offset,
                                                                              auto count) {
                 std::memcpy(to + offset * size, from + i * size,
                             static_cast<std::size_t>(count * size));
               });
}

void DeviceMemory::upload() {
  copy(bytes_->address(), address_of(before_.abi().dense), static_cast<std::uint64_t>(used_),
       bytes_->stream());
}

void DeviceMemory::download() {
  after_ = Tensor::empty(DType::u8, before_.shape());
  copy(address_of(after_.abi().dense), bytes_->address(), static_cast<std::uint64_t>(used_),
       bytes_->stream());
}

Tensor DeviceMemory::elements(const Tensor& device_tensor) const {
  const auto& region = regions_.at(device_tensor.data());
  const auto size = static_cast<std::int64_t>(size_of(device_tensor.dtype()));
  Tensor result = Tensor::empty(device_tensor.dtype(), device_tensor.shape());
  for_each_run(
      device_tensor.shape(), region.layout,
      [to = at(result, 0), from = at(after_, region.begin), size](auto i, auto offset, auto count) {
        std::memcpy(to + i * size, from + offset * size, static_cast<std::size_t>(count * size));
      });
  return result;
}

std::string DeviceMemory::stray_write() const {
  const char *const before = at(before_, 0), *const after = at(after_, 0);
  std::int64_t from = 0;
  for (const auto& [data, region] : regions_) {
    for (auto i = from; i < region.begin; ++i)
      if (after[i] != before[i])
        return fmt::format("byte {} before a tensor is written", region.begin - i);
    from = region.end;
  }
  for (auto i = from; i < used_; ++i)
    if (after[i] != before[i])
      return fmt::format("byte {} after a tensor is written", i - from + 1);
  return {};
}

}  // namespace tenon::checks
