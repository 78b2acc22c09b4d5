// Functions that take turns on one thread.
#pragma once
#include <cstddef>

namespace simulated {

/// A function on a stack of its own, that stops where it says pause() and goes on when it is resumed. All on one thread.
class Fiber {
 public:
  using Function = void (*)(void* argument);

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Whatever the stack held is forgotten. The function begins at the first resume(), and must not throw.
  void start(Function function, void* argument);
  /// Until it pauses or ends.
  void resume();
  /// Called by the function itself.
  void pause();
  bool ended() const { return ended_; }

 private:
  static void enter();
  void leave(void** fake);

  std::byte* stack_;
  void *own_ = nullptr, *caller_ = nullptr;  // stack pointers of who is not running
  const void* caller_stack_ = nullptr;       // for AddressSanitizer
  std::size_t caller_size_ = 0;
  Function function_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
};

}  // namespace simulated
