// Detects cheap-to-find misuse of public handles: concurrent use, and use after a move.
#pragma once
#include <atomic>
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon {

/// The object behind a handle. `what` is its name with an article. Throws Failure (usage) if it was
/// moved from.
template <class Pointer>
auto& deref(const Pointer& impl, const char* what) {
  if (!impl) [[unlikely]]
    throw Failure(FailureKind::usage, std::string(what) + " was moved from",
                  "use the object that it was moved to");
  return *impl;
}

/// A flag of an object that only one thread at a time may use.
class OneThread {
 public:
  /// Held while one of the object's functions runs. Throws Failure (usage) if another thread is
  /// inside one.
  class Use {
   public:
    Use(OneThread& object, const char* what, const char* hint) : used_(object.used_) {
      if (used_.exchange(true, std::memory_order_acquire))
        throw Failure(FailureKind::usage, std::string(what) + " is in use by another thread", hint);
    }
    ~Use() { used_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& used_;
  };

 private:
  std::atomic<bool> used_ = false;
};

}  // namespace tenon
