// Operators whose kernels each use one thing from an earlier call.
#include "doubling.hpp"

/// `Kept` is what an object stores of the first call, and accesses in a later one.
template <class Kept>
struct Keeps : Doubling {
  Kept kept;
  void forward(const tenon::Call& call) {
    kept.see(call);
    write(call, call.input<float>(0).size());
  }
};

struct KeptRaw {
  const tenon_call* first = nullptr;
  void see(const tenon::Call& call) {
    if (first == nullptr) first = &call.raw();
    if (static_cast<const volatile tenon_call*>(first)->size == 0) throw tenon::Error("no call");
  }
};
struct KeepsCall : Keeps<KeptRaw> {};
TENON_OPERATOR(keeps_call, KeepsCall)

struct KeptObject {
  const tenon::Call* first = nullptr;
  void see(const tenon::Call& call) {
    if (first == nullptr) first = &call;
    if (first->threads() == 0) throw tenon::Error("no call");
  }
};
struct KeepsObject : Keeps<KeptObject> {};
TENON_OPERATOR(keeps_object, KeepsObject)

struct OwnedTensor {
  const tenon_tensor* first = nullptr;
  void see(const tenon::Call& call) {
    if (first == nullptr) first = call.raw().inputs[0];
    if (static_cast<const volatile tenon_tensor*>(first)->size == 0)
      throw tenon::Error("no tensor");
  }
};
struct KeepsTensor : Keeps<OwnedTensor> {};
TENON_OPERATOR(keeps_tensor, KeepsTensor)

struct KeptShape {
  const std::int64_t* first = nullptr;
  void see(const tenon::Call& call) {
    const auto& x = call.raw().inputs[0]->dense;
    if (first == nullptr) first = x.shape;
    if (x.ndim > 0 && *static_cast<const volatile std::int64_t*>(first) < 0)
      throw tenon::Error("no shape");
  }
};
struct KeepsShape : Keeps<KeptShape> {};
TENON_OPERATOR(keeps_shape, KeepsShape)

/// Twice x; the gradient needs x again.
template <class Kept>
struct KeepsBackward : Doubling {
  Kept kept;
  void forward(const tenon::Call& call) {
    if constexpr (requires { kept.see_forward(call); }) kept.see_forward(call);
    write(call, call.input<float>(0).size());
  }
  void backward(const tenon::Call& call) {
    kept.see(call);
    const auto dy = call.output_grad<float>(0), x = call.input<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i] + 0 * x[i];
  }
};
struct KeepsCallOfBackward : KeepsBackward<KeptRaw> {};
TENON_OPERATOR(keeps_call_of_backward, KeepsCallOfBackward)

struct KeptInput {
  const float* x = nullptr;
  void see_forward(const tenon::Call& call) {
    x = call.input<float>(0).size() > 0 ? call.input<float>(0).data() : nullptr;
  }
  void see(const tenon::Call&) {
    if (x != nullptr && *static_cast<const volatile float*>(x) == 17) throw tenon::Error("17");
  }
};
struct KeepsInputForBackward : KeepsBackward<KeptInput> {};
TENON_OPERATOR(keeps_input_for_backward, KeepsInputForBackward)

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
