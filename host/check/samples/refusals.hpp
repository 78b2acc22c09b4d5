// Collects rejections during the search for calls and remembers the attempt that got furthest.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tenon/host/failure.hpp>

namespace tenon::checks {

class Refusals {
 public:
  /// Progress of an attempt: no object could be created, else the number of inputs that infer()
  /// accepted before the error.
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

/// Whether a call failed because of a bug in its kernel. Otherwise the author rejected the call,
/// usually because of its elements.
bool is_kernel_bug(std::string_view sentence);
inline bool is_kernel_bug(const Failure& failure) {
  return is_kernel_bug(failure.what());
}

}  // namespace tenon::checks
