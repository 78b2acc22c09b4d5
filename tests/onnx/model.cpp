// Every field that is read, from hand-written bytes.
#include "onnx/model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;
using tenon::onnx::List;
namespace proto = tenon::onnx::proto;

TEST_CASE("read_model: fields of a model") {
  const auto model = read(sample().bytes());
  CHECK(model.ir_version == 8);
  CHECK(model.producer_name == "tests");
  CHECK(model.producer_version == "1.0");
  CHECK(model.opset("") == 17);
  CHECK(model.opset("my.ops") == 2);
  CHECK(model.opset("none") == 0);
  const auto& graph = model.graph;
  CHECK(graph.name == "graph");
  REQUIRE(graph.nodes.size() == 4);
  REQUIRE(graph.inputs.size() == 3);
  const auto& x = *graph.inputs[0].type;
  CHECK(x.kind == proto::TypeKind::tensor);
  CHECK(x.dtype == 1);
  REQUIRE(x.dims.size() == 3);
  CHECK(x.dims[0].name == "N");
  CHECK(x.dims[0].size == -1);
  CHECK(x.dims[1].size == 3);
  CHECK(x.dims[2].name.empty());
  CHECK(graph.inputs[1].type->has_shape);
  CHECK(graph.outputs[1].name == "z");
  REQUIRE(graph.initializers.size() == 2);
  CHECK(graph.initializers[0].data == proto::TensorData::raw);
  CHECK(graph.initializers[0].bytes.size() == 8);
  CHECK(graph.initializers[1].data == proto::TensorData::typed);
  REQUIRE(graph.sparse_initializers.size() == 1);
  CHECK(graph.sparse_initializers[0].values->name == "s");
  CHECK(graph.sparse_initializers[0].dims[1] == 2);
}

TEST_CASE("read_model: nodes, and attributes of every kind") {
  const auto model = read(sample().bytes());
  const auto& conv = model.graph.nodes[0];
  CHECK(conv.name == "conv");
  CHECK(conv.type == "Conv");
  REQUIRE(conv.inputs.size() == 3);
  CHECK(conv.inputs[2].empty());
  CHECK(std::get<std::int64_t>(conv.attributes[0].value) == 1);
  const auto pads = std::get<List<std::int64_t>>(conv.attributes[1].value);
  REQUIRE(pads.size() == 3);
  CHECK(pads[1] == -1);
  CHECK(pads[2] == 300);
  const auto* const branch =
      std::get<const proto::Graph*>(model.graph.nodes[1].attributes[0].value);
  CHECK(branch->nodes[0].type == "Identity");
  const auto& odd = model.graph.nodes[2];
  CHECK(odd.domain == "my.ops");
  CHECK(odd.outputs[1].empty());
  REQUIRE(odd.attributes.size() == 7);
  CHECK(std::get<float>(odd.attributes[0].value) == 0.5F);
  CHECK(std::get<std::string_view>(odd.attributes[1].value) == "text");
  CHECK(std::get<const proto::Tensor*>(odd.attributes[2].value)->dims[0] == 2);
  CHECK(std::get<List<float>>(odd.attributes[3].value)[1] == 2.5F);
  CHECK(std::get<List<std::string_view>>(odd.attributes[4].value)[1] == "q");
  CHECK(std::get<List<proto::Tensor>>(odd.attributes[5].value).size() == 2);
  CHECK(std::get<const proto::Type*>(odd.attributes[6].value)->dtype == 7);
  for (const auto& attribute : odd.attributes)
    CHECK(attribute.value.index() == static_cast<std::size_t>(attribute.kind));
}

