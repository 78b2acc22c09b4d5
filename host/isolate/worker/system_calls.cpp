#include "isolate/worker/system_calls.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tenon::isolate {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
constexpr bool known_architecture = true;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
constexpr bool known_architecture = true;
#else
constexpr std::uint32_t architecture = 0;
constexpr bool known_architecture = false;
#endif
constexpr std::uint32_t first_x32_call = 0x40000000;

// clang-format off
// Calls that kernels, their libraries and the C library need to compute: memory, threads, their own
// signals, clocks, open descriptors.
constexpr long always[] = {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_close, SYS_dup,
    SYS_dup3, SYS_fstat, SYS_lseek, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl,
    SYS_epoll_pwait, SYS_eventfd2, SYS_pipe2, SYS_recvmsg, SYS_mprotect, SYS_munmap, SYS_mremap,
    SYS_brk, SYS_madvise, SYS_mincore, SYS_membarrier, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_rt_sigpending, SYS_sigaltstack,
    SYS_restart_syscall, SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_set_tid_address,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getpriority, SYS_nanosleep,
    SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_times,
    SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid,
    SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrandom, SYS_getcpu, SYS_exit, SYS_exit_group,
    SYS_setitimer, SYS_getitimer, SYS_get_mempolicy,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
#ifdef SYS_getrlimit
    SYS_getrlimit,
#endif
#if defined(__x86_64__)
    SYS_dup2, SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait, SYS_pipe, SYS_time, SYS_alarm,
    SYS_pause, SYS_arch_prctl,
#endif
};
// Additional calls for the system's loader and the confinement that follows.
constexpr long while_loading[] = {
    SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getdents64, SYS_getcwd,
    SYS_statfs, SYS_fstatfs, SYS_seccomp,
    SYS_capget, 444, 445, 446,  // Landlock's three calls
#if defined(__x86_64__)
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink,
#endif
};
// clang-format on

class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    unless_equal(architecture, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_x32_call, 0, 1));
    add_return(failing(EPERM));
#endif
  }

  void allow(long call) {
    on(call, SECCOMP_RET_ALLOW);
  }
  void fail(long call, int error) {
    on(call, failing(error));
  }
  /// Allows the call if all of these bits are set in an argument; allow_without() if none is.
  void allow_with(long call, int argument, std::uint32_t bits) {
    test(call, argument, BPF_JSET, bits, SECCOMP_RET_ALLOW, failing(EPERM));
  }
  void allow_without(long call, int argument, std::uint32_t bits) {
    test(call, argument, BPF_JSET, bits, failing(EPERM), SECCOMP_RET_ALLOW);
  }
  /// Allows the call if an argument is one of the values.
  void allow_one_of(long call, int argument, std::initializer_list<std::uint32_t> values) {
    // loading an argument overwrites the call number, so all branches end here
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0,
                             static_cast<std::uint8_t>(2 * values.size() + 2)));
    load(low_half(argument));
    for (const auto value : values) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
      add_return(SECCOMP_RET_ALLOW);
    }
    add_return(failing(EPERM));
  }
  /// Allows the call if a pointer is null.
  void allow_null(long call, int argument) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 6));
    load(low_half(argument));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3));
    load(low_half(argument) + 4);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
    add_return(SECCOMP_RET_ALLOW);
    add_return(failing(EPERM));
  }
  /// Allows the call unless an argument has both of two bits.
  void allow_unless_both(long call, int argument, std::uint32_t bits) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 5));
    load(low_half(argument));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1));
    add_return(failing(EPERM));
    add_return(SECCOMP_RET_ALLOW);
  }

  bool install() {
    add_return(failing(EPERM));
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  static std::uint32_t failing(int error) {
    return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
  }
  static std::uint32_t low_half(int argument) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                      8 * static_cast<std::size_t>(argument));  // little-endian
  }
  void load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void add_return(std::uint32_t verdict) {
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
  }
  void unless_equal(std::uint32_t value, std::uint32_t verdict) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    add_return(verdict);
  }
  void on(long call, std::uint32_t verdict) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    add_return(verdict);
  }
  void test(long call, int argument, std::uint16_t comparison, std::uint32_t value,
            std::uint32_t yes, std::uint32_t no) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4));
    load(low_half(argument));
    code_.push_back(
        BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, 1));
    add_return(yes);
    add_return(no);
  }

  std::vector<sock_filter> code_;
};

}  // namespace

bool forbid_system_calls(Stage stage) {
  if (!known_architecture) return false;
  Filter filter;
  for (const long call : always) filter.allow(call);
  const auto self = static_cast<std::uint32_t>(getpid());
  filter.allow_one_of(SYS_kill, 0, {self});
  filter.allow_one_of(SYS_tgkill, 0, {self});
  filter.allow_one_of(SYS_sched_setaffinity, 0, {0, self});
  filter.allow_null(SYS_prlimit64, 2);  // only queries
  filter.allow_with(SYS_clone, 0, CLONE_THREAD);
  // its flags are in memory, which filters cannot inspect; the C library falls back to clone
  filter.fail(SYS_clone3, ENOSYS);
  // Anonymous shared memory would not count towards the data limit. Owners of descriptors would
  // receive signals from the kernel.
  filter.allow_unless_both(SYS_mmap, 3, MAP_SHARED | MAP_ANONYMOUS);
  filter.allow_one_of(SYS_fcntl, 1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL});
  constexpr std::uint32_t for_writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  if (stage == Stage::loading) {
    for (const long call : while_loading) filter.allow(call);
    // it ends with the host
    filter.allow_one_of(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, PR_SET_NO_NEW_PRIVS});
    filter.allow_without(SYS_openat, 2, for_writing);
#if defined(__x86_64__)
    filter.allow_without(SYS_open, 1, for_writing);
#endif
  } else {
    filter.allow_one_of(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME});
    for (const long call : {SYS_openat, SYS_socket, SYS_connect}) filter.fail(call, EACCES);
  }
  return filter.install();
}

}  // namespace tenon::isolate
