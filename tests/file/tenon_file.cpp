// .tenon files round-trip byte by byte.
#include "file/tenon/tenon_file.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "../temporary_folder.hpp"
#include "file/tenon/layout.hpp"
#include "forged_file.hpp"
#include "same_graph.hpp"
#include "sample_graph.hpp"

using namespace tenon;

TEST_CASE("a graph is read back from its file unchanged") {
  const TemporaryFolder folder;
  const auto graphs = {sample_graph(),     gradient_graph(), training_graph(),  sparse_graph(),
                       parameters_graph(), chain_graph(1),   chain_graph(1000), GraphModel()};
  for (const auto& graph : graphs) {
    write_tenon(graph, folder / "graph.tenon");
    const auto loaded = read_tenon(folder / "graph.tenon", FileCheck::everything);
    CHECK(outline_of(loaded) == outline_of(graph));
  }
}

TEST_CASE(
    "a file declares its features: gradients or updates, sparse tensors, parameters of 0.2, the "
    "training state") {
  const auto features = [](const GraphModel& graph) {
    auto sections = FileSections::of(graph);
    std::string found;
    sections.change([&](format::ModelT& model) {
      for (const auto name : model.required_features)
        found += (found.empty() ? "" : " ") + model.strings[name];
    });
    return found;
  };
  auto only_gradient = gradient_graph(), only_update = sample_graph();
  only_update.updates = {{only_gradient.updates[0].first, only_update.nodes[0].first_output}};
  only_gradient.updates.clear();
  CHECK(features(sample_graph()) == "");
  CHECK(features(gradient_graph()) == "gradient");
  CHECK(features(only_gradient) == "gradient");
  CHECK(features(only_update) == "gradient");
  CHECK(features(training_graph()) == "gradient training");
  CHECK(features(sparse_graph()) == "training sparse");
  auto only_training = sample_graph(), only_nodes = parameters_graph();
  only_training.training = only_nodes.training;
  only_nodes.training.reset();
  CHECK(features(parameters_graph()) == "training parameters");
  CHECK(features(only_nodes) == "parameters");
  CHECK(features(only_training) == "training parameters");
  auto in_micro_batches = training_graph();
  in_micro_batches.training->micro_batches = 8;
  CHECK(features(in_micro_batches) == "gradient training lanes");
}

TEST_CASE("loading and saving gives the same bytes, without any plugin") {
  const TemporaryFolder folder;
  auto in_micro_batches = training_graph();
  in_micro_batches.training->micro_batches = 8;
  for (const auto& graph : {sample_graph(), gradient_graph(), training_graph(), sparse_graph(),
                            parameters_graph(), in_micro_batches}) {
    write_tenon(graph, folder / "first.tenon");
    const auto read = read_tenon(folder / "first.tenon");
    if (graph.training) CHECK(read.training->micro_batches == graph.training->micro_batches);
    write_tenon(read, folder / "second.tenon");
    CHECK(read_bytes(folder / "first.tenon") == read_bytes(folder / "second.tenon"));
  }
}

TEST_CASE("the bytes depend on the graph, not on how it was built") {
  const TemporaryFolder folder;
  auto graph = sample_graph();
  write_tenon(graph, folder / "first.tenon");

  GraphModel other = sample_graph();
  other.strings = Strings();  // the same texts with other ids, and some unused ones
  other.strings.intern("unused");
  const auto move = [&](StringId& id) { id = other.strings.intern(graph.strings[id]); };
  for (auto node = other.nodes.rbegin(); node != other.nodes.rend(); ++node)
    move(node->name), move(node->device);
  for (auto& value : other.values) move(value.name);
  for (auto& attribute : other.attributes) {
    move(attribute.name);
    if (attribute.kind == TENON_ATTR_TEXT)
      attribute.i = other.strings.intern(graph.strings[static_cast<StringId>(attribute.i)]);
  }
  for (auto& output : other.outputs) move(output.first);
  for (auto& note : other.meta) move(note.first), move(note.second);
  other.operators.push_back(other.operators[0]);
  std::swap(other.operators[0], other.operators[2]);
  for (auto& node : other.nodes) node.op = node.op == 0 ? 2 : node.op == 2 ? 0 : node.op;
  other.tensors.push_back(Tensor::zeros(f32, {3}));
  write_tenon(other, folder / "second.tenon");
  CHECK(read_bytes(folder / "first.tenon") == read_bytes(folder / "second.tenon"));
}

