// A library that kernels can do without. It is opened on first use and never linked, so the plugin
// loads without it.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <initializer_list>
#include <string>

/// Stays open until the process ends. Thread-safe once constructed.
class OptionalLibrary {
 public:
  /// Opens all of `names`: the library itself, then the libraries that it would open lazily,
  /// because some end the process if that fails. If one is missing, a line on stderr names it, the
  /// cause, and `instead`: what the kernels use instead.
  OptionalLibrary(std::initializer_list<const char*> names, const char* instead)
      : instead_(instead) {
    for (const auto* name : names) {
      void* const opened = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
      if (opened == nullptr) {
        give_up(dlerror());
        break;
      }
      if (library_ == nullptr) library_ = opened;
    }
  }
  OptionalLibrary(const OptionalLibrary&) = delete;
  OptionalLibrary& operator=(const OptionalLibrary&) = delete;

  /// Whether all libraries are open.
  explicit operator bool() const { return library_ != nullptr; }

  /// Returns null if the library is missing. A missing function also makes the library count as
  /// missing.
  template <class Function>
  Function find(const char* name) {
    void* const found = library_ == nullptr ? nullptr : dlsym(library_, name);
    if (found == nullptr && library_ != nullptr) give_up(dlerror());
    return reinterpret_cast<Function>(found);
  }

 private:
  void give_up(const char* why) {
    library_ = nullptr;
    std::fprintf(stderr, "tenon: %s: %s\n", why, instead_);
  }

  void* library_ = nullptr;
  const char* instead_;
};
