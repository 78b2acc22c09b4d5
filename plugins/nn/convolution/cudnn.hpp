// A wrapper of cuDNN for plugins: loads it at run time if it is installed, owns descriptors, and
// turns failures into tenon::Error.
#pragma once
#include <cudnn.h>

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <tenon/gpu/library_handle.hpp>
#include <type_traits>
#include <vector>

#include "../../shared/optional_library.hpp"

// cuDNN 9 deprecates some of these functions in favor of its graph API, which would need a graph
// for each single convolution.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace cudnn {

#define TENON_TEXT_OF(number) #number
#define TENON_CUDNN_FILE(component, version) "libcudnn" component ".so." TENON_TEXT_OF(version)
#define TENON_CUDNN_FUNCTION(name) decltype(&::name) name = library.find<decltype(&::name)>(#name)

/// The library, and the libraries that it loads for convolutions.
struct Functions {
  OptionalLibrary library{{TENON_CUDNN_FILE("", CUDNN_MAJOR), TENON_CUDNN_FILE("_cnn", CUDNN_MAJOR),
                           TENON_CUDNN_FILE("_heuristic", CUDNN_MAJOR),
                           TENON_CUDNN_FILE("_engines_runtime_compiled", CUDNN_MAJOR),
                           TENON_CUDNN_FILE("_engines_precompiled", CUDNN_MAJOR)},
                          "convolution falls back to slower loops; install cuDNN, or add its "
                          "folder to LD_LIBRARY_PATH"};
  TENON_CUDNN_FUNCTION(cudnnGetErrorString);
  TENON_CUDNN_FUNCTION(cudnnCreate);
  TENON_CUDNN_FUNCTION(cudnnSetStream);
  TENON_CUDNN_FUNCTION(cudnnCreateTensorDescriptor);
  TENON_CUDNN_FUNCTION(cudnnDestroyTensorDescriptor);
  TENON_CUDNN_FUNCTION(cudnnSetTensorNdDescriptor);
  TENON_CUDNN_FUNCTION(cudnnCreateFilterDescriptor);
  TENON_CUDNN_FUNCTION(cudnnDestroyFilterDescriptor);
  TENON_CUDNN_FUNCTION(cudnnSetFilterNdDescriptor);
  TENON_CUDNN_FUNCTION(cudnnCreateConvolutionDescriptor);
  TENON_CUDNN_FUNCTION(cudnnDestroyConvolutionDescriptor);
  TENON_CUDNN_FUNCTION(cudnnSetConvolutionNdDescriptor);
  TENON_CUDNN_FUNCTION(cudnnSetConvolutionGroupCount);
  TENON_CUDNN_FUNCTION(cudnnSetConvolutionMathType);
  TENON_CUDNN_FUNCTION(cudnnGetConvolutionForwardAlgorithm_v7);
  TENON_CUDNN_FUNCTION(cudnnGetConvolutionForwardWorkspaceSize);
  TENON_CUDNN_FUNCTION(cudnnConvolutionForward);
  TENON_CUDNN_FUNCTION(cudnnGetConvolutionBackwardDataAlgorithm_v7);
  TENON_CUDNN_FUNCTION(cudnnGetConvolutionBackwardDataWorkspaceSize);
  TENON_CUDNN_FUNCTION(cudnnConvolutionBackwardData);
  TENON_CUDNN_FUNCTION(cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  TENON_CUDNN_FUNCTION(cudnnGetConvolutionBackwardFilterWorkspaceSize);
  TENON_CUDNN_FUNCTION(cudnnConvolutionBackwardFilter);
};

#undef TENON_CUDNN_FUNCTION
#undef TENON_CUDNN_FILE
#undef TENON_TEXT_OF

inline const Functions& functions() {
  static const Functions found;
  return found;
}

inline void require(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw tenon::Error("cuDNN failed: ", functions().cudnnGetErrorString(status));
}

/// Whether cuDNN does not support the operation and did nothing; other operations may succeed.
inline bool refused(cudnnStatus_t status) {
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM;
}

/// The handle for work on the call's stream.
inline cudnnHandle_t handle(const tenon::Call& call) {
  const auto found = tenon::gpu::library_handle<cudnnHandle_t>(
      [](cudnnHandle_t* made) { require(functions().cudnnCreate(made)); });
  require(functions().cudnnSetStream(found, tenon::gpu::stream_of(call)));
  return found;
}

template <class Handle, auto create, auto destroy>
class Description {
 public:
  Description() {
    Handle handle = nullptr;
    require((functions().*create)(&handle));
    handle_.reset(handle);
  }
  Handle get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(std::remove_pointer_t<Handle>* handle) const { (functions().*destroy)(handle); }
  };
  std::unique_ptr<std::remove_pointer_t<Handle>, Destroy> handle_;
};

using Tensor = Description<cudnnTensorDescriptor_t, &Functions::cudnnCreateTensorDescriptor,
                           &Functions::cudnnDestroyTensorDescriptor>;
using Filter = Description<cudnnFilterDescriptor_t, &Functions::cudnnCreateFilterDescriptor,
                           &Functions::cudnnDestroyFilterDescriptor>;
using Convolution =
    Description<cudnnConvolutionDescriptor_t, &Functions::cudnnCreateConvolutionDescriptor,
                &Functions::cudnnDestroyConvolutionDescriptor>;

/// cuDNN's dimensions are int.
using Numbers = std::vector<int>;

inline void set(const Tensor& tensor, const Numbers& dims) {
  Numbers strides(dims.size(), 1);
  for (auto axis = dims.size() - 1; axis-- > 0;) strides[axis] = strides[axis + 1] * dims[axis + 1];
  require(functions().cudnnSetTensorNdDescriptor(
      tensor.get(), CUDNN_DATA_FLOAT, static_cast<int>(dims.size()), dims.data(), strides.data()));
}

inline void set(const Filter& filter, const Numbers& dims) {
  require(functions().cudnnSetFilterNdDescriptor(filter.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                                 static_cast<int>(dims.size()), dims.data()));
}

}  // namespace cudnn
#pragma GCC diagnostic pop
