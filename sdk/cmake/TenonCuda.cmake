# Turns CUDA on where there is a compiler for it, and sets TENON_HAVE_CUDA.

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
elseif(TENON_CUDA STREQUAL "ON")
  message(FATAL_ERROR "TENON_CUDA is ON, but no CUDA compiler was found: install the CUDA toolkit and put nvcc on the PATH, "
                      "or configure with -DTENON_CUDA=AUTO")
endif()
