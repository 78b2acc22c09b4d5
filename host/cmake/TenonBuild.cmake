# How all targets are compiled: warnings, sanitizers, the compiler cache.

add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra
  -Wpedantic>)
# Presets, and thus CI, turn this on. Elsewhere it is off, because other compilers may have warnings
# that have not been seen here.
option(TENON_WARNINGS_AS_ERRORS "treat warnings as errors" OFF)
if(TENON_WARNINGS_AS_ERRORS)
  target_compile_options(tenon_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
# g++ 12 at -O3 reports overlapping copies in std::string's operator+ that do not exist (GCC bug
# 105651).
target_compile_options(tenon_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

if(TENON_SANITIZE)
  # Sanitizers' instrumentation makes g++ report false positives: initialized values as
  # uninitialized, and writes past the end of short strings.
  target_compile_options(tenon_warnings INTERFACE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow>")
  # AddressSanitizer reports null pointers as well, and checking each access for null takes a tenth
  # of the compile time. clang compares function types by address, which differs between libraries
  # with hidden symbols.
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${TENON_SANITIZE}>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=null,object-size>
                      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
                      "$<$<COMPILE_LANGUAGE:C,CXX>:${TENON_SANITIZE_OPTIONS}>")
  add_link_options(-fsanitize=${TENON_SANITIZE})
  foreach(sanitizer ADDRESS THREAD)  # g++ defines these itself
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
    # The sloppiness lets ccache cache objects compiled with a precompiled header. Depend mode
    # hashes files instead of preprocessed text: otherwise, after a change of a comment only, ccache
    # returned the old precompiled header, and g++ did not accept the header as the same file.
    set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
        ${TENON_CCACHE})
  endif()
endforeach()
if(TENON_CCACHE)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# Builds without tests are rarely incremental: joining a few sources halves the build time.
if(NOT TENON_BUILD_TESTS AND NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
