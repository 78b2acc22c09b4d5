// The destination of a sum computed on a CUDA device.
#pragma once
#include <cstdint>
#include <tenon/gpu/launch.hpp>

#include "store.hpp"

/// Sum i, times `weight`, is stored in or added to to[i].
template <class T>
struct StoreSum {
  T* to;
  tenon::Write write;
  double weight = 1;

  TENON_DEVICE void operator()(std::int64_t i, double sum) const {
    store(write, to[i], sum * weight);
  }
};
