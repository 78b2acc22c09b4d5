#include "tensor/tensor_impl.hpp"

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "tensor/dtype_traits.hpp"
#include "tensor/element_count.hpp"

namespace tenon {

static std::int64_t checked_size(DType dtype, const Shape& shape) {
  if (static_cast<int>(dtype) >= dtype_count)
    throw Failure(FailureKind::usage, "a tensor needs a known dtype");
  if (!shape.known())
    throw Failure(FailureKind::usage, join("a tensor needs a known shape, not ", shape));
  if (!byte_count(dtype, shape)) {
    throw Failure(FailureKind::usage,
                  join("a tensor of ", dtype, " ", shape, " has more bytes than can be counted"));
  }
  return *element_count(shape);
}

// The distance between elements must stay far below 2^63 bytes, so sums of offsets cannot overflow.
static void check_reach(DType dtype, const Shape& shape, const std::int64_t* strides) {
  std::int64_t ahead = 0, behind = 0;
  bool overflow = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach);
    overflow |= __builtin_mul_overflow(reach, static_cast<std::int64_t>(size_of(dtype)), &reach);
    std::int64_t& side = reach < 0 ? behind : ahead;
    overflow |= __builtin_add_overflow(side, reach, &side);
  }
  overflow |= __builtin_sub_overflow(ahead, behind, &ahead);
  if (overflow || ahead > INT64_MAX / 4)
    throw Failure(FailureKind::usage,
                  join("the strides of a tensor of ", dtype, " ", shape, " are too large"));
}

Tensor::Impl::Impl(DType dtype, const Shape& shape, const std::int64_t* source_strides)
    : size(checked_size(dtype, shape)) {
  std::copy(shape.begin(), shape.end(), dims);
  // may wrap for an empty tensor, which has no elements to read
  std::uint64_t contiguous_stride = 1;
  bool is_contiguous = true;
  for (int axis = shape.rank(); axis-- > 0;) {
    strides[axis] = source_strides != nullptr ? source_strides[axis]
                                              : static_cast<std::int64_t>(contiguous_stride);
    is_contiguous &=
        dims[axis] == 1 || strides[axis] == static_cast<std::int64_t>(contiguous_stride);
    contiguous_stride *= static_cast<std::uint64_t>(dims[axis]);
  }
  is_contiguous |= size == 0;
  if (!is_contiguous) check_reach(dtype, shape, strides);

  abi.size = sizeof(tenon_tensor);
  abi.dense.device_type = TENON_CPU;
  abi.dense.ndim = shape.rank();
  abi.dense.type_code = dlpack_type(dtype).code;
  abi.dense.type_bits = dlpack_type(dtype).bits;
  abi.dense.type_lanes = 1;
  abi.dense.shape = dims;
  abi.dense.strides = is_contiguous ? nullptr : strides;
  abi.storage = TENON_DENSE;
  abi.dtype = static_cast<std::uint8_t>(dtype);
  abi.index_dtype = TENON_I64;
}

}  // namespace tenon
