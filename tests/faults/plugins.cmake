# Compiles the broken plugins. A source with sections "#ifdef FAULT_NAME" is compiled for each of
# them into a plugin NAME; others are a
# plugin of their own name. Their faults are intended, so warnings and sanitizers are off and
# undefined symbols are allowed.
file(GLOB sources CONFIGURE_DEPENDS *.c *.cpp)
set_source_files_properties(knee.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # it changes a header's meaning before it includes others
foreach(source IN LISTS sources)
  get_filename_component(names ${source} NAME_WE)
  file(STRINGS ${source} sections REGEX "^#ifdef FAULT_")
  if(sections)
    string(REPLACE "#ifdef FAULT_" "" names "${sections}")
    list(REMOVE_DUPLICATES names)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  endif()
  foreach(name IN LISTS names)
    add_library(fault_${name} MODULE ${source})
    if(sections)
      target_compile_definitions(fault_${name} PRIVATE FAULT_${name})
    endif()
    target_link_libraries(fault_${name} PRIVATE Tenon::sdk)
    target_compile_options(fault_${name} PRIVATE -w -O1 -fno-sanitize=all)
    set_target_properties(fault_${name} PROPERTIES
      PREFIX "" OUTPUT_NAME ${name} DEFINE_SYMBOL "" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/faults)
    add_dependencies(tenon_faults fault_${name})
    if(NOT source MATCHES "\\.cpp$")
      continue()
    elseif(first_fault)
      target_precompile_headers(fault_${name} REUSE_FROM ${first_fault})
    elseif(NOT sections)
      set(first_fault fault_${name})
      # Everything that <tenon/operator.hpp> includes except the registration: if that is precompiled,
      # clang 14 confuses the manifests' section. g++ ignores the header if a macro of the command that
      # compiled it is missing, hence no FAULT_NAME here, and no DEFINE_SYMBOL.
      target_precompile_headers(fault_${name} PRIVATE <tenon/compose.hpp> <tenon/infer_storage.hpp> <tenon/prepare.hpp> <tenon/table.hpp>
        <tenon/visit.hpp> <tenon/wide.hpp>)
    endif()
  endforeach()
endforeach()

# A valid plugin with a library in its folder, which needs another one in a subfolder; and another
# library of the same name, which crashes.
add_library(fault_beside_below SHARED libraries/bundled.c)
target_compile_definitions(fault_beside_below PRIVATE BELOW)
add_library(fault_beside_otherwise SHARED libraries/bundled.c)
target_compile_definitions(fault_beside_otherwise PRIVATE BELOW CRASHES)
add_library(fault_beside_library SHARED libraries/bundled.c)
target_compile_definitions(fault_beside_library PRIVATE BESIDE)
target_link_libraries(fault_beside_library PRIVATE fault_beside_below)
add_library(fault_beside_plugin MODULE libraries/needs_beside.c)
target_link_libraries(fault_beside_plugin PRIVATE Tenon::sdk fault_beside_library)
set_target_properties(fault_beside_below PROPERTIES OUTPUT_NAME below)
set_target_properties(fault_beside_otherwise PROPERTIES OUTPUT_NAME below)
set_target_properties(fault_beside_library PROPERTIES OUTPUT_NAME beside)
set_target_properties(fault_beside_plugin PROPERTIES PREFIX "" OUTPUT_NAME needs_beside)
foreach(target fault_beside_below fault_beside_otherwise fault_beside_library fault_beside_plugin)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN)
  target_compile_options(${target} PRIVATE -w -O1 -fno-sanitize=all)
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/faults/beside)
endforeach()
set_target_properties(fault_beside_otherwise PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/faults/beside/otherwise)
add_dependencies(tenon_faults fault_beside_plugin fault_beside_otherwise)
# Two more in other folders, which find their libraries by an absolute path (elsewhere) or in their
# own subfolder (inner).
set(rpath_elsewhere ${PROJECT_BINARY_DIR}/faults/beside)
set(rpath_inner $ORIGIN/beside)
foreach(where elsewhere inner)
  add_library(fault_${where}_plugin MODULE libraries/needs_beside.c)
  target_link_libraries(fault_${where}_plugin PRIVATE Tenon::sdk fault_beside_library)
  target_compile_options(fault_${where}_plugin PRIVATE -w -O1 -fno-sanitize=all)
  set_target_properties(fault_${where}_plugin PROPERTIES PREFIX "" OUTPUT_NAME needs_${where} C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/faults BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH ${rpath_${where}})
  add_dependencies(tenon_faults fault_${where}_plugin)
endforeach()

# Valid plugins whose libraries and neighbours tests put into separate folders: libnumber.so with
# several numbers (0 aborts while being loaded) and without SONAME, and plugins that contain or
# share a library with unique symbols.
set(libraries ${PROJECT_BINARY_DIR}/faults/libraries)
function(fault_in_libraries kind name folder)
  cmake_parse_arguments(its "" "RPATH" "SOURCES;DEFINITIONS;LIBRARIES;PROPERTIES" ${ARGN})
  set(target fault_libraries_${folder}_${name})
  string(REPLACE / _ target ${target})
  add_library(${target} ${kind} ${its_SOURCES})
  target_link_libraries(${target} PRIVATE ${its_LIBRARIES})
  target_compile_definitions(${target} PRIVATE ${its_DEFINITIONS})
  target_compile_options(${target} PRIVATE -w -O1 -fno-sanitize=all)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN OFF BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${its_RPATH}" LIBRARY_OUTPUT_DIRECTORY ${libraries}/${folder}
    ${its_PROPERTIES})
  if(kind STREQUAL MODULE)
    set_target_properties(${target} PROPERTIES PREFIX "")
  endif()
  add_dependencies(tenon_faults ${target})
endfunction()
foreach(number 0 2 50)
  fault_in_libraries(SHARED number ${number} SOURCES libraries/bundled.c DEFINITIONS NUMBER=${number})
endforeach()
fault_in_libraries(SHARED number bare SOURCES libraries/bundled.c DEFINITIONS NUMBER=2 PROPERTIES NO_SONAME ON)
set(from_library SOURCES libraries/multiplies.cpp DEFINITIONS FROM_LIBRARY LIBRARIES Tenon::sdk fault_libraries_2_number)
fault_in_libraries(MODULE from_library runpath ${from_library} -Wl,--enable-new-dtags RPATH "/nowhere:$ORIGIN/none:$ORIGIN/../lib")
fault_in_libraries(MODULE from_library rpath ${from_library} -Wl,--disable-new-dtags RPATH "\${ORIGIN}/../lib")
foreach(version 1 2)
  fault_in_libraries(MODULE counts version${version} SOURCES libraries/counts.cpp LIBRARIES Tenon::sdk DEFINITIONS VERSION=${version})
endforeach()
fault_in_libraries(SHARED counter shared SOURCES libraries/counts.cpp DEFINITIONS VERSION=1 COUNTER)
foreach(plugin one other)
  fault_in_libraries(MODULE ${plugin} shared SOURCES libraries/counts.cpp LIBRARIES Tenon::sdk fault_libraries_shared_counter RPATH $ORIGIN
    DEFINITIONS VERSION=1 LIBRARY=${plugin})
endforeach()
fault_in_libraries(MODULE from_library lib ${from_library} RPATH "$ORIGIN/../$LIB")
fault_in_libraries(MODULE reads_beside beside SOURCES libraries/multiplies.cpp LIBRARIES Tenon::sdk)
