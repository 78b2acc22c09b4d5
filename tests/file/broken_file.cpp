// Files with a single fault each, and their error messages.
#include <doctest/doctest.h>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "forged_file.hpp"
#include "sample_graph.hpp"

using namespace tenon;

namespace {

/// The message of opening the bytes, without the path.
std::string sentence(const std::string& bytes, FileCheck check = FileCheck::structure) {
  const auto failure = failure_of([&] { read_forged(bytes, check); });
  if (failure.kind == 0) return "";
  CHECK(failure.kind == static_cast<int>(FailureKind::file));
  CHECK(failure.message.starts_with("forged.tenon: "));
  return failure.message.substr(14);
}

struct Case {
  const char* sentence;
  std::function<void(format::ModelT&)> change;
};

void check_all(const std::vector<Case>& cases, const GraphModel& graph = sample_graph()) {
  const auto sound = FileSections::of(graph);
  for (const auto& wrong : cases) {
    auto sections = sound;
    sections.change(wrong.change);
    CHECK(sentence(sections.bytes()) == std::string(wrong.sentence));
  }
}

std::string with_header(const layout::Header& header, const std::string& rest) {
  const auto bytes = layout::encode(header);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + rest;
}

}  // namespace

TEST_CASE("an unchanged file opens, and so does one that was only packed again") {
  auto sections = FileSections::of(sample_graph());
  CHECK(sentence(sections.bytes(), FileCheck::everything) == "");
  sections.change([](auto&) {});
  CHECK(sentence(sections.bytes(), FileCheck::everything) == "");
}

TEST_CASE("a file that is not a .tenon file") {
  const auto sound = FileSections::of(sample_graph()).bytes();
  auto unix_ends = sound, other_version = sound, damaged = sound;
  unix_ends.erase(6, 1);
  other_version[8] = 2;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  const struct {
    std::string bytes;
    const char* sentence;
  } cases[] = {
      {"", "the file is empty, but a .tenon file has at least 64 bytes"},
      {"PK\x03\x04", "this is not a .tenon file: its signature is wrong"},
      {"{\"tenon\": 1}", "this is a text file, perhaps a graph.json, and not a .tenon file"},
      {unix_ends,
       "the signature of the .tenon file was damaged by a text-mode transfer; copy the file again "
       "in binary mode"},
      {sound.substr(0, 40), "the file ends after 40 bytes, inside its header of 64"},
      {other_version,
       "the file has layout version 2, but this version of Tenon reads 1; a newer version may read "
       "it"},
      {damaged, "the header is damaged: its checksum does not match"},
  };
  for (const auto& wrong : cases) CHECK(sentence(wrong.bytes) == std::string(wrong.sentence));
}

TEST_CASE("a header that does not match the file") {
  CHECK(sentence(with_header({0, 0, 0, 100}, "")) ==
        "the file has 64 bytes, but its header says 100: it was truncated");
  CHECK(sentence(with_header({0, 0, 0, 64}, "x")) ==
        "the file has 65 bytes, but its header says 64: it was extended");
  CHECK(sentence(with_header({9, 0, 0, 68}, "1234")) ==
        "the header says 9 bytes of metadata, which the file of 68 cannot hold");
  CHECK(sentence(with_header({~0ULL, 0, 0, 68}, "1234")) ==
        "the header says 18446744073709551615 bytes of metadata, which the file of 68 cannot hold");
  CHECK(sentence(with_header({4, 0, 100, 68}, "1234")) ==
        "the header says that the data begins at byte 100, but the metadata ends at 68");
  CHECK(sentence(with_header({2, 0, 0, 68}, "1234")) ==
        "the header says that the data begins at byte 0, but the metadata ends at 66");
}

TEST_CASE("damaged metadata") {
  auto sections = FileSections::of(sample_graph());
  auto damaged = sections.bytes();
  damaged[200] = static_cast<char>(damaged[200] ^ 1);
  CHECK(sentence(damaged) == "the metadata is damaged: its checksum does not match");
  std::memset(sections.metadata.data(), 0x7f, 4);
  CHECK(sentence(sections.bytes()) ==
        "the metadata is not a valid FlatBuffer: an offset or a length points outside it");
  CHECK(sentence(with_header({0, layout::checksum({}), 0, 64}, "")) ==
        "the metadata is not a valid FlatBuffer: an offset or a length points outside it");
}

