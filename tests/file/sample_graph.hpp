// Hand-made graphs to save and load, without plugins or a builder.
#pragma once
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"
#include "manifest_bytes.hpp"

class GraphMaker {
 public:
  tenon::GraphModel model;

  std::uint32_t plugin(const std::string& name, const std::string& version) {
    model.plugins.push_back({name, version, 0, 0x0123456789abcdef});
    return static_cast<std::uint32_t>(model.plugins.size() - 1);
  }

  std::uint32_t op(const OperatorSpec& spec, std::uint32_t plugin = tenon::none) {
    auto info = std::make_shared<tenon::OperatorInfo>(tenon::read_manifest(manifest_of(spec)));
    info->manifest = manifest_of(spec);
    model.operators.push_back({spec.name, spec.version, info, plugin});
    return static_cast<std::uint32_t>(model.operators.size() - 1);
  }

  tenon::ValueId value(std::string_view name, tenon::Role role, const tenon_type& type,
                       const tenon::Init& init = {}) {
    const auto id = static_cast<tenon::ValueId>(model.values.size());
    auto& value = model.values.emplace_back();
    value.name = model.strings.intern(name);
    value.role = role;
    value.type = type;
    value.init = init;
    model.value_names.add(value.name, id);
    if (role == tenon::Role::input) model.inputs.push_back(id);
    return id;
  }

  tenon::ValueId tensor(std::string_view name, tenon::Role role, const tenon::Tensor& tensor) {
    const auto id = value(name, role, tenon::type_of(tensor));
    model.values[id].tensor = static_cast<std::uint32_t>(model.tensors.size());
    model.tensors.push_back(tensor);
    return id;
  }

  void attribute(std::string_view name, const tenon::AttributeValue& value) {
    tenon::AttributeRecord record;
    record.name = model.strings.intern(name);
    std::visit([&](const auto& content) { put(record, content); }, value.variant());
    model.attributes.push_back(record);
  }

  /// The attributes must have been added just before; edges are inputs, then states.
  tenon::NodeId node(std::string_view name, std::uint32_t op,
                     const std::vector<tenon::ValueId>& edges, std::uint32_t outputs,
                     std::uint32_t attributes, const tenon_type& type = tenon::unknown_type(),
                     std::string_view device = {}) {
    const auto id = static_cast<tenon::NodeId>(model.nodes.size());
    tenon::NodeRecord node;
    node.name = model.strings.intern(name);
    node.op = op;
    node.first_edge = static_cast<std::uint32_t>(model.edges.size());
    node.state_count = static_cast<std::uint32_t>(model.operators[op].info->states.size());
    node.input_count = static_cast<std::uint32_t>(edges.size()) - node.state_count;
    node.first_output = static_cast<std::uint32_t>(model.values.size());
    node.output_count = outputs;
    node.attribute_count = attributes;
    node.first_attribute = static_cast<std::uint32_t>(model.attributes.size()) - attributes;
    node.device = model.strings.intern(device);
    model.edges.insert(model.edges.end(), edges.begin(), edges.end());
    for (std::uint32_t i = 0; i < outputs; ++i) {
      auto& value = model.values.emplace_back();
      value.producer = id;
      value.index = i;
      value.type = type;
    }
    model.nodes.push_back(node);
    model.node_names.add(node.name, id);
    return id;
  }

  /// A backward node, or one that recomputes another node.
  tenon::NodeId made_from(tenon::NodeId origin, tenon::Pass pass, std::string_view name,
                          const std::vector<tenon::ValueId>& edges) {
    const bool backward = pass == tenon::Pass::backward;
    const auto& from = model.nodes[origin];
    const auto id = node(name, from.op, edges, backward ? from.input_count : from.output_count, 0);
    auto& made = model.nodes[id];
    made.pass = pass;
    made.origin = origin;
    made.input_count = static_cast<std::uint32_t>(edges.size());
    made.state_count = 0;
    if (!backward)
      made.first_attribute = model.nodes[origin].first_attribute,
      made.attribute_count = model.nodes[origin].attribute_count;
    return id;
  }

  tenon::ValueId output_of(tenon::NodeId node, std::uint32_t i = 0) const {
    return model.nodes[node].first_output + i;
  }
  void output(std::string_view name, tenon::ValueId value) {
    model.outputs.emplace_back(model.strings.intern(name), value);
  }

