#include "doubling.hpp"

// Twice x, but the first element is that of the tensor in the object's first call.
struct KeepsPointers : Doubling {
  const float* first = nullptr;

  void forward(const tenon::Call& call) {
    if (first == nullptr) first = call.input<float>(0).data();
    write(call, call.input<float>(0).size());
    if (call.output<float>(0).size() > 0) call.output<float>(0)[0] = 2 * *first;
  }
};
TENON_OPERATOR(keeps_pointers, KeepsPointers)
