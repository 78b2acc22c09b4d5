// Reads a tensor of indices of any integral dtype on a CUDA device.
#pragma once
#include <cstdint>
#include <tenon/gpu/launch.hpp>
#include <tenon/visit.hpp>

struct IndexReader {
  const void* data;
  tenon::DType dtype;

  static IndexReader of(const tenon::Call& call, int input) {
    IndexReader reader{nullptr, call.input_type(input).dtype};
    tenon::visit<tenon::integral>(reader.dtype,
                                  [&]<class T>() { reader.data = call.input<T>(input).data(); });
    return reader;
  }

  TENON_FN std::int64_t operator[](std::int64_t i) const {
    switch (dtype) {
      case tenon::DType::u8:
        return static_cast<const std::uint8_t*>(data)[i];
      case tenon::DType::i8:
        return static_cast<const std::int8_t*>(data)[i];
      case tenon::DType::i32:
        return static_cast<const std::int32_t*>(data)[i];
      default:
        return static_cast<const std::int64_t*>(data)[i];
    }
  }
};
