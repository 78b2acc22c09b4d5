#include "isolate/worker/crash.hpp"

#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "io/crash/fault_access.hpp"

namespace tenon::isolate {
namespace {

struct Module {
  std::uintptr_t base, begin, end;
  char name[sizeof CrashFrame::module];
};
constexpr std::size_t max_modules = 128;
constexpr std::size_t signal_stack_bytes = 64 << 10;

// Data for the handler, written before it is installed.
Module modules[max_modules];
std::size_t module_count = 0;
CrashRecord* crash = nullptr;
thread_local std::uint32_t current_conversation = 0;

int add_module(dl_phdr_info* info, std::size_t, void* names_by_path) {
  if (module_count == max_modules) return 1;
  auto& module = modules[module_count];
  module = {info->dlpi_addr, UINTPTR_MAX, 0, ""};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    module.begin = std::min<std::uintptr_t>(module.begin, info->dlpi_addr + segment.p_vaddr);
    module.end =
        std::max<std::uintptr_t>(module.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  const auto& names = *static_cast<const std::map<std::string, std::string>*>(names_by_path);
  const char* path =
      info->dlpi_name == nullptr || *info->dlpi_name == '\0' ? "tenon-worker" : info->dlpi_name;
  if (const auto name = names.find(path); name != names.end()) path = name->second.c_str();
  const char* slash = std::strrchr(path, '/');
  std::strncpy(module.name, slash == nullptr ? path : slash + 1, sizeof module.name - 1);
  ++module_count;
  return 0;
}

void add_frame(std::uintptr_t address, bool returns_there) {
  const auto count = crash->frame_count.load(std::memory_order_relaxed);
  if (count == CrashRecord::max_frames) return;
  auto& frame = crash->frames[count];
  frame.module[0] = '\0';
  frame.offset = address;
  // look up the call instruction, not the one after it
  const auto inside = address - (returns_there ? 1 : 0);
  for (std::size_t i = 0; i < module_count; ++i) {
    if (inside < modules[i].begin || inside >= modules[i].end) continue;
    std::memcpy(frame.module, modules[i].name, sizeof frame.module);
    frame.offset = inside - modules[i].base;
    break;
  }
  crash->frame_count.store(count + 1, std::memory_order_release);
}

// Async-signal-safe: backtrace() is already initialized, and libgcc finds frame tables without a
// lock. Another signal in here kills the process.
void on_signal(int signal, siginfo_t*, void* context) {
  std::uint32_t no_signal = 0;
  if (crash->signal.compare_exchange_strong(no_signal, static_cast<std::uint32_t>(signal))) {
    crash->conversation = current_conversation;
    const auto fault = interrupted_code(context);
    add_frame(fault, false);
    void* addresses[CrashRecord::max_frames + 4];
    const int count = backtrace(addresses, static_cast<int>(std::size(addresses)));
    int first = 0;  // skip the handler's own frames
    while (first < count && reinterpret_cast<std::uintptr_t>(addresses[first]) != fault) ++first;
    for (int i = first + 1; i < count; ++i)
      add_frame(reinterpret_cast<std::uintptr_t>(addresses[i]), true);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);  // if the signal is blocked
}

}  // namespace

void record_crashes(CrashRecord& record, const std::map<std::string, std::string>& names) {
  crash = &record;
  dl_iterate_phdr(add_module, const_cast<std::map<std::string, std::string>*>(&names));
  void* here[2];
  backtrace(here, 2);  // loads libgcc
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigaction(signal, &action, nullptr);
}

void use_signal_stack(std::uint32_t conversation) {
  current_conversation = conversation;
  stack_t stack{};
  stack.ss_sp = std::malloc(signal_stack_bytes);
  stack.ss_size = signal_stack_bytes;
  if (stack.ss_sp != nullptr) sigaltstack(&stack, nullptr);
}

}  // namespace tenon::isolate
