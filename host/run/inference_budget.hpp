// Limits how often the bodies of nested loops are inferred: an inner loop is inferred again
// whenever a type around it widens.
#pragma once
#include <cstddef>

namespace tenon {

/// Limits the inferences of the current thread during its lifetime; if nested, the outermost limit
/// applies. Threads: each has its own count.
class InferenceBudget {
 public:
  explicit InferenceBudget(std::size_t limit);
  InferenceBudget(const InferenceBudget&) = delete;
  InferenceBudget& operator=(const InferenceBudget&) = delete;
  ~InferenceBudget();

  /// To be called before a body is inferred. Throws Failure (usage).
  static void charge(std::size_t bodies = 1);
};

}  // namespace tenon
