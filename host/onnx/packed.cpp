#include "onnx/packed.hpp"

#include <cstdint>

namespace tenon::onnx {
namespace {

/// The place of element `i` among the packed ones.
struct BitOffset {
  std::size_t byte;
  unsigned shift;

  BitOffset(std::int64_t i, unsigned bits)
      : byte(static_cast<std::size_t>(i) * bits / 8),
        shift(static_cast<unsigned>(static_cast<std::uint64_t>(i) * bits % 8)) {}
};

bool is_packed(DType dtype) {
  return bits_of(dtype) < 8;
}

}  // namespace

void unpack(std::span<const std::byte> packed, const Tensor& to) {
  const auto bits = static_cast<unsigned>(bits_of(to.dtype()));
  const auto mask = static_cast<std::byte>((1U << bits) - 1);
  auto* const elements = static_cast<std::byte*>(to.data());
  for (std::int64_t i = 0; i < to.size(); ++i) {
    const BitOffset from(i, bits);
    elements[i] = packed[from.byte] >> from.shift & mask;
  }
}

Tensor packed(const Tensor& tensor) {
  const auto here = tensor.to("cpu").make_contiguous();
  if (!is_packed(here.dtype())) return here;
  const auto bits = static_cast<unsigned>(bits_of(here.dtype()));
  const auto mask = static_cast<std::byte>((1U << bits) - 1);
  auto made = Tensor::zeros(u8, {static_cast<std::int64_t>(packed_bytes(here))});
  auto* const bytes = static_cast<std::byte*>(made.data());
  const auto* const elements = static_cast<const std::byte*>(here.data());
  for (std::int64_t i = 0; i < here.size(); ++i) {
    const BitOffset to(i, bits);
    bytes[to.byte] |= (elements[i] & mask) << to.shift;
  }
  return made;
}

std::uint64_t packed_bytes(const Tensor& tensor) {
  const auto bytes = static_cast<std::uint64_t>(tensor.bytes());
  if (!is_packed(tensor.dtype())) return bytes;
  const auto in_a_byte = static_cast<std::uint64_t>(8 / bits_of(tensor.dtype()));
  return (bytes + in_a_byte - 1) / in_a_byte;
}

}  // namespace tenon::onnx
