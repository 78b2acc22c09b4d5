// Makes and reads short vectors.
#pragma once
#include <initializer_list>
#include <tenon/host/tensor.hpp>

inline tenon::Tensor vector_of(std::initializer_list<float> values) {
  return tenon::Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

inline float first_of(const tenon::Tensor& tensor) {
  return tensor.values<float>()[0];
}
