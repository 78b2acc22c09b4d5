// ONNX's files hold two elements of 4 bits, or four of 2 bits, in a byte, the first one in its
// lowest bits. Tensors have one element per byte.
#pragma once
#include <cstddef>
#include <span>
#include <tenon/host/tensor.hpp>

namespace tenon::onnx {

/// Writes one byte for each element of `to`, which has a dtype of 4 or 2 bits. The last of the
/// packed bytes may be used in part; its other bits are ignored.
void unpack(std::span<const std::byte> packed, const Tensor& to);

/// The elements as in a file: a contiguous CPU tensor, packed into bytes for dtypes of 4 and 2
/// bits.
Tensor packed(const Tensor& tensor);
/// Bytes of packed(tensor).
std::uint64_t packed_bytes(const Tensor& tensor);

}  // namespace tenon::onnx
