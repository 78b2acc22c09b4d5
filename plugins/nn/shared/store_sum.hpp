// Where a sum that is made on a CUDA device goes.
#pragma once
#include <cstdint>
#include <tenon/gpu/launch.hpp>

#include "store.hpp"

/// Sum number i, times `weight`, is stored in or added to to[i].
template <class T>
struct StoreSum {
  T* to;
  tenon::Write write;
  double weight = 1;

  TENON_DEVICE void operator()(std::int64_t i, double sum) const { store(write, to[i], sum * weight); }
};