TEST_CASE("files of newer programs are refused, not misread") {
  check_all({
      {"it has format 2, written by tenon " TENON_VERSION
       ", but this version of Tenon reads format 1",
       [](auto& m) { m.format = 2; }},
      {"it needs the feature 'author', which this version of Tenon does not support; it was "
       "written by tenon " TENON_VERSION,
       [](auto& m) { m.required_features = {m.meta[0]->key}; }},
      {"it has a training state but does not declare it",
       [](auto& m) { m.training = std::make_unique<format::TrainingStateT>(); }},
      {"it holds 0 graphs, but this version of Tenon reads files with one",
       [](auto& m) { m.graphs.clear(); }},
      {"it holds 2 graphs, but this version of Tenon reads files with one",
       [](auto& m) { m.graphs.push_back(std::make_unique<format::GraphT>()); }},
      {"its graph is nested in another one, which is missing",
       [](auto& m) { m.graphs[0]->parent = 0; }},
      {"its graph is nested in another one, which is missing",
       [](auto& m) { m.graphs[0]->captures = {0}; }},
  });
}

TEST_CASE("broken texts") {
  check_all({
      {"type 0 has 2 dimensions but 3 dimension names",
       [](auto& m) {
         m.types[0]->dim_names = {1, 2, 3};
       }},
      {"a name of a dimension of type 0 is index 99, but there are 35",
       [](auto& m) {
         m.types[0]->dim_names = {0, 99};
       }},
      {"text 0 must be the empty text", [](auto& m) { m.strings.clear(); }},
      {"text 0 must be the empty text", [](auto& m) { m.strings[0] = "x"; }},
      {"text 3, '\\xc0\\xaf', is not UTF-8", [](auto& m) { m.strings[3] = "\xc0\xaf"; }},
      {"text 4, 'a', occurs twice", [](auto& m) { m.strings[3] = m.strings[4] = "a"; }},
      {"the producer is index 99, but there are 42",
       [](auto& m) {
         m.producer = 99;
         m.strings.resize(42);
         for (int i = 1; i < 42; ++i) m.strings[static_cast<std::size_t>(i)] = std::to_string(i);
       }},
      {"required feature 0 is index 9999, but there are 35",
       [](auto& m) { m.required_features = {9999}; }},
      {"the key of note 0 is index 9999, but there are 35", [](auto& m) { m.meta[0]->key = 9999; }},
      {"the text of note 0 is index 9999, but there are 35",
       [](auto& m) { m.meta[0]->value = 9999; }},
      {"the name of extension 0 is index 9999, but there are 35",
       [](auto& m) { m.extensions[0]->name = 9999; }},
  });
}

TEST_CASE("broken types") {
  check_all({
      {"type 0 has 9 dimensions, but at most 8 are allowed",
       [](auto& m) { m.types[0]->dims.resize(9); }},
      {"type 0 has 2 dimensions, but declares an unknown rank",
       [](auto& m) { m.types[0]->unranked = true; }},
      {"type 0: unknown dtype 25", [](auto& m) { m.types[0]->dtype = format::DType(25); }},
      {"type 0: unknown storage 3", [](auto& m) { m.types[0]->storage = format::Storage(3); }},
      {"type 0 has a dimension below -1 (unknown)", [](auto& m) { m.types[0]->dims = {-2}; }},
      {"type 0, float32 [4611686018427387904, 1], has a byte count beyond 64 bits",
       [](auto& m) {
         m.types[0]->dims = {std::int64_t{1} << 62, -1};
       }},
      {"type 0, float32 [4294967296, 4294967296], has a byte count beyond 64 bits",
       [](auto& m) {
         m.types[0]->dims = {std::int64_t{1} << 32, std::int64_t{1} << 32};
       }},
  });
}

