#include "check/samples/refusals.hpp"

#include <algorithm>
#include <iterator>

namespace tenon::checks {

// A Failure has only its message to tell who raised it: these phrases are from the SDK and the host
// (call_errors.hpp, host_error.hpp); "asks for" is from SDKs older than 0.2.
bool is_kernel_bug(std::string_view sentence) {
  static constexpr std::string_view phrases[] = {
      "the kernel requests", "the kernel asks for", "but the kernel writes",
      "exists only in backward", "is not requested: check write(", "check has_output_grad(",
      "is not connected: check has_input", "has no memory yet: call.allocate",
      "is not kept for backward", ": set it in infer_storage", "by output_value, not by output",
      "an exception was thrown", "out of memory", "its kernel ", "has its memory already",
      // From Python, for unfinished code.
      "NameError: ", "AttributeError: ", "UnboundLocalError: ", "ImportError: ",
      "ModuleNotFoundError: "};
  return std::any_of(std::begin(phrases), std::end(phrases), [&](std::string_view phrase) {
    return sentence.find(phrase) != std::string_view::npos;
  });
}

}  // namespace tenon::checks