TEST_CASE(
    "tensors are at multiples of 64 bytes, from a multiple of 64 KiB on, and are the file's own "
    "pages") {
  const TemporaryFolder folder;
  write_tenon(sample_graph(), folder / "graph.tenon");
  const auto bytes = read_bytes(folder / "graph.tenon");
  const auto header = layout::decode(std::as_bytes(std::span(bytes)), "graph.tenon");
  CHECK(header.data_offset % 65536 == 0);
  CHECK(header.file_size == bytes.size());
  auto loaded = read_tenon(folder / "graph.tenon");
  for (const auto& tensor : loaded.tensors)
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
  loaded.tensors[0].values<float>()[0] = 7;
  CHECK(read_bytes(folder / "graph.tenon") == bytes);
}

TEST_CASE("data that only training needs follows all data that inference needs") {
  const TemporaryFolder folder;
  write_tenon(training_graph(), folder / "graph.tenon");
  const auto bytes = read_bytes(folder / "graph.tenon");
  const auto header = layout::decode(std::as_bytes(std::span(bytes)), "graph.tenon");
  CHECK(header.file_size == header.data_offset + 65536 + 128 + 32);  // slots of 12, 8 and 32 bytes
  const auto loaded = read_tenon(folder / "graph.tenon");
  CHECK(loaded.training->slots.at(2).variable ==
        loaded.value_names.find(loaded.strings.find("drawn")));
  CHECK(same_bits(loaded.tensors.at(loaded.training->slots.at(1).tensor),
                  Tensor::from<std::int64_t>({460}, Shape::scalar())));
}

TEST_CASE("tensors outlive the graph they were read with") {
  const TemporaryFolder folder;
  write_tenon(sample_graph(), folder / "graph.tenon");
  const auto tensor = read_tenon(folder / "graph.tenon").tensors.at(0);
  CHECK(tensor.values<float>()[0] == 1.5F);
}

TEST_CASE("a graph is saved over the file that its tensors are mapped from") {
  const TemporaryFolder folder;
  write_tenon(sample_graph(), folder / "graph.tenon");
  const auto before = read_bytes(folder / "graph.tenon");
  const auto loaded = read_tenon(folder / "graph.tenon");
  write_tenon(loaded, folder / "graph.tenon");
  CHECK(read_bytes(folder / "graph.tenon") == before);
  CHECK(loaded.tensors[0].values<float>()[0] == 1.5F);
}

TEST_CASE("strided tensors are written row by row") {
  const TemporaryFolder folder;
  GraphMaker make;
  auto whole = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const std::int64_t strides[] = {1, 2};
  make.tensor("transposed", Role::constant,
              Tensor::borrow(whole.data(), f32, {2, 3}, strides, std::make_shared<Tensor>(whole)));
  write_tenon(make.model, folder / "graph.tenon");
  const auto loaded = read_tenon(folder / "graph.tenon");
  CHECK(same_bits(loaded.tensors.at(0), Tensor::from<float>({1, 3, 5, 2, 4, 6}, {2, 3})));
}

TEST_CASE("a chain of 10,000 named nodes with three parameters takes at most 250 bytes per node") {
  const TemporaryFolder folder;
  write_tenon(chain_graph(10000), folder / "chain.tenon");
  CHECK(std::filesystem::file_size(folder / "chain.tenon") <= 10000 * 250);
}