TEST_CASE("broken segments, buffers and tensors") {
  check_all({
      {"the purpose of segment 0 is index 9999, but there are 35",
       [](auto& m) { m.segments[0]->purpose = 9999; }},
      {"segment 0 begins at byte 64 of the data, not at a multiple of 65536",
       [](auto& m) { m.segments[0]->offset = 64; }},
      {"segment 0 has 136 bytes at byte 65536 of the data, which has 136 bytes",
       [](auto& m) { m.segments[0]->offset = 65536; }},
      {"segment 0 has 18446744073709551615 bytes at byte 0 of the data, which has 136 bytes",
       [](auto& m) { m.segments[0]->size = ~0ULL; }},
      {"the data has 136 bytes, but the segments end at byte 135",
       [](auto& m) { m.segments[0]->size = 135; }},
      {"segment 1 begins at byte 0 of the data, before the previous one ends at 136",
       [](auto& m) { m.segments.push_back(std::make_unique<format::SegmentT>()); }},
      {"the segment of buffer 1 is index 1, but there are 1",
       [](auto& m) { m.buffers[1]->segment = 1; }},
      {"buffer 1 begins at byte 0 of segment 0, before the previous one ends",
       [](auto& m) { m.buffers[1]->offset = 0; }},
      {"buffer 1 begins at byte 65, not at a multiple of 64",
       [](auto& m) { m.buffers[1]->offset = 65; }},
      {"buffer 3 has 8 bytes at byte 18446744073709551552 of segment 0, which has 136 bytes",
       [](auto& m) { m.buffers[3]->offset = ~0ULL - 63; }},
      {"buffer 3 has 64 bytes at byte 128 of segment 0, which has 136 bytes",
       [](auto& m) { m.buffers[3]->size = 64; }},
      {"the type of tensor 1 is index 99, but there are 9",
       [](auto& m) { m.tensors[1]->type = 99; }},
      {"tensor 0 is float32 [?, 64], but a tensor's type must be fully known",
       [](auto& m) { m.tensors[0]->type = 0; }},
      {"the buffer of tensor 0's values is index 4, but there are 4",
       [](auto& m) { m.tensors[0]->values = 4; }},
      {"buffer 0 belongs to two tensors; the second is tensor 1",
       [](auto& m) { m.tensors[1]->values = 0; }},
      {"tensor 0, float32 [3], has a buffer of 11 bytes for its values but needs 12",
       [](auto& m) { m.buffers[0]->size = 11; }},
      {"tensor 0 is dense, but has the indices of a sparse one",
       [](auto& m) { m.tensors[0]->indices = 1; }},
      {"tensor 0 is dense, but has the indices of a sparse one",
       [](auto& m) { m.tensors[0]->stored = 1; }},
  });
}

TEST_CASE("broken operators and plugins") {
  check_all({
      {"the name of plugin 0 is index 9999, but there are 35",
       [](auto& m) { m.plugins[0]->name = 9999; }},
      {"the version of plugin 0 is index 9999, but there are 35",
       [](auto& m) { m.plugins[0]->version = 9999; }},
      {"plugin 0 has control characters in its name",
       [](auto& m) { m.strings[m.plugins[0]->name] = "\n"; }},
      {"its plugins are longer than the file in total",
       [](auto& m) {
         m.strings[m.plugins[0]->name] = std::string(1000, 'x');
         for (int i = 0; i < 20; ++i)
           m.plugins.push_back(std::make_unique<format::PluginT>(*m.plugins[0]));
       }},
      {"the name of operator 0 is index 9999, but there are 35",
       [](auto& m) { m.operators[0]->name = 9999; }},
      {"operator 1: the name 'norm' occurs twice",
       [](auto& m) { m.operators[1]->name = m.operators[0]->name; }},
      {"the space of operator 0 is index 9999, but there are 35",
       [](auto& m) { m.operators[0]->space = 9999; }},
      {"operator 0: 'te.non' is not a valid namespace",
       [](auto& m) {
         m.strings.push_back("te.non");
         m.operators[0]->space = static_cast<std::uint32_t>(m.strings.size() - 1);
       }},
      {"operator 0: '' is not a valid name", [](auto& m) { m.operators[0]->name = 0; }},
      {"operator 'norm' has no manifest", [](auto& m) { m.operators[0]->manifest.clear(); }},
      {"operator 'norm' version 1 has the manifest of 'split' version 3",
       [](auto& m) { m.operators[0]->manifest = m.operators[1]->manifest; }},
      {"operator 'norm' version 2 has the manifest of 'norm' version 1",
       [](auto& m) { m.operators[0]->version = 2; }},
      {"the plugin of operator 'norm' is index 1, but there are 1",
       [](auto& m) { m.operators[0]->plugin = 1; }},
  });
  auto sections = FileSections::of(sample_graph());
  sections.change([](auto& m) { m.operators[0]->manifest.pop_back(); });
  CHECK(sentence(sections.bytes()).starts_with("operator 'norm': its manifest is broken: "));
}

