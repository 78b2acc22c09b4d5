// Plugins, one for each FAULT_NAME, that change their process, print, hang or crash when they are
// loaded or when the process ends.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "doubling.hpp"

#ifdef FAULT_changes_at_load
__attribute__((constructor)) static void change() {
  umask(0);
  alarm(1000);
}

struct ChangesAtLoad : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(changes_at_load, ChangesAtLoad)
#endif

#ifdef FAULT_prints
// Prints in every possible way.
#include <iostream>

static void print(const char* when) {
  std::printf("printf %s\n", when);
  std::cout << "cout " << when << std::endl;
  const auto text = std::string("write ") + when + "\n";
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
}

__attribute__((constructor)) static void load() {
  std::printf("printf when loaded\n");
}

struct Prints : Doubling {
  void configure() { print("when made"); }
  void forward(const tenon::Call& call) const {
    print("when called");
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(prints, Prints)
#endif

#ifdef FAULT_crashes_in_host
// Crashes next to the host's library, but not in the test process.
__attribute__((constructor)) static void crash() {
  if (dlsym(RTLD_DEFAULT, "XXH3_64bits") != nullptr) raise(SIGSEGV);
}

struct CrashesInHost : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(crashes_in_host, CrashesInHost)
#endif

#ifdef FAULT_crashes_at_end
// Valid until the process runs the destructors of its static objects.
static struct Crashing {
  ~Crashing() { abort(); }
} crashing;

struct CrashesAtEnd : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(crashes_at_end, CrashesAtEnd)
#endif

#ifdef FAULT_hangs_at_end
// Valid until the process runs its exit handlers.
__attribute__((constructor)) static void hang_at_end() {
  atexit([] {
    for (;;) pause();
  });
}

struct HangsAtEnd : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(hangs_at_end, HangsAtEnd)
#endif

#ifdef FAULT_flushes_to_zero
// The code that g++ older than 13 links into a shared object for -ffast-math.
__attribute__((constructor)) static void flush_to_zero() {
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  unsigned long long fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr |= 1ULL << 24;
  asm volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

struct FlushesToZero : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(flushes_to_zero, FlushesToZero)
#endif
