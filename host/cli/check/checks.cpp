#include "cli/check/check.hpp"

namespace tenon::cli {

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {"manifest", "the manifest says what the functions are, and every part has its sentence", check_manifest},
      {"inference", "what is inferred from less does not contradict what is inferred from all", check_inference},
      {"dtypes", "every dtype it claims runs", check_dtypes},
      {"shapes", "empty, 0-d, odd-sized and unaligned inputs run or are refused", check_shapes},
      {"guard", "nothing outside the tensors is read or written", check_guard},
      {"coverage", "every element of every output is written", check_coverage},
      {"inputs", "inputs stay as they are", check_inputs},
      {"in_place", "in place gives the same as out of place", check_in_place},
      {"add", "write mode add gives old plus new", check_add},
      {"determinism", "the same seed and inputs give the same bits, on 1 and 4 threads", check_determinism},
      {"instances", "two instances run at once", check_instances},
      {"float_modes", "rounding, subnormal numbers and traps stay as they were", check_float_modes},
      {"save_load", "parameters survive save and load", check_save_load},
      {"gradient", "the gradient is what differences of forward give", check_gradient},
      {"sparse", "sparse kernels give what dense ones give, and so do their gradients", check_sparse},
      {"bounds", "every bound in the manifest is enforced", check_bounds},
      {"parameters", "unknown and mistyped parameters are refused", check_parameters},
  };
  return all;
}

}  // namespace tenon::cli