TEST_CASE("extensions that share their bytes cannot make a small file large in memory") {
  auto sections = FileSections::of(GraphModel());
  sections.change([](auto& m) {
    for (int i = 0; i < 3; ++i) m.extensions.push_back(std::make_unique<format::ExtensionT>());
    m.extensions[0]->content.resize(100000);
  });
  // the packer writes each vector once per table; here all tables refer to the long one
  auto* extensions = format::GetModel(sections.metadata.data())->extensions();
  auto* table = const_cast<std::uint8_t*>(extensions->Data());
  for (int i = 1; i < 3; ++i)
    flatbuffers::WriteScalar(table + 4 * i, flatbuffers::ReadScalar<std::uint32_t>(table) -
                                                4U * static_cast<unsigned>(i));
  CHECK(sentence(sections.bytes()) == "its extensions are longer than the file in total");
}

TEST_CASE("broken values") {
  check_all({
      {"its graph has no values", [](auto& m) { m.graphs[0]->values.reset(); }},
      {"column values.types has 7 entries but needs 8",
       [](auto& m) { m.graphs[0]->values->types.pop_back(); }},
      {"column values.initial_numbers has 15 entries but needs 16",
       [](auto& m) { m.graphs[0]->values->initial_numbers.pop_back(); }},
      {"the name of value 1 is index 9999, but there are 35",
       [](auto& m) { m.graphs[0]->values->names[1] = 9999; }},
      {"two values have the name 'image'",
       [](auto& m) { m.graphs[0]->values->names[1] = m.graphs[0]->values->names[0]; }},
      {"value 0 has the name ''; names are not empty and have neither colons nor control "
       "characters",
       [](auto& m) { m.graphs[0]->values->names[0] = 0; }},
      {"value 0 has the name 'a:b'; names are not empty and have neither colons nor control "
       "characters",
       [](auto& m) { m.strings[m.graphs[0]->values->names[0]] = "a:b"; }},
      {"value 0 has the name '\\x1b[31m'; names are not empty and have neither colons nor control "
       "characters",
       [](auto& m) { m.strings[m.graphs[0]->values->names[0]] = "\x1b[31m"; }},
      {"'any': unknown role 4", [](auto& m) { m.graphs[0]->values->roles[1] = format::Role(4); }},
      {"'any': unknown initializer 8",
       [](auto& m) { m.graphs[0]->values->initials[1] = format::Initial(8); }},
      {"the init of 'any' is uniform from 2 to 1 but needs two finite numbers, the first not above "
       "the second",
       [](auto& m) {
         auto& values = *m.graphs[0]->values;
         values.initials[1] = format::Initial::uniform, values.initial_numbers[2] = 2,
         values.initial_numbers[3] = 1;
       }},
      {"the init of 'any' is normal with mean 0 and standard deviation -1, but both must be finite "
       "and the deviation 0 or more",
       [](auto& m) {
         auto& values = *m.graphs[0]->values;
         values.initials[1] = format::Initial::normal, values.initial_numbers[2] = 0,
         values.initial_numbers[3] = -1;
       }},
      {"the state 'any' is row_sparse but must be dense",
       [](auto& m) {
         auto& values = *m.graphs[0]->values;
         values.roles[1] = format::Role::state,
         m.types[values.types[1]]->storage = format::Storage::row_sparse;
       }},
      {"the type of 'any' is index 99, but there are 9",
       [](auto& m) { m.graphs[0]->values->types[1] = 99; }},
      {"the tensor of 'norm_gamma' is index 4, but there are 4",
       [](auto& m) { m.graphs[0]->values->tensors[2] = 5; }},
      {"tensor 0 belongs to two values; the second is 'größe'",
       [](auto& m) { m.graphs[0]->values->tensors[4] = 1; }},
      {"the input 'image' has a tensor, but inputs are passed to each run",
       [](auto& m) { m.graphs[0]->values->tensors[0] = 1; }},
      {"'norm_gamma' is float32 [?, 64], but its tensor is float32 [3]",
       [](auto& m) { m.graphs[0]->values->types[2] = 0; }},
      {"the constant 'empty' has no tensor", [](auto& m) { m.graphs[0]->values->tensors[5] = 0; }},
  });
}

