// Stacks for functions that take turns on one CPU thread.
#pragma once
#include <cstddef>

namespace simulated {

/// Saves the registers on the stack and the stack pointer in *from, and continues where the stack
/// `to` stopped.
void switch_stacks(void** from, void* to) asm("simulated_switch");

/// A number of stacks, each followed by an inaccessible page.
class Stacks {
 public:
  explicit Stacks(int count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// Prepares stack i to start `function`, which must never return or throw.
  void* begin(int i, void (*function)());
  /// Must be called before functions start again if some did not end: AddressSanitizer has poisoned
  /// gaps between their variables.
  void forget();

  /// During its lifetime, AddressSanitizer treats all stacks together as the thread's.
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
