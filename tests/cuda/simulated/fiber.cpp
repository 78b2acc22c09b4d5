#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "simulated GPUs switch stacks in a few lines of x86-64; other machines need theirs here"
#endif

// simulated_switch(void** from, void* to): keeps what a function must find again on the stack, and the stack's pointer in *from, and goes
// on with the stack `to`. The C library's swapcontext() does the same and calls the kernel each time, which takes ten times as long.
asm(R"(
.text
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
void switch_stacks(void** from, void* to) asm("simulated_switch");

namespace simulated {
namespace {

constexpr std::size_t stack_bytes = 128 << 10, guard_bytes = 4096;

thread_local Fiber* current = nullptr;

#if defined(__SANITIZE_ADDRESS__)
void before_switch(void** fake, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake, stack, bytes);
}
void after_switch(void* fake, const void** stack, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
}
void forget(const std::byte* stack, std::size_t from) {
  __asan_unpoison_memory_region(stack + from, stack_bytes - from);
}
#else
void before_switch(void**, const void*, std::size_t) {}
void after_switch(void*, const void**, std::size_t*) {}
void forget(const std::byte*, std::size_t) {}
#endif

}  // namespace

// A page that cannot be touched ends each stack.
Fiber::Fiber() {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* found = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (found == MAP_FAILED || mprotect(found, guard_bytes, PROT_NONE) != 0) {
    std::perror("simulated GPU: a stack");
    std::abort();
  }
  stack_ = static_cast<std::byte*>(found) + guard_bytes;
}

Fiber::~Fiber() {
  forget(stack_, 0);
  munmap(stack_ - guard_bytes, guard_bytes + stack_bytes);
}

void Fiber::start(Function function, void* argument) {
  forget(stack_, ended_ ? stack_bytes - 4096 : 0);  // what never returned: enter(), or all where it was given up in the middle
  function_ = function;
  argument_ = argument;
  ended_ = false;
  // As switch_stacks leaves it: six registers, where to go on, and an end that keeps the stack aligned as a call would.
  auto* top = reinterpret_cast<std::uintptr_t*>(stack_ + stack_bytes) - 8;
  for (int i = 0; i < 6; ++i) top[i] = 0;
  top[6] = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  top[7] = 0;
  own_ = top;
}

void Fiber::resume() {
  void* fake = nullptr;
  current = this;
  before_switch(&fake, stack_, stack_bytes);
  switch_stacks(&caller_, own_);
  after_switch(fake, nullptr, nullptr);
}

void Fiber::leave(void** fake) {
  before_switch(fake, caller_stack_, caller_size_);
  switch_stacks(&own_, caller_);
}

void Fiber::pause() {
  void* fake = nullptr;
  leave(&fake);
  after_switch(fake, &caller_stack_, &caller_size_);
}

void Fiber::enter() {
  Fiber& self = *current;
  after_switch(nullptr, &self.caller_stack_, &self.caller_size_);
  self.function_(self.argument_);
  self.ended_ = true;
  self.leave(nullptr);
}

}  // namespace simulated
