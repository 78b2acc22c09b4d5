# tenon_add_plugin(name SOURCES file... [LIBRARIES library...] [VERSION version] [SPACE space]
# [CUDA])
#
# Adds a plugin: a shared object `name.so` that exports only its operators. The target has the
# plugin's name.
#   VERSION  version shown by `tenon list`; default: the project's version
#   SPACE    prefix of its operators' full names, such as acme in acme.rope; default: the plugin's
#            name
#   CUDA     compile every source with nvcc, so that elementwise operators get CUDA kernels; ignored
#            without nvcc. Sources named .cu are always compiled with nvcc, and omitted without it.

set(_tenon_plugin_map ${CMAKE_CURRENT_LIST_DIR}/plugin.map)

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "VERSION;SPACE" "SOURCES;LIBRARIES")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): no sources; add SOURCES followed by the files")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "tenon_add_plugin(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}; "
      "write SOURCES before the files")
  endif()
  if(NOT arg_VERSION)
    set(arg_VERSION ${PROJECT_VERSION})
  endif()
  if(NOT arg_VERSION)
    set(arg_VERSION 0)
  endif()
  set(cuda_sources ${arg_SOURCES})
  list(FILTER cuda_sources INCLUDE REGEX "\\.cu$")
  # only in Tenon's own tests: the C++ compiler compiles all sources
  if(TARGET tenon_simulated_cuda)
    set_source_files_properties(${cuda_sources} PROPERTIES LANGUAGE CXX)
    if(arg_CUDA OR cuda_sources)
      list(APPEND arg_LIBRARIES tenon_simulated_cuda)
    endif()
  elseif(NOT CMAKE_CUDA_COMPILER_LOADED)
    list(FILTER arg_SOURCES EXCLUDE REGEX "\\.cu$")
  elseif(arg_CUDA)
    set_source_files_properties(${arg_SOURCES} PROPERTIES LANGUAGE CUDA)
  endif()

  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE Tenon::sdk ${arg_LIBRARIES})
  target_compile_definitions(${name} PRIVATE TENON_PLUGIN_NAME="${name}"
    TENON_PLUGIN_VERSION="${arg_VERSION}")
  if(arg_SPACE)
    target_compile_definitions(${name} PRIVATE TENON_SPACE="${arg_SPACE}")
  endif()
  # CMake 3.25 silently drops CUDA_STANDARD 20 for nvcc 13.
  if(NOT CMAKE_CUDA_FLAGS MATCHES "-std=")
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  endif()
  # No contraction, for the same bits on every CPU. No errno from sqrt, so that loops with it are
  # vectorized.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>)
  # An empty build type would mean no optimization at all.
  target_compile_options(${name} PRIVATE $<$<CONFIG:>:-O2>)
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX .so POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON)

  # The map also hides symbols of static libraries, which compiler flags cannot.
  target_link_options(${name} PRIVATE LINKER:--version-script=${_tenon_plugin_map}
    LINKER:--exclude-libs,ALL)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${_tenon_plugin_map})
  # With clang, a sanitizer's symbols are in the program, so a sanitized plugin has undefined ones.
  string(JOIN " " flags "${CMAKE_CXX_FLAGS}" "${TENON_SANITIZE}" "${CMAKE_MODULE_LINKER_FLAGS}")
  if(NOT TENON_SANITIZE AND NOT flags MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()
