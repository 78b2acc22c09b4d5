// Makes and reads short vectors and scalars.
#pragma once
#include <initializer_list>
#include <tenon/host/tensor.hpp>
#include <vector>

inline tenon::Tensor vector_of(std::initializer_list<float> values) {
  return tenon::Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

inline tenon::Tensor boolean_of(bool value) {
  auto tensor = tenon::Tensor::empty(tenon::boolean, tenon::Shape::scalar());
  *static_cast<bool*>(tensor.data()) = value;
  return tensor;
}

inline float first_of(const tenon::Tensor& tensor) {
  return tensor.values<float>()[0];
}

inline std::vector<float> floats_of(const tenon::Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}
