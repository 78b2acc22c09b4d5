// cuDNN as a plugin may use it: descriptions of convolutions that go away by themselves, failures as tenon::Error.
#pragma once
#include <cudnn.h>

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <tenon/gpu/library_handle.hpp>
#include <type_traits>
#include <vector>

namespace cudnn {

inline void require(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw tenon::Error("cuDNN: ", cudnnGetErrorString(status));
}

/// Nothing was done, for cuDNN cannot do such work; other work may go well.
inline bool refused(cudnnStatus_t status) {
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM;
}

/// For work on the call's stream.
inline cudnnHandle_t handle(const tenon::Call& call) {
  const auto found = tenon::gpu::library_handle<cudnnHandle_t>([](cudnnHandle_t* made) { require(cudnnCreate(made)); });
  require(cudnnSetStream(found, tenon::gpu::stream_of(call)));
  return found;
}

template <class Handle, auto create, auto destroy>
class Description {
 public:
  Description() {
    Handle handle = nullptr;
    require(create(&handle));
    handle_.reset(handle);
  }
  Handle get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(std::remove_pointer_t<Handle>* handle) const { destroy(handle); }
  };
  std::unique_ptr<std::remove_pointer_t<Handle>, Destroy> handle_;
};

using Tensor = Description<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter = Description<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Convolution = Description<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;

/// cuDNN counts in int.
using Numbers = std::vector<int>;

inline void set(const Tensor& tensor, const Numbers& dims) {
  Numbers strides(dims.size(), 1);
  for (auto axis = dims.size() - 1; axis-- > 0;) strides[axis] = strides[axis + 1] * dims[axis + 1];
  require(cudnnSetTensorNdDescriptor(tensor.get(), CUDNN_DATA_FLOAT, static_cast<int>(dims.size()), dims.data(), strides.data()));
}

inline void set(const Filter& filter, const Numbers& dims) {
  require(cudnnSetFilterNdDescriptor(filter.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, static_cast<int>(dims.size()), dims.data()));
}

}  // namespace cudnn
