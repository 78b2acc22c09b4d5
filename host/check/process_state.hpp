// What code of a plugin could change for everything else in its process.
#pragma once
#include <sys/types.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tenon::checks {

/// Descriptors, working folder, umask, locale, environment, signals, timers, limits, threads and children. Floating-point modes are
/// check_float_modes()'s.
class ProcessState {
 public:
  /// Of this process and the calling thread, which runs no code of the plugin meanwhile.
  static ProcessState now();

  /// What is otherwise than `before`, each as a clause: `descriptor 1 is closed`, `umask is 077, not 022`. Descriptors that are new and
  /// threads are reported by the two functions below.
  std::vector<std::string> changes_since(const ProcessState& before) const;
  /// What the descriptors are open on that were not there before.
  std::vector<std::string> new_descriptors_since(const ProcessState& before) const;
  /// How many threads run that did not run before.
  std::size_t new_threads_since(const ProcessState& before) const;

 private:
  struct Descriptor {
    std::string target;
    int flags = 0;
    bool operator==(const Descriptor&) const = default;
  };
  /// Of one signal, as numbers.
  struct Action {
    std::uintptr_t handler = 0;
    int flags = 0;
    bool operator==(const Action&) const = default;
  };

  std::map<int, Descriptor> descriptors_;
  std::map<std::string, std::string> texts_;  // by what each of them is: `working folder`, `umask` ...
  std::map<std::string, std::string> environment_;
  std::map<int, Action> actions_;
  std::set<std::string> threads_;
};

}  // namespace tenon::checks
