// Stacks for functions that take turns on one thread of the CPU.
#pragma once
#include <cstddef>

namespace simulated {

/// Keeps what a function must find again on its stack, and the stack's pointer in *from, and goes on where the stack `to` stopped.
void switch_stacks(void** from, void* to) asm("simulated_switch");

/// So many stacks, each ended by a page that cannot be touched.
class Stacks {
 public:
  explicit Stacks(int count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// Stack number i, as if it had stopped before the first line of a function, which must never return or throw.
  void* begin(int i, void (*function)());
  /// Needed before functions begin again where some did not end: AddressSanitizer has marked what lies between their variables.
  void forget();

  /// While it lives, AddressSanitizer takes all of the stacks together for the thread's.
  class InUse {
   public:
    explicit InUse(const Stacks& stacks);
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    void* fake_ = nullptr;
    const void* own_ = nullptr;
    std::size_t own_bytes_ = 0;
  };

 private:
  int count_;
  std::byte* first_;
};

}  // namespace simulated
