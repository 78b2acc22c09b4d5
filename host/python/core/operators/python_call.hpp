// The `call` of forward and backward of an operator in Python: one object for each kernel and
// direction, whose arrays are views.
#pragma once
#include <tenon/abi.h>

#include <vector>

#include "python/core/operators/kernel_array.hpp"
#include "python/core/operators/python_operator.hpp"

namespace tenon::python {

/// Needs the GIL, and is used by one thread at a time.
class PythonCall {
 public:
  PythonCall(const PythonOperator& op, bool backward);

  /// Calls the method with the call's tensors. Throws nb::python_error for what the method raised,
  /// and Error if arrays are still referenced afterwards, which then get memory of their own.
  void run(nb::handle method, const tenon_call& call);

 private:
  enum class Source { input, output, state, output_grad, input_grad };
  struct Tensors {
    const tenon_tensor* const* tensors;
    std::size_t count;
  };
  /// An attribute of the call: one tensor, or a list of them.
  struct Slot {
    SharedReference name;
    Source source = Source::input;
    std::size_t index = 0;  // of the input, output or state
    bool is_list = false;   // the tensors of a variadic input
    bool writable = false;
    PyObject* set = nullptr;  // the attribute's current value, borrowed
    std::vector<KernelArray> arrays{};
  };

  void add(const std::vector<std::string>& names, Source source, int repeated, bool writable);
  static Tensors tensors_of(const tenon_call& call, Source source);
  void show(const tenon_call& call);
  void show(Slot& slot, const tenon_call& call);
  nb::object array_of(Slot& slot, std::size_t position, const tenon_call& call, std::size_t tensor);
  void set(Slot& slot, nb::handle value);
  void set_random(const tenon_call& call);
  void invoke(nb::handle method);
  const Slot* referenced_slot() const;
  void hide_lists();
  void require_unreferenced();
  void detach_all(nb::handle trace);

  const PythonOperator* op_;
  const bool backward_;
  SharedReference call_;
  int training_ = -1;
  std::vector<Slot> slots_;
};

}  // namespace tenon::python