TEST_CASE("broken nodes") {
  check_all({
      {"its graph has no nodes", [](auto& m) { m.graphs[0]->nodes.reset(); }},
      {"column nodes.operators has 2 entries but needs 3",
       [](auto& m) { m.graphs[0]->nodes->operators.pop_back(); }},
      {"its nodes need 11 edges by their counts, but there are 10",
       [](auto& m) { m.graphs[0]->nodes->edges.pop_back(); }},
      {"its nodes need 4294967301 edges by their counts, but there are 11",
       [](auto& m) { m.graphs[0]->nodes->input_counts[2] = 0xffffffff; }},
      {"its nodes need 5 output types by their counts, but there are 6",
       [](auto& m) { m.graphs[0]->nodes->output_types.push_back(0); }},
      {"the name of node 0 is index 9999, but there are 35",
       [](auto& m) { m.graphs[0]->nodes->names[0] = 9999; }},
      {"two nodes or values have the name 'norm'",
       [](auto& m) { m.graphs[0]->nodes->names[1] = m.graphs[0]->nodes->names[0]; }},
      {"two nodes or values have the name 'image'",
       [](auto& m) { m.graphs[0]->nodes->names[1] = m.graphs[0]->values->names[0]; }},
      {"the operator of node 'norm' is index 3, but there are 3",
       [](auto& m) { m.graphs[0]->nodes->operators[0] = 3; }},
      {"the device of node 'norm' is index 9999, but there are 35",
       [](auto& m) { m.graphs[0]->nodes->devices[0] = 9999; }},
      {"the device of node 'norm' is 'tpu' but must be cpu, cuda or cuda:NUMBER",
       [](auto& m) {
         m.graphs[0]->nodes->devices[0] = static_cast<std::uint32_t>(m.strings.size());
         m.strings.emplace_back("tpu");
       }},
      {"node 'split' reads value 9, but only 9 values come before it",
       [](auto& m) { m.graphs[0]->nodes->edges[5] = 9; }},
      {"node 'norm' reads value 4294967295, but only 8 values come before it",
       [](auto& m) { m.graphs[0]->nodes->edges[3] = none; }},
      {"node 'norm' uses 'image' as a state, but it is not one",
       [](auto& m) { m.graphs[0]->nodes->edges[3] = 0; }},
      {"the state 'norm_mean' belongs to two nodes; the second is 'norm'",
       [](auto& m) { m.graphs[0]->nodes->edges[4] = m.graphs[0]->nodes->edges[3]; }},
      {"the type of output 0 of node 'norm' is index 99, but there are 9",
       [](auto& m) { m.graphs[0]->nodes->output_types[0] = 99; }},
      {"node 'split' has 2 inputs but the operator takes 1",
       [](auto& m) {
         auto& nodes = *m.graphs[0]->nodes;
         ++nodes.input_counts[1], --nodes.input_counts[2], nodes.edges[6] = 0;
       }},
      {"node 'split' has 2 outputs but the operator produces 3",
       [](auto& m) {
         --m.graphs[0]->nodes->output_counts[1], ++m.graphs[0]->nodes->output_counts[2];
       }},
      {"node 'split': parameter 'parts' is -1 but must be from 0 to 4096",
       [](auto& m) { m.graphs[0]->attributes->integers[0] = -1; }},
  });
}

