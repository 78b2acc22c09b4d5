// Operators written in Python: a Python class behind the host's table of functions.
//
//     host                            Python
//     factory                         Class(), then its parameters as attributes, then configure()
//     infer                           infer(self, io), or the first input's type for every output
//     forward, backward               forward(self, call), backward(self, call)
//     gradient                        gradient(self, graph)
//     destroy                         the reference is dropped
//
// All of them may run on any thread, without the GIL and without a lock of the host; they acquire
// the GIL here. A Python exception passes through the host as text and becomes the cause of the
// exception that the caller gets (store_exception).
#pragma once
#include <memory>
#include <string>
#include <tenon/detail/names.hpp>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A reference that any thread may drop.
class SharedReference {
 public:
  SharedReference() = default;
  explicit SharedReference(nb::object object) : object_(object.release().ptr()) {}
  SharedReference(SharedReference&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  SharedReference& operator=(SharedReference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~SharedReference() { drop(object_); }
  nb::handle get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// The declarations of a class's describe(), and what its objects share.
struct PythonOperator {
  SharedReference type, call_type;
  std::vector<std::string> inputs, outputs, states;
  bool variadic = false;       ///< whether the last input is variadic
  int counted_output = -1;     ///< the output whose number of tensors a parameter sets; -1: none
  int shared_dtype_input = 0;  ///< the first input that has the operator's common dtype
  bool random = false;
  SharedReference
      check;  ///< checks an object's parameters, a dict: returns the attributes' values or raises
              ///< an error
  bool infers = false;             ///< whether the class has infer()
  std::vector<const char*> texts;  ///< storage of `names`
  detail::Names names;

  void fill_names();  ///< sets `names` from inputs, outputs and states
};

/// The arguments of Host::add_operator().
struct OperatorDefinition {
  std::string manifest;
  const tenon_operator* table;
  OperatorFactory make;
};
/// Defines an operator from the dict that the package's Python modules make of a describe().
OperatorDefinition define_operator(nb::bytes manifest, nb::object type, nb::object call_type,
                                   nb::dict declared);

void bind_python_operator(nb::module_& module);

}  // namespace tenon::python
