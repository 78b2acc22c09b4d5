// Operators that are written in Python: a class of Python's behind the host's table of functions.
//
//     the host's                      Python's
//     factory                         Class(), then its parameters as attributes, then configure()
//     infer                           infer(self, io), or the first input's type for every output
//     forward, backward               forward(self, call), backward(self, call)
//     gradient                        gradient(self, graph)
//     destroy                         the reference is dropped
//
// All of them run on any thread, without the GIL and without a lock of the host's; they take the GIL here. What Python raises goes through
// the host as a text, and becomes the cause of what the caller gets (keep_exception).
#pragma once
#include <memory>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/names.hpp>
#include <vector>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A reference that any thread may drop.
class Held {
 public:
  Held() = default;
  explicit Held(nb::object object) : object_(object.release().ptr()) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() { drop(object_); }
  nb::handle get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// What describe() of a class told, and what its objects have in common.
struct PythonOperator {
  Held type, call_type;
  std::vector<std::string> inputs, outputs, states;
  bool variadic = false;  ///< the last input
  int counted = -1;       ///< the output that stands for several
  int shared = 0;         ///< the first input of the shared dtype
  bool random = false;
  Held check;  ///< of the parameters of an object, as a dict: returns what its attributes become, or raises what is wrong
  bool infers = false;
  std::vector<const char*> texts;
  detail::Names names;

  void name_all();  ///< fills names
};

/// As Host::add_operator() takes it.
struct OwnOperator {
  std::string manifest;
  const tenon_operator* table;
  OperatorFactory make;
};
/// From what the package's own modules made of a class.
OwnOperator own_operator(nb::bytes manifest, nb::object type, nb::object call_type, nb::dict told);

void bind_python_operator(nb::module_& module);

}  // namespace tenon::python