TEST_CASE("broken backward nodes, recomputed nodes and updates") {
  const auto nodes = [](auto& m) -> auto& {
    return *m.graphs[0]->nodes;
  };
  const char* const origin =
      "the origin of node 'norm_backward' is not an earlier forward node of its operator";
  const char* const arity = "node 'norm_backward' does not match its forward node 'norm'";
  check_all(
      {
          {"node 'norm_backward' has the unknown pass 3",
           [&](auto& m) { nodes(m).passes[4] = format::Pass(3); }},
          {"node 'norm_backward' has an origin, but it is a forward node",
           [&](auto& m) { nodes(m).passes[4] = format::Pass::forward; }},
          {origin, [&](auto& m) { nodes(m).origins[4] = 0; }},
          {origin, [&](auto& m) { nodes(m).origins[4] = 5; }},
          {origin, [&](auto& m) { nodes(m).origins[4] = 2; }},
          {"the origin of node 'split_again' is not an earlier forward node of its operator",
           [&](auto& m) { nodes(m).origins[3] = 5; }},
          {arity, [&](auto& m) { nodes(m).edges.push_back(none), ++nodes(m).input_counts[4]; }},
          {arity, [&](auto& m) { nodes(m).output_types.pop_back(), --nodes(m).output_counts[4]; }},
          {"column update_values has 2 entries but needs 1",
           [](auto& m) { m.graphs[0]->update_values.push_back(0); }},
          {"'image' is updated, but it is not a variable or is updated already",
           [](auto& m) { m.graphs[0]->updated[0] = 0; }},
          {"'norm_gamma' is updated, but it is not a variable or is updated already",
           [](auto& m) {
             m.graphs[0]->updated.push_back(m.graphs[0]->updated[0]);
             m.graphs[0]->update_values.push_back(0);
           }},
          {"updated variable 0 is index 99, but there are 19",
           [](auto& m) { m.graphs[0]->updated[0] = 99; }},
          {"the value that updates variable 0 is index 99, but there are 19",
           [](auto& m) { m.graphs[0]->update_values[0] = 99; }},
      },
      gradient_graph());
}

TEST_CASE("a recomputed node with other parameters than its origin") {
  GraphMaker make{sample_graph()};
  make.attribute("parts", 2);
  auto& again =
      make.model.nodes[make.node("split_again", make.model.nodes[1].op, {make.output_of(0)}, 2, 1)];
  again.pass = Pass::recompute;
  again.origin = 1;
  check_all({{"node 'split_again' has 1 input and 2 outputs, but its origin 'split' has 1 and 3",
              [](auto&) {}}},
            make.model);
}

