# The host's dependencies from the system. One error lists all missing ones with their Debian
# packages.

set(missing "")

# tenon_need(<variable> <purpose> <package> <kind> <name>...): calls find_path, find_library or
# find_program; if nothing is found, adds a line to the error.
macro(tenon_need variable what package kind)
  cmake_language(CALL find_${kind} ${variable} ${ARGN})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    list(APPEND missing "${package} (${what})")
  endif()
endmacro()

find_package(TBB QUIET)
if(NOT TARGET TBB::tbb)
  list(APPEND missing "libtbb-dev (oneTBB: threads)")
endif()
find_package(fmt QUIET)
if(NOT TARGET fmt::fmt)
  list(APPEND missing "libfmt-dev (fmt: text)")
endif()
find_package(Threads REQUIRED)

tenon_need(TENON_BOOST_INCLUDE "Boost.DLL: loading plugins" libboost-dev path
  boost/dll/shared_library.hpp)
tenon_need(TENON_LIBELF_INCLUDE "libelf: reading plugins" libelf-dev path libelf.h)
tenon_need(TENON_LIBELF "libelf: reading plugins" libelf-dev library elf)
tenon_need(TENON_JSON_INCLUDE "JSON and CBOR" nlohmann-json3-dev path nlohmann/json.hpp)
tenon_need(TENON_FLATBUFFERS_INCLUDE "FlatBuffers: graph files" libflatbuffers-dev path
  flatbuffers/flatbuffers.h)
tenon_need(TENON_FLATC "flatc: graph files" flatbuffers-compiler program flatc)
tenon_need(TENON_XXHASH_INCLUDE "xxHash: checksums" libxxhash-dev path xxhash.h)
tenon_need(TENON_XXHASH "xxHash: checksums" libxxhash-dev library xxhash)
tenon_need(TENON_NETTLE_INCLUDE "Nettle: SHA-256 of plugins" nettle-dev path nettle/sha2.h)
tenon_need(TENON_NETTLE "Nettle: SHA-256 of plugins" nettle-dev library nettle)
tenon_need(TENON_ZLIB_INCLUDE "zlib: .npz files" zlib1g-dev path zlib.h)
tenon_need(TENON_ZLIB "zlib: .npz files" zlib1g-dev library z)
tenon_need(TENON_DLPACK_INCLUDE "DLPack: exchanging tensors" libdlpack-dev path dlpack/dlpack.h)
tenon_need(TENON_PROTOZERO_INCLUDE "protozero: ONNX files" libprotozero-dev path
  protozero/varint.hpp)
tenon_need(TENON_CLI11_INCLUDE "CLI11: the command line" libcli11-dev path CLI/CLI.hpp)

if(missing)
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing ", " missing_text)
  message(FATAL_ERROR
    "the host cannot be built: these Debian packages are missing: ${missing_text}. "
                      "Install them with apt install, or run `bash host/setup.sh`.")
endif()
