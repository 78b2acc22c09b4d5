// The functions of math.hpp on a device: the platform's, because each thread computes one element
// and there are no loops to vectorise. The last bits of a result may therefore differ between CPU
// and device.
#pragma once

#include <cmath>

#include "../../fn.hpp"
#include "../../version.hpp"

#if defined(__CUDA_ARCH__)
#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

using std::ceil;
using std::cos;
using std::erf;
using std::exp;
using std::expm1;
using std::floor;
using std::log;
using std::log1p;
using std::rint;
using std::sin;
using std::tanh;
TENON_FN inline float normal_cdf(float x) {
  return normcdff(x);
}
TENON_FN inline double normal_cdf(double x) {
  return normcdf(x);
}
TENON_FN inline float pow(float base, float exponent) {
  return std::pow(base, exponent);
}
TENON_FN inline double pow(double base, double exponent) {
  return std::pow(base, exponent);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
#endif