 private:
  void put(tenon::AttributeRecord& record, bool flag) {
    record.kind = TENON_ATTR_BOOL, record.i = flag;
  }
  void put(tenon::AttributeRecord& record, std::int64_t whole) {
    record.kind = TENON_ATTR_INT, record.i = whole;
  }
  void put(tenon::AttributeRecord& record, double real) {
    record.kind = TENON_ATTR_FLOAT, record.f = real;
  }
  void put(tenon::AttributeRecord& record, const std::string& text) {
    record.kind = TENON_ATTR_TEXT, record.i = model.strings.intern(text);
  }
  void put(tenon::AttributeRecord& record, const std::vector<std::int64_t>& list) {
    put_list(record, list, model.ints, TENON_ATTR_INTS);
  }
  void put(tenon::AttributeRecord& record, const std::vector<double>& list) {
    put_list(record, list, model.floats, TENON_ATTR_FLOATS);
  }
  void put(tenon::AttributeRecord& record, const std::vector<std::string>& list) {
    record.kind = TENON_ATTR_TEXTS;
    std::string joined;
    for (const auto& text : list) joined += text + '\0';
    record.i = model.strings.intern(joined);
  }
  void put(tenon::AttributeRecord& record, const tenon::Tensor& tensor) {
    record.kind = TENON_ATTR_TENSOR, record.first = static_cast<std::uint32_t>(model.tables.size());
    model.tables.push_back(tensor);
  }
  template <class T>
  void put_list(tenon::AttributeRecord& record, const std::vector<T>& list, std::vector<T>& to,
                std::uint32_t kind) {
    record.kind = kind;
    record.first = static_cast<std::uint32_t>(to.size());
    record.count = static_cast<std::uint32_t>(list.size());
    to.insert(to.end(), list.begin(), list.end());
  }
};

