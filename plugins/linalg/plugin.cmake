# OpenBLAS for f64 matrix products; f32 products are in ../shared/product. Debian installs its
# headers in a folder of their own.
find_path(TENON_OPENBLAS_INCLUDE openblas_config.h PATH_SUFFIXES openblas-pthread openblas)
find_library(TENON_OPENBLAS openblas)
mark_as_advanced(TENON_OPENBLAS_INCLUDE TENON_OPENBLAS)
if(NOT TENON_OPENBLAS_INCLUDE OR NOT TENON_OPENBLAS)
  set(PLUGIN_SKIP "it needs OpenBLAS (libopenblas-dev)")
  return()
endif()
set(PLUGIN_LIBRARIES ${TENON_OPENBLAS})
set(PLUGIN_INCLUDES ${TENON_OPENBLAS_INCLUDE})
set(PLUGIN_CUDA_LIBRARIES CUDA::cublas)
set(PLUGIN_CUDA_SOURCES_CUDA::cublas matmul.cu csr_times_dense.cu)
set(PLUGIN_CUDA_SORTS cublas)
# cuSPARSE for csr matrices; without it, products fall back to loops.
if(TARGET CUDA::cusparse AND NOT TARGET tenon_simulated_cuda)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/matmul.cu
    ${CMAKE_CURRENT_LIST_DIR}/csr_times_dense.cu
                              PROPERTIES COMPILE_DEFINITIONS TENON_HAVE_CUSPARSE)
endif()
