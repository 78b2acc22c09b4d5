#include "check/calls/crash_report.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "check/calls/guarded_memory.hpp"
#include "io/crash/fault_access.hpp"
#include "io/crash/signal_stack.hpp"

namespace tenon::checks {
namespace {

volatile int report_pipe = -1;

constexpr std::size_t max_frames = 8;
std::uintptr_t frames[max_frames + 8];
struct Module {
  // addresses of the code segment, and base of the whole file
  std::uintptr_t begin = 0, end = 0, base = 0;
  char name[64] = "";
};
Module modules[std::size(frames)];

/// Iterates over the lines of /proc/self/maps without using the heap.
class MapsLines {
 public:
  MapsLines() : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsLines() { close(file_); }
  MapsLines(const MapsLines&) = delete;
  MapsLines& operator=(const MapsLines&) = delete;
  /// Returns false after the last line.
  bool next(std::string_view& line) {
    std::size_t size = 0;
    for (char letter = 0; get(letter);) {
      if (letter == '\n') return line = {line_, size}, true;
      if (size < sizeof line_) line_[size++] = letter;
    }
    return false;
  }

 private:
  bool get(char& letter) {
    if (at_ == end_) {
      const auto bytes_read = read(file_, buffer_, sizeof buffer_);
      if (bytes_read <= 0) return false;
      at_ = 0, end_ = static_cast<std::size_t>(bytes_read);
    }
    letter = buffer_[at_++];
    return true;
  }
  int file_;
  char buffer_[1024], line_[512];
  std::size_t at_ = 0, end_ = 0;
};

std::uintptr_t take_hexadecimal(std::string_view& text) {
  std::uintptr_t number = 0;
  while (!text.empty()) {
    const char digit = text.front();
    const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                      : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                     : -1;
    if (value < 0) break;
    number = number * 16 + static_cast<unsigned>(value);
    text.remove_prefix(1);
  }
  return number;
}

/// Lines look like `55d0-55e0 r-xp 00001000 fd:01 123   /lib/libm.so`; for the private copy of a
/// plugin the path is `/memfd:plugin.so (deleted)`.
void read_modules(std::size_t count) {
  MapsLines lines;
  std::uintptr_t base = 0;
  for (std::string_view line; lines.next(line);) {
    const auto begin = take_hexadecimal(line);
    line.remove_prefix(1);
    const auto end = take_hexadecimal(line);
    auto offset_text = line.substr(std::min<std::size_t>(6, line.size()));
    const auto slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    if (take_hexadecimal(offset_text) == 0) base = begin;
    auto path = line.substr(slash);
    if (path.ends_with(" (deleted)")) path.remove_suffix(10);
    const auto name = path.substr(path.find_last_of("/:") + 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (frames[i] < begin || frames[i] >= end) continue;
      modules[i] = {begin, end, base, ""};
      name.copy(modules[i].name, sizeof modules[i].name - 1);
    }
  }
}

/// Adds the interrupted code and its callers, innermost first, without the frames of this library.
void add_backtrace(const void* context, ShortText& text) {
  void* addresses[std::size(frames) + 4];
  const int found = backtrace(addresses, static_cast<int>(std::size(addresses)));
  frames[0] = interrupted_code(context);
  int next = 0;  // the handler's own frames come first
  while (next < found && reinterpret_cast<std::uintptr_t>(addresses[next]) != frames[0]) ++next;
  std::size_t count = 1;
  for (++next; next < found && count < std::size(frames) - 1; ++next)
    // the call instruction, not the return address after it
    frames[count++] = reinterpret_cast<std::uintptr_t>(addresses[next]) - 1;
  frames[count] = reinterpret_cast<std::uintptr_t>(&add_backtrace);
  read_modules(count + 1);
  const auto& own = modules[count];
  for (std::size_t i = 0;
       i < std::min(count, max_frames) && (i == 0 || modules[i].begin != own.begin); ++i) {
    if (i > 0) text << ", ";
    if (modules[i].begin != 0) text << modules[i].name << "+";
    text.hexadecimal(frames[i] - modules[i].base);
  }
}

void write_line(ShortText& text) {
  text << "\n";
  [[maybe_unused]] const auto written = write(report_pipe, text.text().data(), text.text().size());
}

// A second crash in here ends the process as the first would have.
void on_crash(int signal, siginfo_t* info, void* context) {
  const bool is_memory_fault = info->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS);
  ShortText line;
  line << "3 ";
  if (is_memory_fault && describe_guard_hit(reinterpret_cast<std::uintptr_t>(info->si_addr),
                                            access_of_fault(context), line)) {
    line << "; at ";
    add_backtrace(context, line);
    write_line(line);
    _exit(0);
  }
  line.clear();
  line << "!";
  add_backtrace(context, line);
  write_line(line);
  raise(signal);
}

}  // namespace

void report_crashes(int pipe) {
  report_pipe = pipe;
  void* here[2];
  backtrace(here, 2);  // loads libgcc in advance
  use_signal_stacks();
  install_thread_signal_stack();
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigaction(signal, &action, nullptr);
}

}  // namespace tenon::checks
