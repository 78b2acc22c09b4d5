// Hand-written ONNX models, field by field, with protozero's writer.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "onnx/model.hpp"

namespace onnx_bytes {

using Texts = std::vector<std::string>;
using Dims = std::vector<std::int64_t>;

template <class Write>
std::string message(const Write& write) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// `fields`: further fields, serialized.
inline std::string tensor(const std::string& name, std::int32_t dtype, const Dims& dims,
                          const std::string& fields) {
  return message([&](auto& to) {
           to.add_packed_int64(1, dims.begin(), dims.end());
           to.add_int32(2, dtype);
           to.add_string(8, name);
         }) +
         fields;
}
inline std::string raw_data(const std::string& bytes) {
  return message([&](auto& to) { to.add_bytes(9, bytes); });
}
inline std::string float_tensor(const std::string& name, const Dims& dims,
                                const std::vector<float>& elements) {
  return tensor(name, 1, dims, raw_data(raw(elements)));
}
inline std::string int64_tensor(const std::string& name, const Dims& dims,
                                const std::vector<std::int64_t>& elements) {
  return tensor(name, 7, dims, raw_data(raw(elements)));
}
inline std::string external_data(const std::vector<std::pair<std::string, std::string>>& entries) {
  return message([&](auto& to) {
    for (const auto& [key, value] : entries)
      to.add_message(13, message([&, &key = key, &value = value](auto& entry) {
                       entry.add_string(1, key);
                       entry.add_string(2, value);
                     }));
    to.add_int32(14, 1);
  });
}

inline std::string sparse(const std::string& values, const std::string& indices, const Dims& dims) {
  return message([&](auto& to) {
    to.add_message(1, values);
    to.add_message(2, indices);
    to.add_packed_int64(3, dims.begin(), dims.end());
  });
}

/// A dimension of -1 is unknown; a text is a name.
struct Dim {
  std::int64_t size = -1;
  std::string name{};
};
inline std::string tensor_type(std::int32_t dtype, const std::vector<Dim>& dims) {
  return message([&](auto& to) {
    to.add_message(1, message([&](auto& type) {
                     type.add_int32(1, dtype);
                     type.add_message(2, message([&](auto& shape) {
                                        for (const auto& dim : dims)
                                          shape.add_message(1, message([&](auto& one) {
                                                              if (dim.size >= 0)
                                                                one.add_int64(1, dim.size);
                                                              if (!dim.name.empty())
                                                                one.add_string(2, dim.name);
                                                            }));
                                      }));
                   }));
  });
}
inline std::string value(const std::string& name, const std::string& type) {
  return message([&](auto& to) {
    to.add_string(1, name);
    to.add_message(2, type);
  });
}
inline std::string value(const std::string& name) {
  return value(name, tensor_type(1, {{2}}));
}

/// `field`: the value's field, serialized; empty for a reference.
inline std::string attribute(const std::string& name, std::int32_t kind, const std::string& field) {
  return message([&](auto& to) { to.add_string(1, name); }) + field +
         message([&](auto& to) { to.add_int32(20, kind); });
}
inline std::string int_attribute(const std::string& name, std::int64_t number) {
  return attribute(name, 2, message([&](auto& to) { to.add_int64(3, number); }));
}
inline std::string float_attribute(const std::string& name, float number) {
  return attribute(name, 1, message([&](auto& to) { to.add_float(2, number); }));
}
inline std::string ints_attribute(const std::string& name,
                                  const std::vector<std::int64_t>& numbers) {
  return attribute(
      name, 7, message([&](auto& to) { to.add_packed_int64(8, numbers.begin(), numbers.end()); }));
}
inline std::string message_attribute(const std::string& name, std::int32_t kind,
                                     std::uint32_t number, const std::string& bytes) {
  return attribute(name, kind, message([&](auto& to) { to.add_message(number, bytes); }));
}

inline std::string text_attribute(const std::string& name, const std::string& value) {
  return attribute(name, 3, message([&](auto& to) { to.add_bytes(4, value); }));
}
inline std::string float_list(const std::string& name, const std::vector<float>& values) {
  return attribute(
      name, 6, message([&](auto& to) { to.add_packed_float(7, values.begin(), values.end()); }));
}
inline std::string text_list(const std::string& name, const Texts& values) {
  return attribute(name, 8, message([&](auto& to) {
                     for (const auto& value : values) to.add_bytes(9, value);
                   }));
}

struct NodeFields {
  std::string type;
  Texts inputs{}, outputs{};
  Texts attributes{};  // serialized
  std::string name{}, domain{}, overload{};
  std::string bytes() const {
    return message([&](auto& to) {
      for (const auto& input : inputs) to.add_string(1, input);
      for (const auto& output : outputs) to.add_string(2, output);
      if (!name.empty()) to.add_string(3, name);
      to.add_string(4, type);
      for (const auto& attribute : attributes) to.add_message(5, attribute);
      if (!domain.empty()) to.add_string(7, domain);
      if (!overload.empty()) to.add_string(8, overload);
    });
  }
};

struct GraphFields {
  std::vector<NodeFields> nodes{};
  Texts inputs{}, outputs{}, initializers{}, sparse_initializers{};  // serialized
  std::string name = "graph";
  std::string bytes() const {
    return message([&](auto& to) {
      for (const auto& node : nodes) to.add_message(1, node.bytes());
      to.add_string(2, name);
      for (const auto& tensor : initializers) to.add_message(5, tensor);
      for (const auto& input : inputs) to.add_message(11, input);
      for (const auto& output : outputs) to.add_message(12, output);
      for (const auto& tensor : sparse_initializers) to.add_message(15, tensor);
    });
  }
};

inline std::string opset(const std::string& domain, std::int64_t version) {
  return message([&](auto& to) {
    if (!domain.empty()) to.add_string(1, domain);
    to.add_int64(2, version);
  });
}

struct FunctionFields {
  std::string domain, name;
  Texts inputs{}, outputs{}, attributes{};
  std::vector<NodeFields> nodes{};
  Texts defaults{};  // serialized
  std::string overload{};
  std::string bytes() const {
    return message([&](auto& to) {
      to.add_string(1, name);
      for (const auto& input : inputs) to.add_string(4, input);
      for (const auto& output : outputs) to.add_string(5, output);
      for (const auto& attribute : attributes) to.add_string(6, attribute);
      for (const auto& node : nodes) to.add_message(7, node.bytes());
      to.add_message(9, opset("", 17));
      to.add_string(10, domain);
      for (const auto& attribute : defaults) to.add_message(11, attribute);
      if (!overload.empty()) to.add_string(13, overload);
    });
  }
};

struct ModelFields {
  GraphFields graph{};
  std::vector<FunctionFields> functions{};
  std::vector<std::pair<std::string, std::int64_t>> opsets{{"", 17}};
  std::int64_t ir = 8;
  std::string bytes() const { return around(graph.bytes()); }
  std::string around(const std::string& graph_bytes) const {
    return message([&](auto& to) {
      to.add_int64(1, ir);
      to.add_string(2, "tests");
      to.add_string(3, "1.0");
      to.add_message(7, graph_bytes);
      for (const auto& [domain, version] : opsets) to.add_message(8, opset(domain, version));
      for (const auto& function : functions) to.add_message(25, function.bytes());
    });
  }
};

/// An allocation of exactly these bytes, so that AddressSanitizer detects reads past the end.
struct Memory {
  std::shared_ptr<std::byte[]> bytes;
  std::size_t size;
  explicit Memory(const std::string& text, std::size_t shift = 0)
      : bytes(new std::byte[text.size() + shift]), size(text.size()) {
    if (size != 0) std::memcpy(bytes.get() + shift, text.data(), size);
    bytes = {bytes, bytes.get() + shift};
  }
  tenon::FileBytes file(const std::filesystem::path& path = "m.onnx") const {
    return {path, {bytes.get(), size}, bytes};
  }
};

inline tenon::onnx::Model read(const std::string& bytes,
                               const std::filesystem::path& path = "m.onnx") {
  return tenon::onnx::read_model(Memory(bytes).file(path));
}

/// A model with something of everything.
inline ModelFields sample() {
  using namespace std::string_literals;
  const GraphFields branch{
      {{"Identity", {"x"}, {"branch_y"}}}, {}, {value("branch_y")}, {}, {}, "branch"};
  const auto small = tensor("", 1, {2}, raw_data(raw<float>({1, 2})));
  ModelFields model;
  model.graph.nodes = {
      {"Conv",
       {"x", "w", ""},
       {"c"},
       {int_attribute("group", 1), attribute("pads", 7, message([](auto& to) {
                                               const std::int64_t pads[] = {1, -1, 300};
                                               to.add_packed_int64(8, std::begin(pads),
                                                                   std::end(pads));
                                             }))},
       "conv"},
      {"If",
       {"flag"},
       {"z"},
       {message_attribute("then_branch", 5, 6, branch.bytes()),
        message_attribute("else_branch", 5, 6, branch.bytes())}},
      {"Odd",
       {},
       {"o", ""},
       {attribute("a", 1, message([](auto& to) { to.add_float(2, 0.5F); })),
        attribute("b", 3, message([](auto& to) { to.add_bytes(4, "text"); })),
        message_attribute("c", 4, 5, small),
        attribute("d", 6, message([](auto& to) { to.add_float(7, 1.5F), to.add_float(7, 2.5F); })),
        attribute("e", 8, message([](auto& to) { to.add_bytes(9, "p"), to.add_bytes(9, "q"); })),
        attribute("f", 9,
                  message([&](auto& to) { to.add_message(10, small), to.add_message(10, small); })),
        attribute("g", 13, message([](auto& to) { to.add_message(14, tensor_type(7, {})); }))},
       "odd",
       "my.ops"},
      {"Twice", {"c"}, {"t"}, {}, "", "local"}};
  model.graph.inputs = {value("x", tensor_type(1, {{-1, "N"}, {3}, {-1}})),
                        value("flag", tensor_type(9, {})), value("w", tensor_type(1, {{2}}))};
  model.graph.outputs = {value("t"), value("z")};
  model.graph.initializers = {tensor("w", 1, {2}, raw_data(raw<float>({3, 4}))),
                              tensor("ints", 7, {3}, message([](auto& to) {
                                       const std::int64_t values[] = {1, -2, 3};
                                       to.add_packed_int64(7, std::begin(values), std::end(values));
                                     }))};
  model.graph.sparse_initializers = {
      sparse(tensor("s", 1, {2}, raw_data(raw<float>({5, 6}))),
             tensor("", 7, {2, 2}, raw_data(raw<std::int64_t>({0, 1, 2, 0}))), {3, 2})};
  model.functions = {{"local",
                      "Twice",
                      {"a"},
                      {"b"},
                      {"k"},
                      {{"Add", {"a", "a"}, {"b"}, {attribute("axis", 2, message([](auto& to) {
                                                               to.add_string(21, "k");
                                                             }))}}},
                      {int_attribute("n", 5)}}};
  model.opsets = {{"", 17}, {"my.ops", 2}, {"local", 1}};
  return model;
}

}  // namespace onnx_bytes
