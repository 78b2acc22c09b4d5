// The plugin and its objects in the worker.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "isolate/protocol.hpp"

namespace tenon::isolate {

/// An object created by the plugin, with its function table.
struct Object {
  const tenon_operator* table = nullptr;
  void* instance = nullptr;
};

/// Thread-safe.
class Plugin {
 public:
  /// `library` comes from dlopen; `host` is passed to the plugin's functions.
  Plugin(void* library, const tenon_host& host) : library_(library), host_(host) {}

  /// Returns null if there is no such symbol or it returns null; `missing` tells which, as in
  /// TableRecord.
  const tenon_operator* table(std::string_view symbol, std::uint32_t* missing = nullptr);

  std::uint64_t add(const Object& object);
  /// Returns an object with a null table if there is none.
  Object find(std::uint64_t number);
  Object remove(std::uint64_t number);

 private:
  void* library_;
  const tenon_host& host_;
  std::mutex mutex_;
  std::map<std::string, const tenon_operator*, std::less<>> tables_;
  std::unordered_map<std::uint64_t, Object> objects_;
  std::uint64_t last_ = 0;
};

}  // namespace tenon::isolate