TEST_CASE("broken attributes") {
  check_all({
      {"its graph has no attributes", [](auto& m) { m.graphs[0]->attributes.reset(); }},
      {"column attributes.kinds has 9 entries but needs 10",
       [](auto& m) { m.graphs[0]->attributes->kinds.pop_back(); }},
      {"the attributes end before those of node 'Ölçü'",
       [](auto& m) { m.graphs[0]->nodes->attribute_counts[2] = 0xffffffff; }},
      {"it has attributes that do not belong to a node",
       [](auto& m) { m.graphs[0]->nodes->attribute_counts[2] = 7; }},
      {"it has attributes that do not belong to a node",
       [](auto& m) { m.graphs[0]->attributes->integers.push_back(0); }},
      {"the name of an attribute of node 'norm' is index 9999, but there are 35",
       [](auto& m) { m.graphs[0]->attributes->names[0] = 9999; }},
      {"attribute 'epsilon' of node 'norm' has the unknown kind 9",
       [](auto& m) { m.graphs[0]->attributes->kinds[0] = format::AttributeKind(9); }},
      {"attribute 'epsilon' of node 'norm' has the kind 7, but the file does not name "
       "\"parameters\" as a feature",
       [](auto& m) { m.graphs[0]->attributes->kinds[0] = format::AttributeKind::texts; }},
      {"attribute 'epsilon' of node 'norm' has the kind 8, but the file does not name "
       "\"parameters\" as a feature",
       [](auto& m) { m.graphs[0]->attributes->kinds[0] = format::AttributeKind::tensor; }},
      {"attribute 'epsilon' of node 'norm' has the unknown kind 0",
       [](auto& m) { m.graphs[0]->attributes->kinds[0] = format::AttributeKind(0); }},
      {"attribute 'flag' of node 'Ölçü' is 2 but must be 0 or 1",
       [](auto& m) { m.graphs[0]->attributes->integers[1] = 2; }},
      {"attribute 'words' of node 'Ölçü' is text -1, but there are 35",
       [](auto& m) { m.graphs[0]->attributes->integers[3] = -1; }},
      {"attribute 'words' of node 'Ölçü' is text 35, but there are 35",
       [](auto& m) { m.graphs[0]->attributes->integers[3] = 35; }},
      {"the attributes' lists end before those of node 'Ölçü'",
       [](auto& m) { m.graphs[0]->attributes->integers[4] = 9; }},
      {"the attributes' lists end before those of node 'Ölçü'",
       [](auto& m) { m.graphs[0]->attributes->integers[4] = -1; }},
      {"the attributes' integers end before those of node 'Ölçü'",
       [](auto& m) { m.graphs[0]->attributes->integers.resize(2); }},
      {"the attributes' reals end before those of node 'Ölçü'",
       [](auto& m) { m.graphs[0]->attributes->reals.resize(1); }},
      {"attribute 'flag' of node 'Ölçü' occurs twice",
       [](auto& m) { m.graphs[0]->attributes->names[3] = m.graphs[0]->attributes->names[2]; }},
  });
}

TEST_CASE("broken outputs") {
  check_all({
      {"the name of output 0 is index 9999, but there are 35",
       [](auto& m) { m.graphs[0]->output_names[0] = 9999; }},
      {"output 0 has the name ''; names are not empty and have neither colons nor control "
       "characters",
       [](auto& m) { m.graphs[0]->output_names[0] = 0; }},
      {"two outputs have the name 'first'",
       [](auto& m) { m.graphs[0]->output_names[1] = m.graphs[0]->output_names[0]; }},
      {"column output_values has 1 entry but needs 2",
       [](auto& m) { m.graphs[0]->output_values.pop_back(); }},
      {"the value of output 'first' is index 13, but there are 13",
       [](auto& m) { m.graphs[0]->output_values[0] = 13; }},
      {"the graph's name is index 9999, but there are 35",
       [](auto& m) { m.graphs[0]->name = 9999; }},
  });
}

