#include "python/core/graph.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <tenon/host/draw.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/pack.hpp>

#include "python/core/arrays.hpp"
#include "python/core/attributes.hpp"
#include "python/core/host.hpp"
#include "python/core/tensor.hpp"

namespace tenon::python {
namespace {

Init init_from(const std::string& kind, double a, double b) {
  constexpr std::pair<std::string_view, Init::Kind> kinds[] = {{"automatic", Init::Kind::automatic},
                                                               {"zeros", Init::Kind::zeros},
                                                               {"ones", Init::Kind::ones},
                                                               {"uniform", Init::Kind::uniform},
                                                               {"normal", Init::Kind::normal},
                                                               {"xavier", Init::Kind::xavier},
                                                               {"he", Init::Kind::he},
                                                               {"value", Init::Kind::value}};
  for (const auto& [name, one] : kinds)
    if (kind == name) return {one, a, b};
  throw Failure(FailureKind::usage, "there is no init '" + kind + "'",
                "init is zeros, ones, xavier, he, a number, (\"uniform\", low, high) and "
                "(\"normal\", mean, deviation)");
}

std::vector<Value> values_from(nb::list items) {
  std::vector<Value> values;
  for (const nb::handle one : items)
    values.push_back(one.is_none() ? Value() : nb::cast<Value>(one));
  return values;
}

nb::dict node_to_python(const NodeInfo& node) {
  constexpr const char* kinds[] = {"forward", "backward", "recompute"};
  nb::dict all;
  all["name"] = node.name;
  all["op"] = node.op;
  all["kind"] = kinds[static_cast<std::size_t>(node.kind)];
  all["of"] = node.of;
  all["inputs"] = node.inputs;
  all["states"] = node.states;
  all["outputs"] = node.outputs;
  all["params"] = attributes_to_python(node.attributes);
  all["device"] = node.device;
  return all;
}

nb::dict operator_to_python(const UsedOperator& used) {
  nb::dict all;
  all["name"] = used.full_name();
  all["version"] = used.version;
  all["plugin"] = used.plugin;
  all["plugin_version"] = used.plugin_version;
  return all;
}

template <class Items, class Convert>
nb::list list_of(const Items& items, Convert&& convert) {
  nb::list all;
  for (const auto& item : items) all.append(convert(item));
  return all;
}

using List = std::vector<ValueInfo> (Graph::*)() const;
auto lister(List list) {
  return [list](GraphHandle& self) {
    return list_of(self.use([&](Graph& graph) { return (graph.*list)(); }), value_to_python);
  };
}

Value add_node(GraphHandle& self, const std::string& op, nb::list inputs, nb::dict attributes,
               nb::str given_name) {
  const auto name = name_from(given_name);
  const auto values = values_from(std::move(inputs));
  const auto found = self.use([&](Graph& graph) { return graph.host().catalog().find(op); });
  const auto params = attributes_from(found ? &found->info : nullptr, std::move(attributes));
  return self.use([&](Graph& graph) { return graph.add(op, values, params, name); });
}

nb::list gradient(GraphHandle& self, const Value& loss, nb::list wrt, nb::list recompute,
                  std::int64_t memory_budget, nb::dict shapes, nb::handle seed) {
  const auto by = values_from(std::move(wrt));
  GradientOptions options;
  if (!seed.is_none()) options.seed = nb::cast<Value>(seed);
  options.recompute = values_from(std::move(recompute));
  options.memory_budget = memory_budget;
  options.shapes = shapes_from(std::move(shapes));
  const auto found = self.use([&](Graph& graph) { return graph.gradient(loss, by, options); });
  return list_of(found,
                 [](const Value& value) { return value.empty() ? nb::none() : nb::cast(value); });
}

GraphHandle load(const HostHandle& host, const std::string& path, bool verify,
                 std::uint64_t map_above) {
  const auto open_host = host.use();
  return without_gil([&] {
    return GraphHandle(Graph::load(*open_host, path, {.verify = verify, .map_above = map_above}));
  });
}

GraphHandle load_pack(const HostHandle& host, const std::string& path, const std::string& sha256,
                      bool verify) {
  const auto open_host = host.use();
  return without_gil([&] {
    return GraphHandle(tenon::load_pack(*open_host, path, {.sha256 = sha256}, {.verify = verify}));
  });
}

/// Returns the graph and the importer's notes.
std::pair<GraphHandle, std::vector<std::string>> load_onnx(const HostHandle& host,
                                                           const std::string& path, nb::dict shapes,
                                                           nb::dict fixed,
                                                           std::map<std::string, std::string> map,
                                                           bool prefer_functions, bool keep_unknown,
                                                           bool trust_links) {
  onnx::ImportOptions options;
  options.shapes = shapes_from(std::move(shapes));
  for (auto& [name, tensor] : named_tensors_from(std::move(fixed)))
    options.fixed.emplace(name, tensor.clone());
  options.map = std::move(map);
  options.prefer_functions = prefer_functions, options.keep_unknown = keep_unknown,
  options.trust_links = trust_links;
  std::vector<std::string> notes;
  options.note = [&](const std::string& text) { notes.push_back(text); };
  const auto open_host = host.use();
  auto graph = without_gil([&] { return GraphHandle(onnx::load(*open_host, path, options)); });
  return {std::move(graph), std::move(notes)};
}

GraphHandle from_bytes(const HostHandle& host, nb::bytes bytes, const std::string& name) {
  const std::span all(static_cast<const std::byte*>(bytes.data()), bytes.size());
  const auto open_host = host.use();
  return without_gil([&] { return GraphHandle(Graph::from_bytes(*open_host, all, name)); });
}

nb::bytes to_bytes(GraphHandle& self, std::uint64_t seed) {
  const auto bytes = self.use([&](Graph& graph) { return graph.to_bytes(seed); });
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<std::string> export_onnx(GraphHandle& self, const std::string& path, std::int64_t opset,
                                     std::uint64_t seed) {
  std::vector<std::string> notes;
  onnx::ExportOptions options{.opset = opset, .seed = seed};
  options.note = [&](const std::string& text) { notes.push_back(text); };
  self.use([&](Graph& graph) { onnx::save(graph, path, options); });
  return notes;
}

nb::object training_to_python(GraphHandle& self) {
  const auto info = self.use([](Graph& graph) { return graph.training(); });
  if (!info) return nb::none();
  nb::dict all;
  all["optimizer"] = info->optimizer;
  all["parameters"] = attributes_to_python(info->parameters);
  all["step"] = info->step;
  all["epoch"] = info->epoch;
  all["seed"] = info->seed;
  all["examples"] = info->examples;
  return all;
}

}  // namespace

std::map<std::string, Shape> shapes_from(nb::dict items) {
  std::map<std::string, Shape> shapes;
  for (const auto [name, shape] : items) shapes.emplace(name_from(name), shape_from(shape));
  return shapes;
}

nb::dict value_to_python(const ValueInfo& value) {
  constexpr const char* roles[] = {"input", "variable", "state", "constant", "output"};
  nb::dict all;
  all["name"] = value.name;
  all["role"] = roles[static_cast<std::size_t>(value.role)];
  all["dtype"] = value.dtype ? nb::object(nb::str(name_of(*value.dtype))) : nb::none();
  all["shape"] = value.shape.has_rank() ? nb::object(shape_to_python(value.shape)) : nb::none();
  all["storage"] = name_of(value.storage);
  all["doc"] = value.doc;
  all["value"] = value.value;
  all["categories"] = value.categories;
  return all;
}

void bind_graph(nb::module_& module) {
  nb::class_<Value>(module, "Value").def("output", &Value::output, nb::arg("index"));
  nb::class_<GraphHandle>(module, "Graph")
      .def(
          "__init__",
          [](GraphHandle* self, const HostHandle& host) {
            const auto open_host = host.use();
            new (self) GraphHandle(without_gil([&] { return Graph(*open_host); }));
          },
          nb::arg("host"))
      .def(
          "input",
          [](GraphHandle& self, const std::string& name, nb::handle dtype, nb::handle shape) {
            const auto type = dtype_from(dtype);
            const auto whole = shape_from(shape);
            return self.use([&](Graph& graph) { return graph.input(name, type, whole); });
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape").none())
      .def(
          "variable",
          [](GraphHandle& self, const std::string& name, nb::handle value) {
            const auto tensor = any_tensor_from(value);
            return self.use([&](Graph& graph) { return graph.variable(name, tensor.clone()); });
          },
          nb::arg("name"), nb::arg("value"))
      .def(
          "variable_of_type",
          [](GraphHandle& self, const std::string& name, nb::handle dtype, nb::handle shape,
             const std::string& init, double a, double b) {
            const auto type = dtype_from(dtype);
            const auto whole = shape_from(shape);
            const auto first = init_from(init, a, b);
            return self.use([&](Graph& graph) { return graph.variable(name, type, whole, first); });
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape").none(), nb::arg("init"), nb::arg("a"),
          nb::arg("b"))
      .def(
          "constant",
          [](GraphHandle& self, const std::string& name, nb::handle value) {
            const auto tensor = any_tensor_from(value);
            return self.use([&](Graph& graph) { return graph.constant(name, tensor.clone()); });
          },
          nb::arg("name"), nb::arg("value"))
      .def("add", &add_node, nb::arg("op"), nb::arg("inputs"), nb::arg("attributes"),
           nb::arg("name") = nb::str(""))
      .def(
          "output",
          [](GraphHandle& self, const std::string& name, const Value& value) {
            self.use([&](Graph& graph) { graph.output(name, value); });
          },
          nb::arg("name"), nb::arg("value"))
      .def("gradient", &gradient, nb::arg("loss"), nb::arg("wrt"), nb::arg("recompute"),
           nb::arg("memory_budget"), nb::arg("shapes"), nb::arg("seed") = nb::none())
      .def(
          "stop_gradient",
          [](GraphHandle& self, const Value& value, const std::string& name) {
            return self.use([&](Graph& graph) { return graph.stop_gradient(value, name); });
          },
          nb::arg("value"), nb::arg("name") = "")
      .def(
          "update",
          [](GraphHandle& self, const Value& variable, const Value& value) {
            self.use([&](Graph& graph) { graph.update(variable, value); });
          },
          nb::arg("variable"), nb::arg("value"))
      .def("clone",
           [](GraphHandle& self) {
             return self.use([](Graph& graph) { return GraphHandle(graph.clone()); });
           })
      .def(
          "find",
          [](GraphHandle& self, const std::string& text) {
            return self.use([&](Graph& graph) { return graph.find(text); });
          },
          nb::arg("text"))
      .def(
          "info",
          [](GraphHandle& self, const Value& value) {
            return value_to_python(self.use([&](Graph& graph) { return graph.info(value); }));
          },
          nb::arg("value"))
      .def(
          "tensor",
          [](GraphHandle& self, const Value& value) {
            const auto tensor = self.use([&](Graph& graph) { return graph.tensor(value); });
            return tensor ? nb::cast(read_only_view(tensor)) : nb::none();
          },
          nb::arg("value"))
      .def(
          "set_categories",
          [](GraphHandle& self, const Value& value, const std::vector<std::string>& names) {
            self.use([&](Graph& graph) { graph.set_categories(value, names); });
          },
          nb::arg("value"), nb::arg("names"))
      .def("inputs", lister(&Graph::inputs))
      .def("outputs", lister(&Graph::outputs))
      .def("variables", lister(&Graph::variables))
      .def("states", lister(&Graph::states))
      .def("constants", lister(&Graph::constants))
      .def("nodes",
           [](GraphHandle& self) {
             return list_of(self.use([](Graph& graph) { return graph.nodes(); }), node_to_python);
           })
      .def("operators",
           [](GraphHandle& self) {
             return list_of(self.use([](Graph& graph) { return graph.operators(); }),
                            operator_to_python);
           })
      .def("changed_names",
           [](GraphHandle& self) {
             return self.use([](Graph& graph) { return graph.changed_names(); });
           })
      .def(
          "needed_inputs",
          [](GraphHandle& self, const std::vector<std::string>& outputs, bool training) {
            return list_of(
                self.use([&](Graph& graph) { return graph.needed_inputs(outputs, training); }),
                value_to_python);
          },
          nb::arg("outputs"), nb::arg("training") = false)
      .def("training", &training_to_python)
      .def(
          "save",
          [](GraphHandle& self, const std::string& path, std::uint64_t seed) {
            self.use([&](Graph& graph) { graph.save(path, seed); });
          },
          nb::arg("path"), nb::arg("seed") = 0)
      .def("export_onnx", &export_onnx, nb::arg("path"), nb::arg("opset") = 17, nb::arg("seed") = 0)
      .def("to_bytes", &to_bytes, nb::arg("seed") = 0)
      .def("to_json",
           [](GraphHandle& self) { return self.use([](Graph& graph) { return graph.to_json(); }); })
      .def("bind", [](GraphHandle& self) { self.use([](Graph& graph) { graph.bind(); }); })
      .def(
          "initialize",
          [](GraphHandle& self, std::uint64_t seed) {
            self.use([&](Graph& graph) { graph.initialize(seed); });
          },
          nb::arg("seed") = 0)
      .def("dot", [](GraphHandle& self) {
        return self.use([](Graph& graph) { return draw_graph(graph); });
      });
  module.def("load_graph", &load, nb::arg("host"), nb::arg("path"), nb::arg("verify") = true,
             nb::arg("map_above") = std::uint64_t{64} << 20);
  module.def("load_pack", &load_pack, nb::arg("host"), nb::arg("path"), nb::arg("sha256"),
             nb::arg("verify") = true);
  module.def(
      "is_pack", [](const std::string& path) { return without_gil([&] { return is_pack(path); }); },
      nb::arg("path"));
  module.def(
      "trusted_pack",
      [](const std::string& path, const std::string& sha256) {
        return without_gil([&] { return require_trusted_pack(path, {.sha256 = sha256}); });
      },
      nb::arg("path"), nb::arg("sha256"));
  module.def(
      "is_onnx_model",
      [](const std::string& path) { return without_gil([&] { return onnx::is_model(path); }); },
      nb::arg("path"));
  module.def("load_onnx", &load_onnx, nb::arg("host"), nb::arg("path"), nb::arg("shape"),
             nb::arg("fix"), nb::arg("map"), nb::arg("prefer_functions"), nb::arg("keep_unknown"),
             nb::arg("trust_links") = false);
  module.def("name_in_graph", &name_in_graph, nb::arg("names"), nb::arg("user_name"),
             nb::arg("changed") = std::map<std::string, std::string>());
  module.def("graph_from_bytes", &from_bytes, nb::arg("host"), nb::arg("data"),
             nb::arg("name") = "graph");
  module.def(
      "graph_from_json",
      [](const HostHandle& host, const std::string& text, const std::string& folder) {
        const auto open_host = host.use();
        return without_gil([&] { return GraphHandle(Graph::from_json(*open_host, text, folder)); });
      },
      nb::arg("host"), nb::arg("text"), nb::arg("folder") = "");
}

}  // namespace tenon::python
