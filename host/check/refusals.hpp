// What an operator refused while calls were looked for: of all tries, the one that got furthest.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tenon/host/failure.hpp>

namespace tenon::checks {

class Refusals {
 public:
  /// How far a try came, as a number: no object of the operator, then the number of inputs that infer() had accepted before it refused.
  static constexpr int no_object = 0, inference = 1, unknown_outputs = 1000, kernel = 2000;

  void add(int reached, const std::string& sentence) {
    ++count_;
    if (reached <= reached_) return;
    reached_ = reached;
    nearest_ = sentence;
  }
  void add(const Refusals& others) {
    if (others.reached_ > reached_) reached_ = others.reached_, nearest_ = others.nearest_;
    count_ += others.count_;
  }
  std::size_t count() const { return count_; }
  int reached() const { return reached_; }
  const std::string& nearest() const { return nearest_; }

 private:
  int reached_ = -1;
  std::string nearest_;
  std::size_t count_ = 0;
};

/// Whether a call failed because its kernel does something wrong. Otherwise the author gave the reason: a refusal, of elements mostly.
bool is_mistake(std::string_view sentence);
inline bool is_mistake(const Failure& failure) {
  return is_mistake(failure.what());
}

}  // namespace tenon::checks
