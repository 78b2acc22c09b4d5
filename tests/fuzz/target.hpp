// A fuzz target: the function that libFuzzer calls, or an entry in the plain program's table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

using FuzzTarget = int (*)(const std::uint8_t* bytes, std::size_t size);

#if defined(TENON_LIBFUZZER)
#define TENON_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput
#else
std::map<std::string, FuzzTarget>& fuzz_targets();
#define TENON_FUZZ_TARGET(name)                                                       \
  static int fuzz_##name(const std::uint8_t* bytes, std::size_t size);                \
  static const bool added_##name = fuzz_targets().emplace(#name, fuzz_##name).second; \
  static int fuzz_##name
#endif
