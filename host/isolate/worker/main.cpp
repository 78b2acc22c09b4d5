// tenon-worker PARENT MEMORY THREADS PATH COUNT [/LIBRARY]...: loads the plugin PATH from
// descriptor 3, confines itself, and runs the plugin's functions for the process that started it,
// following protocol.hpp. COUNT is the number of copies of its libraries, in descriptors from 6 on.
// LIBRARY is one that the loader may read although it is not a system library. tenon-worker limits:
// prints the confinement that this machine supports.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "io/memory_file.hpp"
#include "isolate/worker/conversation.hpp"
#include "isolate/worker/crash.hpp"
#include "isolate/worker/limits.hpp"

namespace {

using namespace tenon::isolate;

constexpr const char* plugin_path = "/proc/self/fd/3";  // plugin_descriptor

std::uint64_t number_in(const char* text) {
  std::uint64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

/// Ends the process without running the plugin's destructors, as the host does.
[[noreturn]] void end(const std::string& line) {
  const bool sent =
      write(socket_descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  _exit(sent ? 0 : 1);
}

void* open_or_end(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* reason = dlerror();
  end(std::string(not_opened) + " " + (reason != nullptr ? reason : "unknown reason"));
}

/// Returns the name of the copy, whose descriptor is a link to `/memfd:NAME (deleted)`.
std::string name_of(const std::string& copy) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(copy, error).filename().string();
  const auto begin = target.find(':') + 1;
  return target.substr(begin, target.rfind(' ') - begin);
}

CrashRecord& crash_record() {
  void* memory =
      mmap(nullptr, sizeof(CrashRecord), PROT_READ | PROT_WRITE, MAP_SHARED, crash_descriptor, 0);
  if (memory == MAP_FAILED) end(std::string(not_opened) + " cannot map shared memory");
  close(crash_descriptor);
  return *static_cast<CrashRecord*>(memory);
}

[[noreturn]] void serve_in_thread(Plugin& plugin, const Received& received, std::uint32_t number) {
  void* memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED,
                      received.descriptors[0], 0);
  close(received.descriptors[0]);
  if (memory == MAP_FAILED) _exit(1);
  use_signal_stack(number);
  Conversation conversation(plugin, *static_cast<Control*>(memory), received.descriptors[1]);
  conversation.serve();
}

/// Each message starts a conversation. Returns when the host has closed its end or no thread can be
/// started.
int serve(Plugin& plugin) {
  for (std::uint32_t number = 1;; ++number) {
    const auto received = receive(socket_descriptor);
    if (received.bytes == 0) return 0;
    try {
      std::thread([&plugin, received, number] {
        serve_in_thread(plugin, received, number);
      }).detach();
    } catch (const std::system_error&) {
      return no_more_threads;
    }
  }
}

int print_limits() {
  limit_resources(0, 0);
  confine_loading({});
  std::puts(confine_calls().text().c_str());
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "limits") return print_limits();
  const std::uint64_t copies = count < 6 ? 0 : number_in(arguments[5]);
  if (count < 6) {
    std::fputs(
        "usage: tenon-worker PARENT MEMORY THREADS PATH COUNT [/LIBRARY]...\nRuns a plugin in a "
        "sandbox. For internal use by Tenon.\n",
        stderr);
    return 2;
  }
  limit_resources(number_in(arguments[2]), static_cast<int>(copies));
  // the parent ended before PR_SET_PDEATHSIG was set
  if (getppid() != static_cast<pid_t>(number_in(arguments[1]))) _exit(1);
  if (chdir("/") != 0) _exit(1);
  auto& crash = crash_record();
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    std::signal(signal, SIG_DFL);
  std::map<std::string, std::string> names;
  for (std::uint64_t i = 0; i < copies; ++i) {
    const auto copy = "/proc/self/fd/" + std::to_string(first_library_descriptor + i);
    names[copy] = name_of(copy);
  }
  confine_loading({arguments + 6, arguments + count});
  void* const library = open_or_end(plugin_path);
  tenon::name_loaded_file(library, arguments[4]);
  static Plugin plugin(library, worker_host());
  const auto confinement = confine_calls();
  try {
    start_threads(static_cast<int>(number_in(arguments[3])));
  } catch (const std::system_error& error) {
    end(std::string(not_opened) + " a worker process cannot start threads: " + error.what());
  }
  record_crashes(crash, names);
  const auto line = std::string(ready) + " " + confinement.text();
  if (write(socket_descriptor, line.data(), line.size()) < 0) _exit(1);
  _exit(serve(plugin));
}
