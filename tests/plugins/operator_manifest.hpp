// The promises of an operator's manifest that the plugin tests check.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

struct OperatorManifest {
  std::size_t outputs = 0, states = 0;
  bool accumulates = false;
  int forward_in_place = -1;  ///< the input whose memory output 0 may use; -1: none
  int backward_in_place =
      -1;  ///< the input whose gradient may use the memory of output 0's gradient; -1: none
  std::string count;  ///< the parameter with the number of outputs; empty: there is one output
  std::vector<bool> reads_input,
      reads_output;  ///< in backward; the last element applies to all tensors of a variadic input

  /// Reads the manifest from a library opened by dlopen.
  static OperatorManifest of(void* library, const std::string& op);
};
