# OpenBLAS for fully_connected in f64; oneDNN for convolution and pooling, with the OpenMP library
# that it uses. Debian's dnnl-config.cmake stops with an error, so oneDNN is searched for by hand.
include(${CMAKE_CURRENT_LIST_DIR}/../linalg/plugin.cmake)
if(PLUGIN_SKIP)
  return()
endif()
find_path(TENON_DNNL_INCLUDE dnnl.hpp)
find_library(TENON_DNNL dnnl)
find_library(TENON_GOMP NAMES gomp libgomp.so.1)
mark_as_advanced(TENON_DNNL_INCLUDE TENON_DNNL TENON_GOMP)
if(NOT TENON_DNNL_INCLUDE OR NOT TENON_DNNL OR NOT TENON_GOMP)
  set(PLUGIN_SKIP "it needs oneDNN (libdnnl-dev) and GNU OpenMP (libgomp1)")
  return()
endif()
list(APPEND PLUGIN_LIBRARIES ${TENON_DNNL} ${TENON_GOMP})
list(APPEND PLUGIN_INCLUDES ${TENON_DNNL_INCLUDE})
set(PLUGIN_JOINED ON)

set(PLUGIN_CUDA_LIBRARIES CUDA::cublasLt CUDA::cublas)
set(PLUGIN_CUDA_SOURCES_CUDA::cublasLt dense/fully_connected.cu)
set(PLUGIN_CUDA_SOURCES_CUDA::cublas attention/attention.cu recurrent/recurrent.cu
  sampling/deform_conv.cu)
set(PLUGIN_CUDA_SORTS cuda)

# cuDNN for convolution, which falls back to loops without it.
if(TENON_HAVE_CUDA AND NOT TARGET tenon_simulated_cuda)
  find_path(TENON_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(TENON_CUDNN_INCLUDE)
  if(TENON_CUDNN_INCLUDE)
    set(PLUGIN_CUDA_INCLUDES ${TENON_CUDNN_INCLUDE})
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/convolution/convolution.cu
      ${CMAKE_CURRENT_LIST_DIR}/convolution/conv_transpose.cu
                                PROPERTIES COMPILE_DEFINITIONS TENON_HAVE_CUDNN)
  endif()
endif()
