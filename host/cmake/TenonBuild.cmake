# How everything in this repository is compiled: warnings, sanitizers, the compiler cache.

add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Werror>)
# g++ 12 at -O3 sees overlapping copies in std::string's operator+ that are not there (its bug 105651).
target_compile_options(tenon_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

if(TENON_SANITIZE)
  # g++ follows values less well through a sanitizer's code and takes initialized ones for uninitialized.
  target_compile_options(tenon_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${TENON_SANITIZE}> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${TENON_SANITIZE})
endif()

find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
foreach(language C CXX CUDA)
  if(TENON_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${TENON_CCACHE})
  endif()
endforeach()