TEST_CASE("broken training state") {
  check_all(
      {
          {"it declares a training state but has none", [](auto& m) { m.training.reset(); }},
          {"it has a training state but does not declare it",
           [](auto& m) { m.required_features.clear(); }},
          {"it needs the feature 'training', which this version of Tenon does not support; it was "
           "written by tenon " TENON_VERSION,
           [](auto& m) { m.required_features.push_back(m.required_features[1]); }},
          {"its training has 0 micro-batches but needs at least 1",
           [](auto& m) { m.training->micro_batches = 0; }},
          {"its training has 8 micro-batches, but the file does not name \"lanes\" as a feature",
           [](auto& m) { m.training->micro_batches = 8; }},
          {"the name of the optimizer of its training is index 9999, but there are 48",
           [](auto& m) { m.training->optimizer = 9999; }},
          {"the optimizer of its training: '' is not a valid name",
           [](auto& m) { m.training->optimizer = 0; }},
          {"the optimizer of its training has no attributes",
           [](auto& m) { m.training->parameters.reset(); }},
          {"attribute 'beta1' of optimizer 'adam' has the unknown kind 9",
           [](auto& m) { m.training->parameters->kinds[0] = format::AttributeKind(9); }},
          {"attribute 'amsgrad' of optimizer 'adam' is 2 but must be 0 or 1",
           [](auto& m) { m.training->parameters->integers[0] = 2; }},
          {"attribute 'amsgrad' of optimizer 'adam' occurs twice",
           [](auto& m) { m.training->parameters->names[4] = m.training->parameters->names[1]; }},
          {"the attributes' lists end before those of optimizer 'adam'",
           [](auto& m) { m.training->parameters->integers[3] = 99; }},
          {"the attributes' reals end before those of optimizer 'adam'",
           [](auto& m) { m.training->parameters->reals.clear(); }},
          {"it has attributes that do not belong to a node",
           [](auto& m) { m.training->parameters->reals.push_back(0); }},
          {"the name of slot 1 is index 9999, but there are 48",
           [](auto& m) { m.training->slots[1]->name = 9999; }},
          {"slot 1: '\\x0a' is not a valid name",
           [](auto& m) { m.strings[m.training->slots[1]->name] = "\n"; }},
          {"the variable of slot 0 is index 99, but there are 19",
           [](auto& m) { m.training->slots[0]->value = 99; }},
          {"slot 0, 'm': 'image' is not a variable",
           [](auto& m) { m.training->slots[0]->value = 0; }},
          {"slot 0, 'm': 'norm' is not a variable",
           [](auto& m) { m.training->slots[0]->value = 8; }},
          {"'norm_gamma' has two slots 'm'",
           [](auto& m) { m.training->slots[2]->value = m.training->slots[0]->value; }},
          {"the tensor of slot 'm' of 'norm_gamma' is index 7, but there are 7",
           [](auto& m) { m.training->slots[0]->tensor = 7; }},
          {"tensor 0 belongs to two values; the second is slot 'm' of 'norm_gamma'",
           [](auto& m) { m.training->slots[0]->tensor = 0; }},
          {"tensor 4 belongs to two values; the second is slot 'm' of 'drawn'",
           [](auto& m) { m.training->slots[2]->tensor = 4; }},
          {"segment 1 begins at byte 0 of the data, before the previous one ends at 136",
           [](auto& m) { m.segments[1]->offset = 0; }},
          {"the segment of buffer 6 is index 2, but there are 2",
           [](auto& m) { m.buffers[6]->segment = 2; }},
          {"buffer 4 begins at byte 0 of segment 0, before the previous one ends",
           [](auto& m) { m.buffers[4]->segment = 0; }},
      },
      training_graph());
  auto sections = FileSections::of(training_graph());
  sections.data[65536 + 64] = 1;
  check_says(sentence(sections.bytes(), FileCheck::everything),
             {"slot 'steps' of 'norm_gamma' is damaged", "checksum of its 8 bytes"});
}

TEST_CASE("damaged data: opening does not read it, validation does") {
  auto sections = FileSections::of(sample_graph());
  sections.data[0] = static_cast<char>(sections.data[0] ^ 1);
  CHECK(sentence(sections.bytes()) == "");
  check_says(sentence(sections.bytes(), FileCheck::everything),
             {"'norm_gamma' is damaged", "checksum of its 12 bytes"});
  sections = FileSections::of(sample_graph());
  sections.data[12] = 1;
  const char* const hidden =
      "the bytes between two tensors are not zero: the file is damaged or has hidden content";
  CHECK(sentence(sections.bytes(), FileCheck::everything) == hidden);
  sections = FileSections::of(sample_graph());  // the last segment is longer than its tensors
  sections.change([](auto& m) { m.segments[0]->size += 8; });
  sections.data += std::string(8, '\0');
  CHECK(sentence(sections.bytes(), FileCheck::everything) == "");
  sections.data.back() = 1;
  CHECK(sentence(sections.bytes(), FileCheck::everything) == hidden);
}
