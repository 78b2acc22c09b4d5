#include "io/crash/crash_report.hpp"

#include <charconv>
#include <csignal>
#include <cstring>
#include <iterator>

#include "io/crash/crash_memory.hpp"

namespace tenon {
namespace {

/// Builds a text of limited length without the heap. Escapes terminal control characters as \xNN.
class Text {
 public:
  Text(char* to, std::size_t capacity) : at_(to), end_(to + capacity - 1) { *at_ = '\0'; }
  Text& operator<<(const char* text) {
    for (; *text != '\0'; ++text) add(static_cast<unsigned char>(*text));
    return *this;
  }
  Text& operator<<(std::uint64_t number) { return digits(number, 10); }
  Text& hexadecimal(std::uint64_t number) { return (*this << "0x").digits(number, 16); }

 private:
  Text& digits(std::uint64_t number, int base) {
    char text[24] = {};
    std::to_chars(text, std::end(text) - 1, number, base);
    return *this << text;
  }
  void add(unsigned char c) {
    if (c >= ' ' && c < 0x7f) return put(static_cast<char>(c));
    if (c >= 0xa0 || (c >= 0x80 && inside_)) {  // part of a non-ASCII character
      inside_ = true;
      return put(static_cast<char>(c));
    }
    for (const char each : {'\\', 'x', "0123456789abcdef"[c / 16], "0123456789abcdef"[c % 16]})
      put(each);
  }
  void put(char c) {
    if (static_cast<unsigned char>(c) < 0x80) inside_ = false;
    if (at_ == end_) return;
    *at_++ = c;
    *at_ = '\0';
  }
  char* at_;
  char* const end_;
  bool inside_ = false;
};

/// Makes bounded copies of what a pointer refers to, if it may be read.
class Reader {
 public:
  explicit Reader(bool distrust) : distrust_(distrust) {}
  template <class T>
  const T* object(const T* pointer) const {
    return pointer != nullptr && (!distrust_ || is_shared_crash_memory(pointer, sizeof(T)))
               ? pointer
               : nullptr;
  }
  template <std::size_t N>
  void text(char (&to)[N], const char* from) const {
    std::size_t i = 0;
    for (; i + 1 < N && object(from + i) != nullptr && from[i] != '\0'; ++i) to[i] = from[i];
    to[i] = '\0';
  }

 private:
  bool distrust_;
};

const char* signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "?" : name;
}

void append_call(const CrashReport& report, Text& text) {
  if (report.op[0] != '\0') text << "[" << report.op << "]";
  if (report.node[0] != '\0') text << " node '" << report.node << "'";
  if (report.plugin[0] != '\0') text << (report.op[0] != '\0' ? " of " : "") << report.plugin;
}

void append_event(const CrashReport& report, Text& text) {
  const auto number = static_cast<std::uint64_t>(report.number);
  const bool of_process = report.source == CrashReport::CallSource::last_call ||
                          report.source == CrashReport::CallSource::none;
  switch (report.kind) {
    case CrashReport::Kind::crashed:
      text << "crashed with SIG" << signal_name(report.number);
      if (report.stack_overflow) text << " (stack overflow)";
      break;
    case CrashReport::Kind::exited:
      text << (of_process ? "ended" : "ended the process") << " with exit code " << number;
      break;
    case CrashReport::Kind::unwound:
      text << "ended the thread that called it (pthread_exit)";
      break;
    case CrashReport::Kind::hung:
      text << "did not return";
      if (report.function != PluginFunction::none) text << " from " << name_of(report.function);
      text << " within ";
      number % 1000 == 0 ? text << number / 1000 << " s" : text << number << " ms";
      break;
    case CrashReport::Kind::signalled:
      text << (of_process ? "was ended by SIG" : "was running when SIG")
           << signal_name(report.number);
      if (!of_process) text << " ended the process";
      if (report.number == SIGKILL) text << "; the system may have run out of memory";
      break;
    case CrashReport::Kind::stopped:
      text << (of_process ? "was stopped by SIGSTOP"
                          : "was running when SIGSTOP stopped the process");
      break;
    case CrashReport::Kind::copied:
      text << "forked the process and returned in both copies: this copy ends here";
      break;
  }
  const bool names_function = report.kind != CrashReport::Kind::hung &&
                              report.kind != CrashReport::Kind::signalled &&
                              report.kind != CrashReport::Kind::stopped;
  if (names_function && report.source == CrashReport::CallSource::this_thread &&
      report.function != PluginFunction::none) {
    if (report.function == PluginFunction::load)
      text << " while being loaded";
    else
      text << " in " << name_of(report.function);
  }
  if (!report.has_address || report.stack_overflow) return;
  text << (report.access == CrashReport::Access::write  ? ": it wrote to"
           : report.access == CrashReport::Access::read ? ": it read"
                                                        : ": at")
       << " address ";
  text.hexadecimal(report.address);
}

}  // namespace

void CrashReport::find_source(const CallSlot* own_slot, bool distrust) noexcept {
  const Reader reader(distrust);
  const ActiveCall* call =
      reader.object(own_slot) == nullptr ? nullptr : reader.object(own_slot->current());
  const CodeOwner* owner = nullptr;
  source = CallSource::this_thread;
  std::size_t max_slots = 4096;  // limit in case the list is corrupted
  for (const auto* slot = CallSlot::newest();
       call == nullptr && reader.object(slot) != nullptr && max_slots-- > 0; slot = slot->next()) {
    source = CallSource::other_thread;
    call = reader.object(slot->current());
    if (owner == nullptr) owner = slot->last();
  }
  if (call != nullptr) {
    owner = call->owner;
    function = call->function;
    if (call->node != nullptr) reader.text(node, call->node);
  } else {
    source = CallSource::last_call;
  }
  if (reader.object(owner) == nullptr) {
    source = CallSource::none;
    return;
  }
  reader.text(op, owner->op);
  reader.text(plugin, owner->plugin);
}

void describe(const CrashReport& report, CrashReportText& text) noexcept {
  Text sentence(text.sentence, sizeof text.sentence), hint(text.hint, sizeof text.hint);
  switch (report.source) {
    case CrashReport::CallSource::this_thread:
      append_call(report, sentence);
      append_event(report, sentence << " ");
      break;
    case CrashReport::CallSource::other_thread:
      append_event(report, sentence << "a thread outside Tenon ");
      append_call(report, sentence << ", while ");
      sentence << " was running in another";
      break;
    case CrashReport::CallSource::last_call:
      append_event(report, sentence << "the process ");
      append_call(report, sentence << "; no plugin was running, the last one was ");
      break;
    case CrashReport::CallSource::none:
      append_event(report, sentence << "the process ");
      break;
  }
  if (report.kind == CrashReport::Kind::stopped)
    hint << "kill -CONT " << static_cast<std::uint64_t>(report.number) << " resumes it";
  const bool plugins = report.plugin[0] != '\0' && report.kind != CrashReport::Kind::stopped &&
                       report.kind != CrashReport::Kind::signalled &&
                       report.kind != CrashReport::Kind::hung;
  if (plugins) hint << "tenon check " << report.plugin << " checks for such faults";
}

}  // namespace tenon
