#include "io/crash/signal_stack.hpp"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>

namespace tenon {
namespace {

std::atomic<bool> enabled = false;

/// Has an inaccessible guard page below it.
class SignalStack {
 public:
  SignalStack() noexcept {
    stack_t old{};
    if (sigaltstack(nullptr, &old) != 0 || (old.ss_flags & SS_DISABLE) == 0) return;
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t size = std::size_t{64} << 10;
#ifdef AT_MINSIGSTKSZ  // size of the processor's register state
    size += getauxval(AT_MINSIGSTKSZ);
#endif
    bytes_ = (size + page_ - 1) / page_ * page_ + page_;
    void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (pages == MAP_FAILED) return;
    mprotect(pages, page_, PROT_NONE);
    memory_ = static_cast<std::byte*>(pages);
    stack_t stack{};
    stack.ss_sp = memory_ + page_;
    stack.ss_size = bytes_ - page_;
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t now{};
    // another stack replaced it, whose owner may restore this one
    if (sigaltstack(nullptr, &now) != 0 || now.ss_sp != memory_ + page_) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, nullptr) == 0) munmap(memory_, bytes_);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::byte* memory_ = nullptr;
  std::size_t page_ = 0, bytes_ = 0;
};

}  // namespace

void use_signal_stacks() noexcept {
  enabled.store(true, std::memory_order_relaxed);
}

void install_thread_signal_stack() noexcept {
  if (!enabled.load(std::memory_order_relaxed)) return;
  thread_local const SignalStack stack;
  static_cast<void>(&stack);
}

}  // namespace tenon
