#include "python/core/operators/python_infer.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <deque>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <variant>
#include <vector>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"

namespace tenon::python {
namespace {

using NameOrIndex = std::variant<int, std::string>;

/// A Python object for a C++ object that ends with the call.
template <class T>
struct Borrowed {
  T* object = nullptr;
  const detail::Names* names = nullptr;
  T& use(const char* function) const {
    if (object == nullptr)
      throw Failure(
          FailureKind::usage,
          std::string(function) + " has returned, and its argument cannot be used afterwards");
    return *object;
  }
};
struct PythonInfer : Borrowed<Infer> {
  Infer& use() const { return Borrowed::use("infer()"); }
};
struct PythonGradient : Borrowed<Gradient> {
  tenon_gradient* raw = nullptr;
  Gradient& use() const { return Borrowed::use("gradient()"); }
};

template <class T>
class ScopedArgument {
 public:
  explicit ScopedArgument(T wrapper) : object_(nb::cast(wrapper)) {}
  ~ScopedArgument() { nb::cast<T&>(object_).object = nullptr; }
  ScopedArgument(const ScopedArgument&) = delete;
  ScopedArgument& operator=(const ScopedArgument&) = delete;
  nb::handle get() const { return object_; }

 private:
  nb::object object_;
};

nb::object shape_or_none(const Shape& shape) {
  return shape.has_rank() ? nb::object(shape_to_python(shape)) : nb::none();
}

// Inputs and outputs have distinct names.
TensorType type_of(const PythonInfer& self, const NameOrIndex& which) {
  auto& io = self.use();
  if (const auto* at = std::get_if<int>(&which)) return io.input(*at);
  const auto& name = std::get<std::string>(which);
  return self.names->outputs.find(name, io.outputs()) >= 0 ? io.output(name) : io.input(name);
}

DType dtype_or_unknown(nb::handle dtype) {
  return dtype.is_none() ? unknown_dtype : dtype_from(dtype);
}

int index_of(const detail::NameGroup& names, const char* what, const NameOrIndex& which,
             int count) {
  if (const auto* at = std::get_if<int>(&which)) return *at;
  const auto& name = std::get<std::string>(which);
  const int found = names.find(name, count);
  if (found < 0)
    throw Error(ErrorKind::failed, "there is no ", what, " '", name, "': describe() names ",
                names.list());
  return found;
}

nb::object values_of(const PythonInfer& self, const NameOrIndex& which) {
  const auto& io = self.use();
  const int i = index_of(self.names->inputs, "input", which, io.inputs());
  const auto& raw = io.raw();
  if (raw.wanted == nullptr || i < 0 || i >= io.inputs()) return nb::none();
  raw.wanted[i] = 1;
  const auto* tensor = raw.values == nullptr ? nullptr : raw.values[i];
  if (tensor == nullptr) return nb::none();
  const auto shape = Shape::of_tensor(tensor->dense.shape, tensor->dense.ndim);
  auto* data = static_cast<char*>(tensor->dense.data) + tensor->dense.byte_offset;
  std::vector<std::int64_t> strides;
  if (tensor->dense.strides != nullptr)
    strides.assign(tensor->dense.strides, tensor->dense.strides + tensor->dense.ndim);
  return array_from(
      Tensor::borrow(data, static_cast<DType>(tensor->dtype), shape, strides, nullptr).clone(),
      false);
}

/// A parameter of a node that gradient() adds, in the form of the C ABI. Texts and lists are
/// borrowed from the attributes.
tenon_attribute attribute_of(const std::string& name, const AttributeValue& value) {
  tenon_attribute raw{};
  raw.name = name.c_str();
  const auto fill = [&]<class T>(const T& content) {
    if constexpr (std::is_same_v<T, bool>) {
      raw.kind = TENON_ATTR_BOOL, raw.i = content;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      raw.kind = TENON_ATTR_INT, raw.i = content;
    } else if constexpr (std::is_same_v<T, double>) {
      raw.kind = TENON_ATTR_FLOAT, raw.f = content;
    } else if constexpr (std::is_same_v<T, std::string>) {
      raw.kind = TENON_ATTR_TEXT, raw.text = content.c_str(), raw.count = content.size();
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      raw.kind = TENON_ATTR_INTS, raw.ints = content.data(), raw.count = content.size();
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      raw.kind = TENON_ATTR_FLOATS, raw.floats = content.data(), raw.count = content.size();
    } else {
      throw Error(ErrorKind::parameter, "gradient() sets the parameter '", name,
                  "' to a value that is neither a number, a text nor a list of numbers");
    }
  };
  std::visit(fill, value.variant());
  return raw;
}

/// A value of the graph that gradient() builds.
struct GraphValue {
  tenon_value id;
};

void check(const PythonGradient& self, std::int32_t failed) {
  if (failed != 0)
    throw Error(static_cast<ErrorKind>(self.raw->error->kind), std::string(self.raw->error->text));
}

GraphValue value_of(const PythonGradient& self, int source, const detail::NameGroup& names,
                    const char* what, const NameOrIndex& which, int count) {
  self.use();
  GraphValue found{};
  check(self, self.raw->value(self.raw, source,
                              static_cast<std::uint32_t>(index_of(names, what, which, count)),
                              &found.id));
  return found;
}

GraphValue add_node(const PythonGradient& self, const std::string& op, nb::args inputs,
                    nb::kwargs params) {
  self.use();
  std::vector<tenon_value> ids;
  for (const nb::handle input : inputs) ids.push_back(nb::cast<GraphValue>(input).id);
  const auto attributes = attributes_from(nullptr, nb::borrow<nb::dict>(params));
  std::vector<tenon_attribute> raw;
  for (const auto& [name, value] : attributes) raw.push_back(attribute_of(name, value));
  GraphValue made{};
  check(self,
        self.raw->add(self.raw, op.c_str(), ids.data(), static_cast<std::uint32_t>(ids.size()),
                      raw.data(), static_cast<std::uint32_t>(raw.size()), &made.id));
  return made;
}

}  // namespace

void infer_in_python(nb::handle object, Infer& io, const detail::Names& names) {
  PythonInfer wrapper;
  wrapper.object = &io;
  wrapper.names = &names;
  const ScopedArgument<PythonInfer> argument(wrapper);
  object.attr("infer")(argument.get());
}

void gradient_in_python(nb::handle object, tenon_gradient& raw, const detail::Names& names) {
  Gradient graph(raw, names);
  PythonGradient wrapper;
  wrapper.object = &graph;
  wrapper.names = &names;
  wrapper.raw = &raw;
  const ScopedArgument<PythonGradient> argument(wrapper);
  object.attr("gradient")(argument.get());
}

void bind_python_infer(nb::module_& module) {
  nb::class_<PythonInfer>(
      module, "Infer",
      "The argument `io` of infer(self, io): the types of a node's inputs, outputs and states.\n\n"
      "infer() is called several times, whenever more is known, and sets what follows from it. "
      "Types that are set merge with known ones; a contradiction is an error. Inputs and outputs "
      "are named as in describe(), or by position. The object is valid until infer() returns.")
      .def(
          "shape",
          [](const PythonInfer& self, const NameOrIndex& name) {
            return shape_or_none(type_of(self, name).shape);
          },
          nb::arg("name"),
          "The shape of an input or output, with None for unknown dimensions; None if "
          "their number is unknown. A position is that of an input.")
      .def(
          "dtype",
          [](const PythonInfer& self, const NameOrIndex& name) {
            const auto dtype = type_of(self, name).dtype;
            return dtype == unknown_dtype ? nb::none() : numpy_dtype(dtype);
          },
          nb::arg("name"),
          "The numpy dtype of an input or output; None if it is unknown. A position is that of an "
          "input.")
      .def(
          "has_input",
          [](const PythonInfer& self, const std::string& name) {
            return self.use().has_input(std::string_view(name));
          },
          nb::arg("name"), "Whether the input of this name is connected.")
      .def("values", &values_of, nb::arg("name"),
           "The elements of an input, as a copy, if they are known: those of constants, and all in "
           "eager calls; otherwise None. infer() is called again when they become known.")
      .def_prop_ro(
          "inputs", [](const PythonInfer& self) { return self.use().inputs(); },
          "The number of inputs, connected or not; each tensor of a variadic input counts.")
      .def_prop_ro(
          "outputs", [](const PythonInfer& self) { return self.use().outputs(); },
          "The number of outputs.")
      .def(
          "set_output",
          [](const PythonInfer& self, const NameOrIndex& name, nb::handle shape, nb::handle dtype) {
            auto& io = self.use();
            io.set_output(index_of(self.names->outputs, "output", name, io.outputs()),
                          shape_from(shape), dtype_or_unknown(dtype));
          },
          nb::arg("name"), nb::arg("shape").none(), nb::arg("dtype").none() = nb::none(),
          "Sets the shape of an output, with None for unknown dimensions; () is a scalar, and None "
          "sets only the dtype. Without a dtype, outputs have the shared dtype of the inputs.")
      .def(
          "set_input",
          [](const PythonInfer& self, const NameOrIndex& name, nb::handle shape, nb::handle dtype) {
            auto& io = self.use();
            io.set_input(index_of(self.names->inputs, "input", name, io.inputs()),
                         shape_from(shape), dtype_or_unknown(dtype));
          },
          nb::arg("name"), nb::arg("shape").none(), nb::arg("dtype").none() = nb::none(),
          "Sets what follows for an input, such as the shape of a weight. An optional weight that "
          "is not connected is requested by this.")
      .def(
          "set_state",
          [](const PythonInfer& self, const std::string& name, nb::handle shape, nb::handle dtype) {
            self.use().set_state(name, shape_from(shape),
                                 dtype.is_none() ? f32 : dtype_from(dtype));
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("dtype").none() = nb::none(),
          "Sets the shape of a state; dtype: default float32.")
      .def(
          "require",
          [](const PythonInfer& self, nb::handle condition, const std::string& reason) {
            self.use();
            const int is_true = PyObject_IsTrue(condition.ptr());
            if (is_true < 0) throw nb::python_error();
            if (is_true == 0) throw Error(ErrorKind::type, reason);
          },
          nb::arg("condition"), nb::arg("reason"),
          "Raises an error with this reason unless the condition is true.")
      .def(
          "error",
          [](const PythonInfer&, const std::string& reason) {
            throw Error(ErrorKind::type, reason);
          },
          nb::arg("reason"), "Raises an error with this reason.");

  nb::class_<GraphValue>(module, "GradientValue",
                         "A value of the graph that gradient() builds. It has no elements.");
  nb::class_<PythonGradient>(
      module, "Gradient",
      "The argument `graph` of gradient(self, graph): adds the nodes that compute the gradients of "
      "a node's inputs.\n\n"
      "Nothing is computed here. Inputs whose gradient is not set have a gradient of zero. Inputs "
      "and outputs are named as in describe(), or by position. The object is valid until "
      "gradient() returns.")
      .def(
          "input",
          [](const PythonGradient& self, const NameOrIndex& name) {
            return value_of(self, TENON_GRADIENT_INPUT, self.names->inputs, "input", name,
                            self.use().inputs());
          },
          nb::arg("name"), "An input of the node. Raises an error if it is not connected.")
      .def(
          "output",
          [](const PythonGradient& self, const NameOrIndex& name) {
            return value_of(self, TENON_GRADIENT_OUTPUT, self.names->outputs, "output", name,
                            self.use().outputs());
          },
          nb::arg("name"), "An output that forward wrote.")
      .def(
          "output_grad",
          [](const PythonGradient& self, const NameOrIndex& name) {
            return value_of(self, TENON_GRADIENT_OUTPUT_GRAD, self.names->outputs, "output", name,
                            self.use().outputs());
          },
          nb::arg("name"),
          "The gradient of the loss with respect to an output; zeros if the output does not reach "
          "the loss.")
      .def("add", &add_node, nb::arg("op"), nb::arg("inputs"), nb::arg("params"),
           "Adds a node of another operator: values in the order of its inputs, and parameters by "
           "name. Returns its first output.")
      .def(
          "set_input_grad",
          [](const PythonGradient& self, const NameOrIndex& name, const GraphValue& value) {
            const int i = index_of(self.names->inputs, "input", name, self.use().inputs());
            check(self,
                  self.raw->set_input_grad(self.raw, static_cast<std::uint32_t>(i), value.id));
          },
          nb::arg("name"), nb::arg("value"),
          "Sets the gradient of an input, which has the input's shape and dtype. At most once for "
          "each input.");
}

}  // namespace tenon::python
