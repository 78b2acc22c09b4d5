# Enables CUDA if there is a compiler for it, and sets TENON_HAVE_CUDA.

set(TENON_HAVE_CUDA OFF)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  # The toolkit's installer does not add its folder to the PATH.
  find_program(TENON_NVCC_FOUND nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin
    PATH_SUFFIXES bin)
  mark_as_advanced(TENON_NVCC_FOUND)
  if(TENON_NVCC_FOUND)
    set(CMAKE_CUDA_COMPILER ${TENON_NVCC_FOUND})
  endif()
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    # Machine code for Turing, Ampere and Hopper, and PTX of Hopper, which newer devices compile on
    # loading. A build for one device takes a fraction of the time: -DCMAKE_CUDA_ARCHITECTURES=90 or
    # native.
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    # CMake 3.25 does not know that nvcc 12 and later support C++20, and rejects targets that
    # require it.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
  set(TENON_HAVE_CUDA ON)
elseif(TENON_CUDA STREQUAL "ON")
  message(FATAL_ERROR
    "TENON_CUDA is ON, but no CUDA compiler was found: install the CUDA toolkit and put nvcc on "
    "the PATH, or configure with -DTENON_CUDA=AUTO")
endif()
