// Process state that plugin code could change.
#pragma once
#include <sys/types.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tenon::checks {

/// Descriptors, working folder, umask, locale, environment, signals, timers, limits, threads and
/// children. Floating-point modes are covered by check_float_modes().
class ProcessState {
 public:
  /// The state of this process and the calling thread; no plugin code may run meanwhile.
  static ProcessState now();

  /// Differences from `before`, each as a clause: `descriptor 1 is closed`, `umask is 077, not
  /// 022`. New descriptors and threads are reported by the two functions below.
  std::vector<std::string> changes_since(const ProcessState& before) const;
  /// Targets of descriptors that were opened since `before`.
  std::vector<std::string> new_descriptors_since(const ProcessState& before) const;
  /// Number of threads started since `before` that are still running.
  std::size_t new_threads_since(const ProcessState& before) const;

 private:
  struct Descriptor {
    std::string target;
    int flags = 0;
    bool operator==(const Descriptor&) const = default;
  };
  /// The action of one signal, as numbers.
  struct Action {
    std::uintptr_t handler = 0;
    int flags = 0;
    bool operator==(const Action&) const = default;
  };

  std::map<int, Descriptor> descriptors_;
  std::map<std::string, std::string> texts_;  // by subject: `working folder`, `umask` and so on
  std::map<std::string, std::string> environment_;
  std::map<int, Action> actions_;
  std::set<std::string> threads_;
};

}  // namespace tenon::checks
