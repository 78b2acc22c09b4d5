#include "stacks.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "simulated GPUs switch stacks by x86-64 assembly; add the code for this architecture here"
#endif

// swapcontext() of the C library would work but makes a system call each time, which takes ten
// times as long.
asm(R"(
.text
.globl simulated_switch
.hidden simulated_switch
.type simulated_switch, @function
simulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size simulated_switch, .-simulated_switch
)");

namespace simulated {
namespace {

constexpr std::size_t guard_bytes = 4096, bytes_each = (128 << 10) + guard_bytes;

}  // namespace

Stacks::Stacks(int count) : count_(count) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* found = mmap(nullptr, count_ * bytes_each, PROT_READ | PROT_WRITE, flags, -1, 0);
  bool guarded = found != MAP_FAILED;
  first_ = static_cast<std::byte*>(found);
  for (int i = 0; guarded && i < count_; ++i)
    guarded = mprotect(first_ + i * bytes_each, guard_bytes, PROT_NONE) == 0;
  if (guarded) return;
  std::perror("simulated GPU: stacks");
  std::abort();
}

Stacks::~Stacks() {
  forget();
  munmap(first_, count_ * bytes_each);
}

void* Stacks::begin(int i, void (*function)()) {
  // The layout that switch_stacks leaves: six registers, the return address, and padding for the
  // alignment of a call.
  auto* top = reinterpret_cast<std::uintptr_t*>(first_ + (i + 1) * bytes_each) - 8;
  for (int k = 0; k < 6; ++k) top[k] = 0;
  top[6] = reinterpret_cast<std::uintptr_t>(function);
  top[7] = 0;
  return top;
}

#if defined(__SANITIZE_ADDRESS__)
void Stacks::forget() {
  __asan_unpoison_memory_region(first_, count_ * bytes_each);
}
Stacks::InUse::InUse(const Stacks& stacks) {
  __sanitizer_start_switch_fiber(&fake_, stacks.first_, stacks.count_ * bytes_each);
  __sanitizer_finish_switch_fiber(nullptr, &own_, &own_bytes_);
}
Stacks::InUse::~InUse() {
  __sanitizer_start_switch_fiber(nullptr, own_, own_bytes_);
  __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
}
#else
void Stacks::forget() {}
Stacks::InUse::InUse(const Stacks&) {}
Stacks::InUse::~InUse() {}
#endif

}  // namespace simulated
