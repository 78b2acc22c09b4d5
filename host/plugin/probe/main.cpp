// tenon-probe FILE DESCRIPTOR SYMBOL...: loads a plugin and requests its tables, in a process that
// may crash. It does not link the host, so that it starts within a millisecond and crashes are the
// plugin's own.
#include <dlfcn.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "plugin/operator_table.hpp"
#include "plugin/probe/report.hpp"

namespace {

void run_serially(const tenon_call*, std::int64_t n, std::int64_t, tenon_body body, void* context) {
  body(context, 0, n);
}

std::int32_t refuse_to_allocate(const tenon_call*, std::uint32_t, std::int64_t, tenon_tensor**,
                                tenon_error*) {
  return 1;
}

constexpr tenon_host host{sizeof(tenon_host), TENON_ABI_MAJOR,    TENON_ABI_MINOR,
                          run_serially,       refuse_to_allocate, nullptr};

/// Restores default signal actions (a sanitizer may have installed handlers), disables core files,
/// and ends with the host.
void prepare(int descriptor) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    std::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd pipe{descriptor, 0, 0};
  if (poll(&pipe, 1, 0) == 1) _exit(1);  // the host ended before prctl(): there is no reader
}

/// Ends the process without running the plugin's destructors, as the host does.
[[noreturn]] void report(int descriptor, std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  const bool reported =
      write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  _exit(reported ? 0 : 1);
}

std::string joined(const char* status, std::string_view text, std::string_view more = {}) {
  return std::string(status) + " " + std::string(text) + (more.empty() ? "" : " ") +
         std::string(more);
}

void* open_or_report(const char* path, int descriptor) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  const char* reason = dlerror();
  report(descriptor, joined(tenon::probe::not_opened, reason ? reason : "unknown reason"));
}

void check_table(void* library, const char* symbol, int descriptor) {
  void* address = dlsym(library, symbol);
  if (!address) report(descriptor, joined(tenon::probe::no_symbol, symbol));
  const auto get = reinterpret_cast<tenon_get_function>(address);
  const bool is_operator = std::string_view(symbol).starts_with(TENON_GET_SYMBOL_PREFIX);
  const char* fault =
      tenon::table_fault(get(&host), is_operator ? tenon::TableRole::op : tenon::TableRole::kernel);
  if (fault) report(descriptor, joined(tenon::probe::bad_table, symbol, fault));
}

}  // namespace

int main(int count, char** arguments) {
  int descriptor = -1;
  if (count >= 3)
    std::from_chars(arguments[2], arguments[2] + std::strlen(arguments[2]), descriptor);
  if (descriptor < 0) {
    std::fputs(
        "usage: tenon-probe FILE DESCRIPTOR SYMBOL...\nLoads a plugin and reports to the "
        "descriptor. For internal use by Tenon.\n",
        stderr);
    return 2;
  }
  prepare(descriptor);
  void* library = open_or_report(arguments[1], descriptor);
  for (int i = 3; i < count; ++i) check_table(library, arguments[i], descriptor);
  report(descriptor, tenon::probe::passed);
}