TEST_CASE("read_model: functions and their callers") {
  const auto model = read(sample().bytes());
  const auto* const twice = model.function("local", "Twice", "");
  REQUIRE(twice != nullptr);
  CHECK(model.function("local", "Twice", "other") == nullptr);
  CHECK(model.function("", "Twice", "") == nullptr);
  CHECK(twice->inputs[0] == "a");
  CHECK(twice->attributes[0] == "k");
  CHECK(std::get<std::int64_t>(twice->attribute_defaults[0].value) == 5);
  const auto& axis = twice->nodes[0].attributes[0];
  CHECK(axis.ref_attr_name == "k");
  CHECK(axis.kind == proto::AttributeKind::i);
  CHECK(axis.value.index() == 0);
  CHECK(twice->opset_imports[0].version == 17);

  std::string uses;
  for (const auto& use : tenon::onnx::operators_of(model))
    uses += fmt::format("{}::{} {}, ", use.first->domain, use.first->type, use.count);
  CHECK(uses == "::Add 1, ::Conv 1, ::Identity 2, ::If 1, local::Twice 1, my.ops::Odd 1, ");
}

TEST_CASE("read_model: types of values other than tensors") {
  const auto wrap = [](std::uint32_t kind, const std::string& element) {
    return message([&](auto& to) {
      to.add_message(kind, message([&](auto& inner) { inner.add_message(1, element); }));
    });
  };
  const auto map = message([&](auto& to) {
    to.add_message(5, message([&](auto& inner) {
                     inner.add_int32(1, 8);
                     inner.add_message(2, tensor_type(1, {}));
                   }));
  });
  ModelFields fields;
  fields.graph.inputs = {value("s", wrap(4, tensor_type(7, {{5}}))),
                         value("o", wrap(9, wrap(4, tensor_type(1, {})))), value("m", map),
                         message([](auto& to) { to.add_string(1, "untyped"); })};
  const auto model = read(fields.bytes());
  const auto& inputs = model.graph.inputs;
  CHECK(inputs[0].type->kind == proto::TypeKind::sequence);
  CHECK(inputs[0].type->element->dims[0].size == 5);
  CHECK(inputs[1].type->kind == proto::TypeKind::optional);
  CHECK(inputs[1].type->element->kind == proto::TypeKind::sequence);
  CHECK(inputs[2].type->kind == proto::TypeKind::map);
  CHECK(inputs[2].type->dtype == 8);
  CHECK(inputs[2].type->element->dtype == 1);
  CHECK(inputs[3].type == nullptr);
}

TEST_CASE(
    "read_model: protobuf allows any field order, unknown and repeated fields, unpacked numbers") {
  const auto unknown_field = message([](auto& to) {
    to.add_int64(100, 5);
    to.add_fixed64(101, 5);
    to.add_fixed32(102, 5);
    to.add_string(103, "new");
  });
  const auto node =
      message([](auto& to) { to.add_string(4, "First"); }) + unknown_field + message([](auto& to) {
        to.add_string(4, "Add");
        to.add_string(2, "y");
        to.add_message(5, message([](auto& list) {
                         list.add_int32(20, 7);
                         list.add_int64(8, 4);
                         list.add_int64(8, 5);
                         list.add_string(1, "axes");
                       }));
      });
  const auto bytes = message([&](auto& to) {
    to.add_message(8, opset("ai.onnx", 13));
    to.add_message(7, message([&](auto& graph) { graph.add_message(1, node); }) + unknown_field);
    to.add_int64(1, 7);
  });
  const auto model = read(bytes + unknown_field);
  CHECK(model.opset("") == 13);
  CHECK(model.graph.nodes[0].type == "Add");
  const auto axes = std::get<List<std::int64_t>>(model.graph.nodes[0].attributes[0].value);
  REQUIRE(axes.size() == 2);
  CHECK(axes[1] == 5);
}

TEST_CASE("read_model: a mapped file is used in place") {
  const TemporaryFolder folder;
  write_bytes(folder / "m.onnx", sample().bytes());
  const auto model = tenon::onnx::read_model(folder / "m.onnx", 0);
  CHECK(model.may_change);
  CHECK(model.graph.nodes.size() == 4);
  CHECK(model.graph.initializers[0].bytes.data() > model.bytes.data());
}
