#include "check/calls/process_state.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "io/utf8.hpp"

namespace tenon::checks {
namespace {

/// The entries of a folder in /proc, and the descriptor that was used to read it.
std::pair<std::set<std::string>, int> names_in(const char* folder) {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder), closedir);
  if (!open) return {names, -1};
  while (const dirent* entry = readdir(open.get()))
    if (entry->d_name[0] != '.') names.emplace(entry->d_name);
  return {names, dirfd(open.get())};
}

std::string link_target(const std::string& path) {
  char target[4096];
  const auto length = readlink(path.c_str(), target, sizeof target);
  return length < 0 ? "unknown" : std::string(target, static_cast<std::size_t>(length));
}

std::string octal_umask() {
  const auto mask = umask(0);
  umask(mask);
  return fmt::format("{:03o}", mask);
}

std::string names_of(const sigset_t& signals) {
  std::string names;
  for (int signal = 1; signal <= SIGRTMAX; ++signal)
    if (sigismember(&signals, signal) == 1) {
      const char* name = sigabbrev_np(signal);
      names += (names.empty() ? "" : " ") +
               (name == nullptr ? std::to_string(signal) : std::string(name));
    }
  return names.empty() ? "empty" : names;
}

std::string signal_mask() {
  sigset_t mask;
  return pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0 ? names_of(mask) : "unknown";
}

std::string signal_stack() {
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) != 0) return "none";
  return fmt::format("{} bytes at {}", stack.ss_size, stack.ss_sp);
}

std::string timers() {
  std::string set;
  for (const auto& [which, name] :
       {std::pair(ITIMER_REAL, "alarm"), {ITIMER_VIRTUAL, "virtual"}, {ITIMER_PROF, "profiling"}}) {
    itimerval value{};
    if (getitimer(which, &value) == 0 &&
        (value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0))
      set += std::string(set.empty() ? "" : " ") + name;
  }
  std::ifstream lines("/proc/self/timers");  // timers of timer_create(); not all kernels list them
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("ID:")) set += std::string(set.empty() ? "" : " ") + line;
  return set.empty() ? "none" : set;
}

constexpr std::pair<__rlimit_resource_t, const char*> resources[] = {
    {RLIMIT_AS, "address space"},   {RLIMIT_CORE, "core files"},
    {RLIMIT_CPU, "processor time"}, {RLIMIT_DATA, "data"},
    {RLIMIT_FSIZE, "files' sizes"}, {RLIMIT_MEMLOCK, "locked memory"},
    {RLIMIT_NOFILE, "open files"},  {RLIMIT_NPROC, "processes"},
    {RLIMIT_STACK, "the stack"}};

std::string limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return "unknown";
  const auto text = [](rlim_t number) {
    return number == RLIM_INFINITY ? std::string("none") : std::to_string(number);
  };
  return fmt::format("{} (hard: {})", text(limit.rlim_cur), text(limit.rlim_max));
}

std::string cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? fmt::format("{} cores", CPU_COUNT(&set))
                                                     : "unknown";
}

/// Running or terminated children that have not been waited for.
std::string children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? "left behind" : "none";
}

std::string parent_death_signal() {
  int signal = 0;
  return prctl(PR_GET_PDEATHSIG, &signal) == 0 ? std::to_string(signal) : "unknown";
}

std::string thread_locale() {
  const auto current = uselocale(nullptr);
  return current == LC_GLOBAL_LOCALE ? "the process's"
                                     : fmt::format("at {}", static_cast<const void*>(current));
}

/// Keys are the subjects of clauses such as "umask is 077".
std::map<std::string, std::string> read_texts() {
  std::map<std::string, std::string> texts{
      {"the working folder", link_target("/proc/self/cwd")},
      {"the root folder", link_target("/proc/self/root")},
      {"umask", octal_umask()},
      {"the locale", setlocale(LC_ALL, nullptr)},
      {"the thread's locale", thread_locale()},
      {"the signal mask", signal_mask()},
      {"the alternate signal stack", signal_stack()},
      {"the running timer", timers()},
      {"the processor affinity", cores()},
      {"a child process", children()},
      {"the signal at the parent's end", parent_death_signal()},
      {"the priority", std::to_string(getpriority(PRIO_PROCESS, 0))}};
  for (const auto& [resource, name] : resources)
    texts.emplace(fmt::format("the limit of {}", name), limit_of(resource));
  return texts;
}

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> variables;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) {
    const std::string_view text = *line;
    const auto equals = std::min(text.find('='), text.size());
    variables.emplace(text.substr(0, equals), text.substr(equals));
  }
  return variables;
}

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace

ProcessState ProcessState::now() {
  ProcessState state;
  const auto [numbers, own] = names_in("/proc/self/fd");
  for (const auto& number : numbers) {
    const int descriptor = std::stoi(number);
    if (descriptor == own) continue;
    state.descriptors_[descriptor] = {link_target("/proc/self/fd/" + number),
                                      fcntl(descriptor, F_GETFL)};
  }
  state.texts_ = read_texts();
  state.environment_ = read_environment();
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;  // reserved by the C library
    state.actions_[signal] = {(action.sa_flags & SA_SIGINFO) != 0
                                  ? reinterpret_cast<std::uintptr_t>(action.sa_sigaction)
                                  : reinterpret_cast<std::uintptr_t>(action.sa_handler),
                              action.sa_flags};
  }
  state.threads_ = names_in("/proc/self/task").first;
  return state;
}

std::vector<std::string> ProcessState::changes_since(const ProcessState& before) const {
  std::vector<std::string> changes;
  const auto add = [&](const std::string& text) { changes.push_back(printable(text)); };
  for (const auto& [number, descriptor] : before.descriptors_) {
    const auto now = descriptors_.find(number);
    if (now == descriptors_.end())
      add(fmt::format("descriptor {} is closed", number));
    else if (now->second.target != descriptor.target)
      add(fmt::format("descriptor {} is {}, not {}", number, now->second.target,
                      descriptor.target));
    else if (now->second.flags != descriptor.flags)
      add(fmt::format("descriptor {} has flags {:#o}, not {:#o}", number, now->second.flags,
                      descriptor.flags));
  }
  for (const auto& [what, text] : before.texts_)
    if (const auto& now = texts_.at(what); now != text)
      add(text == "none" ? fmt::format("{} is {}", what, now)
                         : fmt::format("{} is {}, not {}", what, now, text));
  for (const auto& [name, value] : before.environment_) {
    const auto now = environment_.find(name);
    if (now == environment_.end() || now->second != value)
      add(fmt::format("environment variable {} is {}", name,
                      now == environment_.end() ? "removed" : "changed"));
  }
  for (const auto& [name, value] : environment_)
    if (!before.environment_.contains(name))
      add(fmt::format("environment variable {} is set", name));
  for (const auto& [signal, action] : before.actions_)
    if (const auto now = actions_.find(signal); now != actions_.end() && now->second != action)
      add(fmt::format("the handler of {} is changed", name_of_signal(signal)));
  return changes;
}

std::vector<std::string> ProcessState::new_descriptors_since(const ProcessState& before) const {
  std::vector<std::string> found;
  for (const auto& [number, descriptor] : descriptors_)
    if (!before.descriptors_.contains(number)) found.push_back(printable(descriptor.target));
  return found;
}

std::size_t ProcessState::new_threads_since(const ProcessState& before) const {
  std::size_t count = 0;
  for (const auto& thread : threads_) count += before.threads_.contains(thread) ? 0 : 1;
  return count;
}

}  // namespace tenon::checks
