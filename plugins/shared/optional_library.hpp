// A library that kernels can do without: opened when it is first needed, never linked to, so that the plugin loads where it is missing.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <initializer_list>
#include <string>

/// Stays open until the process ends. Threads: any, once it is made.
class OptionalLibrary {
 public:
  /// Opens all of `names`, of which the first is the library's own and the others are those that it opens by itself, later: a library may
  /// end the process where it cannot. Where one is missing, stderr tells which, why, and `instead`: what the kernels do without it.
  OptionalLibrary(std::initializer_list<const char*> names, const char* instead) : instead_(instead) {
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

  /// Whether all of it is here.
  explicit operator bool() const { return library_ != nullptr; }

  /// Null where the library is missing, or becomes so as it has no such function.
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
