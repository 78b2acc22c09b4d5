// Collects rejections during the search for calls and remembers the attempt that got furthest.
#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
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
inline bool is_kernel_bug(std::string_view sentence) {
  // A Failure has only its message to tell who raised it: these phrases are from the SDK and the
  // host (call_errors.hpp, host_error.hpp); "asks for" and "is not kept" are from older SDKs.
  static constexpr std::string_view phrases[] = {
      "the kernel requests", "the kernel asks for", "but the kernel writes",
      "exists only in backward", "is not requested: check write(", "check has_output_grad(",
      "is not connected: check has_input", "has no memory yet: call.allocate",
      "is not saved for backward", "is not kept for backward", ": set it in infer_storage",
      "by output_value, not by output", "an exception was thrown", "out of memory", "its kernel ",
      "has its memory already",
      // From Python, for unfinished code.
      "NameError: ", "AttributeError: ", "UnboundLocalError: ", "ImportError: ",
      "ModuleNotFoundError: "};
  return std::any_of(std::begin(phrases), std::end(phrases), [&](std::string_view phrase) {
    return sentence.find(phrase) != std::string_view::npos;
  });
}
inline bool is_kernel_bug(const Failure& failure) {
  return is_kernel_bug(failure.what());
}

}  // namespace tenon::checks
