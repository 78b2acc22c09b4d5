#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "doubling.hpp"

static int error_of(long result) {
  return result < 0 ? errno : 0;
}
/// Attempts made while being loaded: to outlive the parent process, to read files, to have root's
/// capabilities.
static const int outliving_error = error_of(prctl(PR_SET_PDEATHSIG, 0));
static const int reading_error = error_of(open("/etc/passwd", O_RDONLY));
static const int listing_error = error_of(open("/", O_RDONLY | O_DIRECTORY));
static const int own_process_error = error_of(open("/proc/self/maps", O_RDONLY));
static const bool has_capabilities = [] {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3]{};
  return syscall(SYS_capget, &header, own) != 0 || own[0].effective != 0 || own[0].permitted != 0;
}();

// Returns twice x. `what` is a misdeed, and `where` the function that commits it: "create",
// "destroy", "infer", "forward", "fifth forward" (of the process) or "backward". If the system
// refuses the misdeed, every output element is the error number.
struct Misbehaves : Doubling {
  tenon::Text what, where = "forward";

  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.param("what", &Misbehaves::what, "what it does");
    op.param("where", &Misbehaves::where, "in which function");
    op.backward_reads("x");
  }

  constexpr ~Misbehaves() {
    if (!std::is_constant_evaluated()) at("destroy");
  }
  void configure() { at("create"); }
  void infer(tenon::Infer& io) const {
    at("infer");
    io.set_output(0, io.input(0).shape, tenon::f32);
  }
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    auto y = call.output<float>(0);
    static std::atomic<int> calls = 0;
    if (++calls == 5) at("fifth forward");
    if (std::string_view(where) != "forward") return;
    if (std::string_view(what) == "writes input")
      const_cast<float*>(call.input<float>(0).data())[0] = 7;
    if (std::string_view(what) == "reads the environment" && std::getenv("SECRET_TOKEN") != nullptr)
      return std::fill(y.begin(), y.end(), 7.f);
    if (std::string_view(what) == "writes far")
      for (std::int64_t i = 0;; i += 1024) y.data()[i] = 7;
    if (std::string_view(what) == "writes and crashes") {
      std::fill(y.begin(), y.end(), 7.f);
      std::abort();
    }
    if (const int error = at("forward"); error != 0)
      std::fill(y.begin(), y.end(), static_cast<float>(error));
  }
  void backward(const tenon::Call& call) const {
    at("backward");
    const auto dy = call.output_grad<float>(0);
    auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];
  }

 private:
  int at(std::string_view here) const {
    return std::string_view(where) == here ? misbehave(std::string_view(what)) : 0;
  }

  static int overflow(volatile char* before) {
    volatile char more[4096];
    more[0] = before[0];
    return overflow(more) + more[0];
  }
  static int misbehave(std::string_view what) {
    if (what == "segv") *reinterpret_cast<volatile int*>(8) = 1;
    if (what == "abort") std::abort();
    if (what == "exit") std::exit(0);
    if (what == "_exit") _exit(0);
    if (what == "exit 3") _exit(3);
    if (what == "hangs")
      for (volatile int i = 0;; i = i + 1) continue;
    if (what == "overflow") {
      volatile char first = 0;
      return overflow(&first);
    }
    if (what == "kills itself") return raise(SIGKILL);
    if (what == "throws") throw 7;
    if (what == "allocates")
      for (;;) std::memset(new char[64 << 20], 1, 64 << 20);
    if (what == "maps shared memory") {
      return mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
                     MAP_FAILED
                 ? errno
                 : 0;
    }
    if (what == "opens while it is loaded") return reading_error;
    if (what == "lists while it is loaded") return listing_error;
    if (what == "looks at itself while it is loaded") return own_process_error;
    if (what == "is root while it is loaded") return has_capabilities ? 7 : 0;
    if (what == "opens") return error_of(open("/etc/passwd", O_RDONLY));
    if (what == "makes a socket") return error_of(socket(AF_INET, SOCK_STREAM, 0));
    if (what == "kills its parent") return error_of(kill(getppid(), SIGKILL));
    if (what == "holds its parent up") {
      cpu_set_t cores;
      sched_getaffinity(0, sizeof cores, &cores);
      return error_of(sched_setaffinity(getppid(), sizeof cores, &cores));
    }
    if (what == "outlives its parent") return outliving_error;
    if (what == "owns a descriptor") return error_of(fcntl(0, F_SETOWN, getppid()));
    if (what == "forks") return error_of(fork());
    if (what == "executes") return error_of(execl("/bin/true", "true", nullptr));
    if (what == "traces its parent")
      return error_of(ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr));
    if (what == "closes") {
      for (int descriptor = 0; descriptor < 64; ++descriptor) close(descriptor);
    }
    return 0;
  }
};
TENON_OPERATOR(misbehaves, Misbehaves)