/// One of everything that a file can hold: each role, each kind of attribute, numbers that are
/// easily lost, non-ASCII names.
inline tenon::GraphModel sample_graph() {
  using namespace tenon;
  GraphMaker make;
  const auto plugin = make.plugin("shapes", "1.2.3");
  const auto norm = make.op({"norm",
                             {"data", "gamma", "beta?"},
                             {"output"},
                             {"mean", "variance"},
                             {{"epsilon", "float64"}}});
  const auto split =
      make.op({"split", {"data"}, {"part#parts"}, {}, {{"parts", "int64"}}, 3}, plugin);
  const auto odd = make.op({"odd",
                            {"data*"},
                            {"output"},
                            {},
                            {{"flag", "bool"},
                             {"whole", "int64"},
                             {"real", "float64"},
                             {"words", "text"},
                             {"wholes", "ints"},
                             {"reals", "floats"},
                             {"none", "ints"},
                             {"zero", "float64"}}},
                           plugin);
  const double not_a_number = std::bit_cast<double>(std::uint64_t{0xfff8dead0000beef});
  const auto image = make.value("image", Role::input, type_of(f32, {-1, 64}));
  const auto any = make.value("any", Role::input, unknown_type());
  const auto weight =
      make.tensor("norm_gamma", Role::variable,
                  Tensor::from<float>({1.5F, -0.0F, std::numeric_limits<float>::quiet_NaN()}, {3}));
  const auto drawn =
      make.value("drawn", Role::variable, type_of(f64, {2, 2}), {Init::Kind::normal, -0.0, 0.1});
  const auto table =
      make.tensor("größe", Role::constant, Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const auto empty = make.tensor("empty", Role::constant, Tensor::from<std::uint8_t>({}, {0, 4}));
  const auto mean =
      make.tensor("norm_mean", Role::state, Tensor::from<double>({0.5}, Shape::scalar()));
  const auto variance = make.value("norm_variance", Role::state, type_of(f32, {64}));
  make.attribute("epsilon", 1e-5);
  const auto normed = make.node("norm", norm, {image, weight, tenon::none, mean, variance}, 1, 1,
                                type_of(f32, {-1, 64}), "cpu");
  make.attribute("parts", 3);
  const auto parts =
      make.node("split", split, {make.output_of(normed)}, 3, 1, type_of(f32, {-1, -1}));
  make.attribute("flag", true);
  make.attribute("whole", std::numeric_limits<std::int64_t>::min());
  make.attribute("real", not_a_number);
  make.attribute("words", "two\nlines, ü");
  make.attribute("wholes",
                 std::vector<std::int64_t>{-1, 0, std::numeric_limits<std::int64_t>::max()});
  make.attribute("reals", std::vector<double>{-0.0, 5e-324, HUGE_VAL});
  make.attribute("none", std::vector<std::int64_t>{});
  make.attribute("zero", -0.0);
  const auto mixed =
      make.node("Ölçü", odd, {make.output_of(parts, 2), drawn, table, empty, any}, 1, 8);
  make.output("first", make.output_of(mixed));
  make.output("second", make.output_of(parts, 1));
  make.model.meta.emplace_back(make.model.strings.intern("author"),
                               make.model.strings.intern("a test"));
  make.model.extensions.push_back({"somebody's", {std::byte{0}, std::byte{255}, std::byte{7}}});
  return std::move(make.model);
}

/// The sample with a recomputed node, a backward node and an update.
inline tenon::GraphModel gradient_graph() {
  using namespace tenon;
  GraphMaker make{sample_graph()};
  const auto image = make.model.inputs[0];
  const auto weight = make.model.value_names.find(make.model.strings.find("norm_gamma"));
  make.made_from(1, Pass::recompute, "split_again", {make.output_of(0)});
  const auto back = make.made_from(0, Pass::backward, "norm_backward",
                                   {make.output_of(1), image, none, none, none});
  make.model.add_update(weight, make.output_of(back, 1));
  return std::move(make.model);
}

/// gradient_graph() in the middle of a training whose optimizer has parameters of every kind.
inline tenon::GraphModel training_graph() {
  using namespace tenon;
  auto model = gradient_graph();
  const auto id = [&](std::string_view name) {
    return model.value_names.find(model.strings.find(name));
  };
  const auto tensor = [&](Tensor values) {
    return model.tensors.push_back(std::move(values)),
           static_cast<std::uint32_t>(model.tensors.size() - 1);
  };
  auto& record = model.training.emplace();
  record.optimizer = "adam";
  record.parameters = {{"beta1", 0.9},
                       {"amsgrad", true},
                       {"every", 3},
                       {"name", "größe"},
                       {"axes", std::vector<std::int64_t>{1, -2}},
                       {"betas", std::vector<double>{-0.0, 0.999}}};
  record.step = 460;
  record.seed = ~std::uint64_t{0};
  record.epoch = 19;
  record.data_position = 128;
  record.random_step = 920;
  record.slots.push_back({"m", id("norm_gamma"), tensor(Tensor::from<float>({1, 2, -0.0F}, {3}))});
  record.slots.push_back(
      {"steps", id("norm_gamma"), tensor(Tensor::from<std::int64_t>({460}, Shape::scalar()))});
  record.slots.push_back({"m", id("drawn"), tensor(Tensor::from<double>({1, 2, 3, 4}, {2, 2}))});
  return model;
}

/// Lists of texts and small tensors as parameters of nodes and of an optimizer: each dtype, several
/// ranks, numbers that are easily lost.
inline tenon::GraphModel parameters_graph() {
  using namespace tenon;
  GraphMaker make;
  const auto filter = make.op({"filter",
                               {"x"},
                               {"y"},
                               {},
                               {{"names", "texts"},
                                {"none", "texts"},
                                {"taps", "tensor float32"},
                                {"exact", "tensor float64"},
                                {"sizes", "tensor int32"},
                                {"wide", "tensor int64"}}});
  const auto single = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto x = make.value("x", Role::input, type_of(f32, {4}));
  make.attribute("names", std::vector<std::string>{"a", "", "größe"});
  make.attribute("none", std::vector<std::string>{});
  // two quiet NaNs and two signaling ones
  make.attribute("taps",
                 Tensor::from<float>({-0.0F, 1e-45F, single(0x7fc00001), single(0xffc12345),
                                      single(0x7f800001), single(0xffbfffff), HUGE_VALF, 0.1F},
                                     {2, 2, 2}));
  make.attribute(
      "exact", Tensor::from<double>(
                   {std::bit_cast<double>(std::uint64_t{0xfff0dead0000beef}), -0.0, 5e-324}, {3}));
  make.attribute("sizes", Tensor::from<std::int32_t>({std::numeric_limits<std::int32_t>::min()},
                                                     Shape::scalar()));
  make.attribute("wide", Tensor::from<std::int64_t>({most, -most - 1}, {1, 2}));
  const auto first = make.node("first", filter, {x}, 1, 6);
  make.attribute("names", std::vector<std::string>{""});
  make.attribute("none", std::vector<std::string>{});
  make.attribute("taps", Tensor::zeros(f32, {0}));
  make.attribute("exact", Tensor::zeros(f64, {0, 3}));
  make.attribute("sizes", Tensor::zeros(i32, {65536}));
  make.attribute("wide", Tensor::from<std::int64_t>({7}, {1, 1, 1, 1, 1, 1, 1, 1}));
  make.output("y", make.output_of(make.node("second", filter, {make.output_of(first)}, 1, 6)));
  auto& training = make.model.training.emplace();
  training.optimizer = "sgd";
  training.parameters = {{"groups", {"norm", "größe"}},
                         {"rates", Tensor::from<float>({0.1F, -0.0F}, {2, 1})},
                         {"after", 3}};
  return std::move(make.model);
}

/// A chain of `quadratic` nodes with three parameters and a name each.
inline tenon::GraphModel chain_graph(std::uint32_t nodes) {
  using namespace tenon;
  GraphMaker make;
  const auto plugin = make.plugin("elementwise", "1.0.0");
  const auto op = make.op({"quadratic",
                           {"data"},
                           {"output"},
                           {},
                           {{"a", "float32"}, {"b", "float32"}, {"c", "float32"}}},
                          plugin);
  auto last = make.value("x", Role::input, type_of(f32, {-1, 64}));
  for (std::uint32_t i = 0; i < nodes; ++i) {
    make.attribute("a", 0.5 + i);
    make.attribute("b", 1.0);
    make.attribute("c", 0.25);
    last = make.output_of(
        make.node("quadratic_" + std::to_string(i), op, {last}, 1, 3, type_of(f32, {-1, 64})));
  }
  make.output("y", last);
  return std::move(make.model);
}

/// Sparse tensors in every role, with both index dtypes, some without stored elements, and one more
/// in a training slot.
inline tenon::GraphModel sparse_graph() {
  using namespace tenon;
  GraphMaker make;
  const auto list = [](const std::vector<std::int64_t>& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
  };
  const auto list32 = [](const std::vector<std::int32_t>& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
  };
  // 1.5 0 -2
  // 0 0 0
  // 0 0.25 0
  make.tensor("words", Role::constant,
              Tensor::csr(Tensor::from<float>({1.5F, -2, 0.25F}, {3}), list({0, 2, 1}),
                          list({0, 2, 2, 3}), {3, 3}));
  make.tensor("small", Role::constant,
              Tensor::csr(Tensor::from<double>({7}, {1}), list32({4}), list32({0, 0, 1}), {2, 5}));
  make.tensor("nothing", Role::constant,
              Tensor::csr(Tensor::zeros(i8, {0}), list32({}), list32({0}), {0, 4}));
  const auto weight = make.tensor(
      "weight", Role::variable,
      Tensor::row_sparse(Tensor::from<float>({1, 2, 3, 4}, {2, 2}), list({1, 4}), {6, 2}));
  make.tensor("rows", Role::variable,
              Tensor::row_sparse(Tensor::from<std::int64_t>({9, -9}, {2}), list32({0, 2}), {3}));
  make.tensor("dense", Role::variable, Tensor::from<float>({1, 2}, {2}));
  make.tensor("seen", Role::constant,
              Tensor::row_sparse(Tensor::zeros(f32, {0, 2, 2}), list({}), {5, 2, 2}));
  make.value("later", Role::variable,
             type_of(Tensor::row_sparse(Tensor::zeros(f16, {0, 3}), list({}), {4, 3})));
  make.output("weight", weight);
  auto& training = make.model.training.emplace();
  training.optimizer = "sgd";
  make.model.tensors.push_back(
      Tensor::row_sparse(Tensor::from<float>({5, 6}, {1, 2}), list({4}), {6, 2}));
  training.slots.push_back(
      {"momentum", weight, static_cast<std::uint32_t>(make.model.tensors.size() - 1)});
  return std::move(make.model);
}
