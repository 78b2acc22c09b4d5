#include "io/crash/ending.hpp"

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

void who(const Ending& ending, Text& text) {
  if (ending.op[0] != '\0') text << "[" << ending.op << "]";
  if (ending.node[0] != '\0') text << " node '" << ending.node << "'";
  if (ending.plugin[0] != '\0') text << (ending.op[0] != '\0' ? " of " : "") << ending.plugin;
}

void deed(const Ending& ending, Text& text) {
  const auto number = static_cast<std::uint64_t>(ending.number);
  const bool of_process =
      ending.culprit == Ending::Culprit::ran_last || ending.culprit == Ending::Culprit::none;
  switch (ending.way) {
    case Ending::Way::crashed:
      text << "crashed with SIG" << signal_name(ending.number);
      if (ending.stack_overflow) text << " (stack overflow)";
      break;
    case Ending::Way::exited:
      text << (of_process ? "ended" : "ended the process") << " with exit code " << number;
      break;
    case Ending::Way::unwound:
      text << "ended the thread that called it (pthread_exit)";
      break;
    case Ending::Way::hung:
      text << "did not return";
      if (ending.function != PluginFunction::none) text << " from " << name_of(ending.function);
      text << " within ";
      number % 1000 == 0 ? text << number / 1000 << " s" : text << number << " ms";
      break;
    case Ending::Way::signalled:
      text << (of_process ? "was ended by SIG" : "was running when SIG")
           << signal_name(ending.number);
      if (!of_process) text << " ended the process";
      if (ending.number == SIGKILL) text << "; the system may have run out of memory";
      break;
    case Ending::Way::stopped:
      text << (of_process ? "was stopped by SIGSTOP"
                          : "was running when SIGSTOP stopped the process");
      break;
    case Ending::Way::copied:
      text << "forked the process and returned in both copies: this copy ends here";
      break;
  }
  const bool says_where = ending.way != Ending::Way::hung && ending.way != Ending::Way::signalled &&
                          ending.way != Ending::Way::stopped;
  if (says_where && ending.culprit == Ending::Culprit::runs &&
      ending.function != PluginFunction::none) {
    if (ending.function == PluginFunction::load)
      text << " while being loaded";
    else
      text << " in " << name_of(ending.function);
  }
  if (!ending.has_address || ending.stack_overflow) return;
  text << (ending.access == Ending::Access::write  ? ": it wrote to"
           : ending.access == Ending::Access::read ? ": it read"
                                                   : ": at")
       << " address ";
  text.hexadecimal(ending.address);
}

}  // namespace

void Ending::name(const RunningSlot* own, bool distrust) noexcept {
  const Reader reader(distrust);
  const Running* running = reader.object(own) == nullptr ? nullptr : reader.object(own->now());
  const CodeOwner* owner = nullptr;
  culprit = Culprit::runs;
  std::size_t most = 4096;  // limit in case the list is corrupted
  for (const auto* slot = RunningSlot::newest();
       running == nullptr && reader.object(slot) != nullptr && most-- > 0; slot = slot->next()) {
    culprit = Culprit::elsewhere;
    running = reader.object(slot->now());
    if (owner == nullptr) owner = slot->last();
  }
  if (running != nullptr) {
    owner = running->owner;
    function = running->function;
    if (running->node != nullptr) reader.text(node, running->node);
  } else {
    culprit = Culprit::ran_last;
  }
  if (reader.object(owner) == nullptr) {
    culprit = Culprit::none;
    return;
  }
  reader.text(op, owner->op);
  reader.text(plugin, owner->plugin);
}

void describe(const Ending& ending, EndingText& text) noexcept {
  Text sentence(text.sentence, sizeof text.sentence), hint(text.hint, sizeof text.hint);
  switch (ending.culprit) {
    case Ending::Culprit::runs:
      who(ending, sentence);
      deed(ending, sentence << " ");
      break;
    case Ending::Culprit::elsewhere:
      deed(ending, sentence << "a thread outside Tenon ");
      who(ending, sentence << ", while ");
      sentence << " was running in another";
      break;
    case Ending::Culprit::ran_last:
      deed(ending, sentence << "the process ");
      who(ending, sentence << "; no plugin was running, the last one was ");
      break;
    case Ending::Culprit::none:
      deed(ending, sentence << "the process ");
      break;
  }
  if (ending.way == Ending::Way::stopped)
    hint << "kill -CONT " << static_cast<std::uint64_t>(ending.number) << " resumes it";
  const bool plugins = ending.plugin[0] != '\0' && ending.way != Ending::Way::stopped &&
                       ending.way != Ending::Way::signalled && ending.way != Ending::Way::hung;
  if (plugins) hint << "tenon check " << ending.plugin << " checks for such faults";
}

}  // namespace tenon
