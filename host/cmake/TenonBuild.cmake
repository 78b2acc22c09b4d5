# How everything in this repository is compiled: warnings, sanitizers, the compiler cache.

add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic>)
# The presets, and so CI, ask for it. Who just builds may have a compiler whose warnings nobody here has seen.
option(TENON_WARNINGS_AS_ERRORS "let warnings end the build" OFF)
if(TENON_WARNINGS_AS_ERRORS)
  target_compile_options(tenon_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
# g++ 12 at -O3 sees overlapping copies in std::string's operator+ that are not there (its bug 105651).
target_compile_options(tenon_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

if(TENON_SANITIZE)
  # g++ follows values less well through a sanitizer's code: it takes initialized ones for uninitialized, and a short string for a long one.
  target_compile_options(tenon_warnings INTERFACE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow>")
  # A null pointer ends the program with AddressSanitizer, too; to look for it at each access costs a tenth of the time to compile. And
  # clang compares types of functions by addresses, which differ from one library with hidden symbols to another.
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${TENON_SANITIZE}> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=null,object-size>
                      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer> "$<$<COMPILE_LANGUAGE:C,CXX>:${TENON_SANITIZE_OPTIONS}>")
  add_link_options(-fsanitize=${TENON_SANITIZE})
  foreach(sanitizer ADDRESS THREAD)  # g++ says itself which looks on
    string(TOLOWER ${sanitizer} name)
    if(TENON_SANITIZE MATCHES ${name})
      add_compile_definitions($<$<COMPILE_LANG_AND_ID:CXX,Clang>:__SANITIZE_${sanitizer}__>)
    endif()
  endforeach()
endif()

find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
foreach(language C CXX CUDA)
  if(TENON_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    # What it must overlook to keep objects that were made with a precompiled header. It compares files, not preprocessed text: where
    # a header had changed in a comment alone, it gave the old precompiled header back, and g++ did not take the header for the same file.
    set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${TENON_CCACHE})
  endif()
endforeach()
if(TENON_CCACHE)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# Who builds without tests does not build again after each change: a few sources compiled as one take half the time.
if(NOT TENON_BUILD_TESTS AND NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
