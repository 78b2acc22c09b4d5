// How often the bodies of loops are inferred: those of loops in loops are inferred again for each type that grows around them.
#pragma once
#include <cstddef>

namespace tenon {

/// While one is there, its thread infers at most so many bodies; of several, the first one counts. Threads: each has its own count.
class InferenceBudget {
 public:
  explicit InferenceBudget(std::size_t most);
  InferenceBudget(const InferenceBudget&) = delete;
  InferenceBudget& operator=(const InferenceBudget&) = delete;
  ~InferenceBudget();

  /// Before a body is inferred. Throws Failure (usage).
  static void charge(std::size_t bodies = 1);
};

}  // namespace tenon
