// The mean and the inverse standard deviation that normalizations store for backward.
#pragma once
#include <tenon/operator.hpp>

#include "shared/store.hpp"

/// The dtype of Wide<T>, for T of `data`.
inline tenon::DType wide(tenon::DType data) {
  return data == tenon::f64 || data == tenon::unknown_dtype ? data : tenon::f32;
}

/// The memory of hidden output `i`; null if it is not requested.
template <class T>
Wide<T>* hidden(const tenon::Call& call, int i) {
  return call.write(i) == tenon::Write::none ? nullptr : call.output<Wide<T>>(i).data();
}
