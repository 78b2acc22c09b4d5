// Operators that each change one thing in their process.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "doubling.hpp"

// An operator whose forward() first executes the statement.
#define CHANGES(name, Class, statement)           \
  struct Class : Doubling {                       \
    void forward(const tenon::Call& call) const { \
      statement;                                  \
      write(call, call.input<float>(0).size());   \
    }                                             \
  };                                              \
  TENON_OPERATOR(name, Class)

static void ignore_signal(int) {}

static void block_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

static void move_signal_stack() {
  static char memory[65536];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
}

static void lower_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 200;
  setrlimit(RLIMIT_NOFILE, &limit);
}

CHANGES(leaks_descriptor, LeaksDescriptor, ::open("/dev/zero", O_RDONLY))
CHANGES(changes_folder, ChangesFolder, if (::chdir("/proc") != 0) std::abort())
CHANGES(changes_umask, ChangesUmask, ::umask(0))
CHANGES(changes_locale, ChangesLocale, std::setlocale(LC_ALL, "C.UTF-8"))
CHANGES(changes_environment, ChangesEnvironment, ::setenv("TENON_FAULT", "1", 1))
CHANGES(handles_signal, HandlesSignal, std::signal(SIGUSR1, ignore_signal))
CHANGES(blocks_signal, BlocksSignal, block_signal())
CHANGES(moves_signal_stack, MovesSignalStack, move_signal_stack())
CHANGES(closes_input, ClosesInput, ::close(0))
CHANGES(redirects_output, RedirectsOutput, ::dup2(0, 1))
CHANGES(closes_all, ClosesAll, for (int i = 3; i < 256; ++i)::close(i))
CHANGES(starts_thread, StartsThread, std::thread([] { ::pause(); }).detach())
CHANGES(sets_alarm, SetsAlarm, ::alarm(1000))
CHANGES(lowers_limit, LowersLimit, lower_limit())
CHANGES(forks, Forks, (void)::fork())

/// Makes the change in the constructor.
struct ChangesWhenMade : Doubling {
  void configure() { ::umask(0); }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(changes_when_made, ChangesWhenMade)

/// Makes the change in the destructor, if it was called.
struct ChangesAtItsEnd : Doubling {
  bool called = false;
  constexpr ~ChangesAtItsEnd() {
    if (!std::is_constant_evaluated() && called) ::umask(0);
  }
  void forward(const tenon::Call& call) {
    called = true;
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(changes_at_its_end, ChangesAtItsEnd)

struct ChangesInBackward : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    ::umask(0);
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];
  }
};
TENON_OPERATOR(changes_in_backward, ChangesInBackward)

struct PrintsWhenCalled : Doubling {
  void forward(const tenon::Call& call) const {
    std::puts("twice");
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(prints_when_called, PrintsWhenCalled)

struct Scribbles : Doubling {
  // Writes to pipes that it did not open.
  void forward(const tenon::Call& call) const {
    const auto count = call.input<float>(0).size();
    for (int descriptor = 3; count == 0 && descriptor < 64; ++descriptor) {
      struct stat status;
      if (fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode))
        ::write(descriptor, "zero\n", 5);
    }
    write(call, count);
  }
};
TENON_OPERATOR(scribbles, Scribbles)

struct TakesMemory : Doubling {
  void forward(const tenon::Call& call) const {
    std::vector<std::vector<char>> all;
    for (int i = 0; i < 64; ++i) all.emplace_back(std::size_t{1} << 28, 'x');  // 16 GiB
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(takes_memory, TakesMemory)
