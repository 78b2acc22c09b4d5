// Ends or disturbs the process as its parameter says.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "doubling.hpp"

namespace {

int* volatile nowhere = nullptr;

struct Wordless : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

[[gnu::noinline]] int deeper(volatile char* above) {
  volatile char frame[1024];
  frame[0] = above[0];
  return deeper(frame) + frame[0];
}

void overflow() {
  volatile char first[1] = {1};
  *first = static_cast<char>(deeper(first));
}

void refuse() noexcept {
  throw 1;
}

struct Careless {
  ~Careless() noexcept(false) { throw 1; }
};

void divide_by_zero() {
#if defined(__x86_64__)
  asm volatile("xorl %%ecx, %%ecx\n\tidivl %%ecx" : : "a"(1), "d"(0) : "ecx");
#else
  raise(SIGFPE);
#endif
}

// Announces that it has started.
[[noreturn]] void loop() {
  static_cast<void>(write(STDERR_FILENO, "looping\n", 8) < 0);
  for (volatile int i = 0;; i = i + 1) continue;
}

}  // namespace

struct EndsProcess : Doubling {
  tenon::Text deed;

  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.kernels_elsewhere();
    op.param("deed", &EndsProcess::deed, "what it does");
  }
  void configure() const {
    if (deed == "create") *nowhere = 1;
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    if (deed == "infer") *nowhere = 1;
    if (deed == "infer_loop") loop();
  }
};
TENON_OPERATOR(ends_process, EndsProcess)

struct EndsProcessNow : EndsProcess {
  ~EndsProcessNow() {
    if (deed == "destructor") *nowhere = 1;
  }

  void forward(const tenon::Call& call) const {
    static std::atomic<int> calls = 0;  // of the process
    const char* after = std::getenv("TENON_FAULT_AFTER");
    if (after == nullptr || calls++ >= std::atoi(after)) misbehave(call);
    write(call, call.input<float>(0).size());
  }

 private:
  void misbehave(const tenon::Call& call) const {
    if (deed == "null") *nowhere = 1;
    if (deed == "read")
      *const_cast<volatile float*>(call.output<float>(0).data()) = static_cast<float>(*nowhere);
    if (deed == "overflow") overflow();
    if (deed == "behind") call.output<float>(0).data()[std::int64_t{1} << 40] = 1;
    if (deed == "divide") divide_by_zero();
    if (deed == "illegal") __builtin_trap();
    if (deed == "what") throw Wordless();
    if (deed == "abort") abort();
    if (deed == "noexcept") refuse();
    if (deed == "cleanup") clean_up();
    if (deed == "thread") std::thread([] { throw 1; }).join();
    if (deed == "thread_null") std::thread([] { *nowhere = 1; }).join();
    if (deed == "pthread_exit") pthread_exit(nullptr);
    if (deed == "exit") exit(0);
    if (deed == "_exit") _exit(0);
    if (deed == "close all") closefrom(0);
    if (deed == "terminate") raise(SIGTERM);
    if (deed == "kill") raise(SIGKILL);
    if (deed == "stop") raise(SIGSTOP);
    if (deed == "loop") loop();
    if (deed == "deaf") loop_without_signals();
    if (deed == "fork" && fork() < 0) throw tenon::Error("no process could be forked");
    if (deed == "memory") take_all();
    if (deed == "cut") static_cast<void>(truncate(std::getenv("TENON_FAULT_FILE"), 4096) < 0);
    if (deed == "error") throw tenon::Error("no more calls");
    if (deed == "worker" || deed == "worker_overflow") misbehave_in_parts(call);
  }
  static void clean_up() {
    const Careless careless;
    throw 2;
  }
  static void loop_without_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    loop();
  }
  static void take_all() {
    for (;;) {
      auto* bytes = new char[1 << 20];
      for (int i = 0; i < 1 << 20; i += 4096) static_cast<volatile char*>(bytes)[i] = 1;
    }
  }
  // Runs in a chunk on a thread other than the caller's.
  void misbehave_in_parts(const tenon::Call& call) const {
    const auto caller = pthread_self();
    call.parallel_for(1 << 20, 1, [&](std::int64_t, std::int64_t) {
      if (pthread_equal(caller, pthread_self())) return void(usleep(10));
      deed == "worker" ? void(*nowhere = 1) : overflow();
    });
  }
};
TENON_KERNEL(ends_process, cpu, EndsProcessNow)
