// numpy's names of dtypes in array files, such as `<f4`.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>

namespace tenon {

struct NpyDtype {
  DType dtype;
  bool big_endian;
};

/// Nothing where Tenon has no such dtype.
std::optional<NpyDtype> npy_dtype_from(std::string_view text);

/// numpy has no bfloat16. `<V2`, two raw bytes, is what numpy writes for the one of the ml_dtypes package; what numpy reads back from it
/// becomes numbers again by array.view(ml_dtypes.bfloat16).
std::string npy_dtype_text(DType dtype);

}  // namespace tenon
