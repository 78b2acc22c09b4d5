// What an operator's manifest promises, as far as the plugin tests hold it to its word.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

struct OperatorManifest {
  std::size_t outputs = 0, states = 0;
  bool accumulates = false;
  int forward_in_place = -1;                    ///< the input whose memory output 0 may use; -1: none
  int backward_in_place = -1;                   ///< the input whose gradient may use the memory of output 0's gradient; -1: none
  std::string count;                            ///< the parameter that tells the number of output 0; empty: there is one
  std::vector<bool> reads_input, reads_output;  ///< in backward; the last one stands for all of a variadic input

  /// From a library opened by dlopen.
  static OperatorManifest of(void* library, const std::string& op);
};
