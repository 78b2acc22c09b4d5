// Optional functions of the host, found by name (tenon_host::query in abi.h). For the SDK.
#pragma once
#include <cstddef>

#include "../abi.h"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Returns the host's function of this name and version, or null if it has none: a host of ABI
/// minor 0 has no query, and a later one may lack the name. Function is the type that abi.h
/// specifies for the name. Takes a few nanoseconds; thread-safe.
///
///     const auto log = host_function<tenon_log>(call, "log/1");
///     if (log) log(&call, TENON_LOG_INFO, "no cache");
template <class Function>
Function host_function(const tenon_call& call, const char* name) {
  const tenon_host* const host = call.host;
  const bool has_query =
      host && host->size >= offsetof(tenon_host, query) + sizeof host->query && host->query;
  return has_query ? reinterpret_cast<Function>(host->query(name)) : nullptr;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
