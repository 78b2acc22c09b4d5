# Turns CUDA on where there is a compiler for it: sets TENON_HAVE_CUDA, and what CMake 3.25 gets wrong about CUDA 13.

include(CheckLanguage)
check_language(CUDA)
set(TENON_HAVE_CUDA OFF)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Machine code for Hopper, and PTX that newer devices compile when they load it.
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  enable_language(CUDA)
  set(TENON_HAVE_CUDA ON)
  # CMake 3.25 drops CMAKE_CUDA_STANDARD 20 without a word for compilers it does not know.
  if(NOT CMAKE_CUDA_FLAGS MATCHES "-std=")
    string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
  endif()
elseif(TENON_CUDA STREQUAL "ON")
  message(FATAL_ERROR "TENON_CUDA is ON, but no CUDA compiler was found: install the CUDA toolkit and put nvcc on the PATH, "
                      "or configure with -DTENON_CUDA=AUTO")
endif()
