// The dtypes of the Open Inference Protocol, and bfloat16, which Triton adds.
#pragma once
#include <string_view>
#include <tenon/dtype.hpp>

#include "tensor/dtype_traits.hpp"

namespace tenon::serve {

/// Returns null for dtypes that clients cannot send.
constexpr const ServedDType* served(DType dtype) {
  const auto& served = traits_of(dtype).served;
  return served.number == 0 ? nullptr : &served;
}

/// The name of a dtype in a request. 13 is text, which Tenon's tensors do not support.
constexpr std::string_view datatype_of(int number) {
  for (const auto& row : dtype_traits_table)
    if (row.served.number != 0 && row.served.number == number) return row.served.datatype;
  return number == 13 ? "BYTES" : "a dtype that is not in the protocol";
}

}  // namespace tenon::serve
