// Element access for a dtype that is only known at run time, for kernels that are not worth
// compiling for each dtype.
#pragma once
#include <tenon/half.hpp>
#include <tenon/operator.hpp>

/// Elements of any of `Types`, converted to As.
template <class As, class... Types>
struct AnyElements {
  const void* data;
  tenon::DType dtype;

  TENON_FN As operator[](std::int64_t i) const {
    As element{};
    static_cast<void>(((dtype == tenon::dtype_of<Types> &&
                        (element = static_cast<As>(static_cast<const Types*>(data)[i]), true)) ||
                       ...));
    return element;
  }

  /// Returns the elements of an input of a call.
  static AnyElements of(const tenon::Call& call, int input) {
    const auto& dense = call.raw().inputs[input]->dense;
    return {static_cast<const char*>(dense.data) + dense.byte_offset, call.input_type(input).dtype};
  }
};
