// Creates the initial corpora: fuzz_seeds FOLDER KEPT writes FOLDER/NAME/* for each target, and
// adds KEPT/NAME/*, inputs that once triggered a fault.
#include <cstdio>
#include <filesystem>
#include <random>
#include <tenon/host/operator_info.hpp>

#include "../file/forged_file.hpp"
#include "../file/sample_graph.hpp"
#include "../file/sample_json.hpp"
#include "../file/zip_builder.hpp"
#include "../onnx/onnx_bytes.hpp"
#include "../onnx/small_models.hpp"
#include "file/json/graph_json.hpp"
#include "fuzz/forged_graphs.hpp"
#include "io/sha256.hpp"
#include "isolate/requests.hpp"
#include "plugin/discovery/elf_file.hpp"
#include "plugins/strict_host.hpp"

namespace fs = std::filesystem;

namespace {

void write_graphs(const fs::path& folder) {
  write_bytes(folder / "tenon_file" / "sample", FileSections::of(sample_graph()).metadata);
  write_bytes(folder / "tenon_file" / "training", FileSections::of(training_graph()).metadata);
  write_bytes(folder / "tenon_file" / "sparse", FileSections::of(sparse_graph()).metadata);
  auto parameters = parameters_graph();
  for (auto& table : parameters.tables)
    if (table.size() > 64) table = tenon::Tensor::zeros(tenon::i32, {2});
  write_bytes(folder / "tenon_file" / "parameters", FileSections::of(parameters).metadata);
  write_bytes(folder / "tenon_file" / "chain", FileSections::of(chain_graph(3)).metadata);
  write_bytes(folder / "tenon_file" / "empty", FileSections::of(tenon::GraphModel()).metadata);
  write_bytes(folder / "graph_json" / "sample", sample_json);
  write_bytes(folder / "graph_json" / "chain", tenon::write_graph_json(chain_graph(3)));
  StrictHost host(1);
  for (const auto& sample : forged::samples)
    write_bytes(folder / "graph_run" / sample.name,
                FileSections::of(model_of(sample.make(host))).metadata);
}

void write_arrays(const fs::path& folder) {
  const fs::path data = TENON_TEST_DATA;
  write_bytes(folder / "npy" / "labels",
              read_bytes(data / "digits_labels.npy").substr(0, 128 + 64));
  for (const auto* order : {"False", "True"})
    for (const auto* dtype : {"<f4", ">i2", "|b1", "<f8", "<V2"}) {
      const auto header = std::string("{'descr': '") + dtype + "', 'fortran_order': " + order +
                          ", 'shape': (2, 3), }";
      const auto padded = header + std::string(117 - header.size(), ' ') + '\n';
      write_bytes(folder / "npy" / (std::string(dtype + 1) + order),
                  "\x93NUMPY\x01" + std::string(1, '\0') + "\x76" + std::string(1, '\0') + padded +
                      std::string(48, '\1'));
    }
  for (const auto& entry : fs::directory_iterator(data))
    if (entry.path().extension() == ".npz")
      write_bytes(folder / "npz" / entry.path().stem(), read_bytes(entry.path()));
  write_bytes(folder / "svmlight" / "plain",
              "1 1:0.5 3:-2e3 # first\n-1 qid:3 2:inf\n\n# nothing\n0.25 4:nan\r\n");
  write_bytes(folder / "svmlight" / "zero", "2 0:1 1:2\n1 9223372036854775807:1\n");
}

void write_models(const fs::path& folder) {
  write_bytes(folder / "onnx_model" / "sample", onnx_bytes::sample().bytes());
  write_bytes(folder / "onnx_model" / "empty", onnx_bytes::ModelFields().bytes());
  write_bytes(folder / "onnx_import" / "sample", onnx_bytes::sample().bytes());
  for (const auto& [name, bytes] : small_models::all())
    write_bytes(folder / "onnx_import" / name, bytes);
}

void write_plugins(const fs::path& folder) {
  for (const auto* name : {"plain.so", "split_kernel.so", "other_major_table.so", "newer_minor.so"})
    write_bytes(folder / "elf" / name, read_bytes(fs::path(TENON_TEST_FAULTS) / name));
  for (const auto* path :
       {TENON_TEST_PLUGINS "/tenon_elementwise.so", TENON_TEST_PLUGINS "/tenon_nn.so",
        TENON_TEST_PLUGINS "/tenon_optim.so", TENON_TEST_EXAMPLES "/fir.so"}) {
    const tenon::InputFile file(path);
    const tenon::ElfFile elf(file);
    for (const auto& symbol : elf.exports("tenon_op_v1__")) {
      const auto bytes = elf.bytes(symbol, 1 << 20);
      write_bytes(folder / "manifest" / symbol.name.substr(13),
                  {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
}

void write_messages(const fs::path& folder) {
  using namespace tenon::isolate;
  const std::int64_t axes[] = {0, 1};
  float taps[] = {1, 2};
  std::int64_t dims[] = {2};
  tenon_tensor tensor{};
  tensor.size = sizeof tensor, tensor.dtype = TENON_F32;
  tensor.dense = {taps, TENON_CPU, 0, 1, 2, 32, 1, dims, nullptr, 0};
  tenon_attribute attributes[5]{};
  attributes[0].name = "axis", attributes[0].kind = TENON_ATTR_INTS, attributes[0].ints = axes,
  attributes[0].count = 2;
  attributes[1].name = "mode", attributes[1].kind = TENON_ATTR_TEXT, attributes[1].text = "soft",
  attributes[1].count = 4;
  attributes[2].name = "a", attributes[2].kind = TENON_ATTR_FLOAT, attributes[2].f = 0.5;
  attributes[3].name = "names", attributes[3].kind = TENON_ATTR_TEXTS, attributes[3].text = "a\0b",
  attributes[3].count = 4;
  attributes[4].name = "taps", attributes[4].kind = TENON_ATTR_TENSOR,
  attributes[4].tensor = &tensor;
  for (std::uint32_t count = 0; count <= 5; ++count) {
    std::vector<std::byte> bytes;
    const std::uint64_t inputs[] = {1, 2};
    Writer(bytes).put(AddCallback{"mul", inputs, messages_of({attributes, count})});
    write_bytes(folder / "protocol" / std::to_string(count),
                {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void write_lists(const fs::path& folder) {
  const std::string sum(64, 'a');
  write_bytes(folder / "trust_lists/plugins",
              "# mine\n" + sum + "  /p/a b.so\n" + sum + " */p/b.so\n");
  write_bytes(folder / "trust_lists/signers",
              "ali namespaces=\"tenon-plugin\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8=\n");
}

// In the format of zip -0.
void write_pack(const fs::path& folder) {
  const BuiltMember graph{"graph.tenon", "a graph"};
  const auto list_with = [&](const std::string& hash) {
    const std::string text = R"({"tenon_pack": 1, "made_by": "a test", "plugins": [], )"
                             R"("members": [{"name": "graph.tenon", "size": 7, "sha256": ")";
    return BuiltMember{"pack.json", text + hash + "\"}]}"};
  };
  tenon::Sha256 right;
  right.add(std::as_bytes(std::span(graph.content)));
  write_bytes(folder / "pack/right", zip_of({list_with(right.hexadecimal()), graph}));
  write_bytes(folder / "pack/wrong", zip_of({list_with(std::string(64, 'a')), graph}));
}

// Programs and parameters are unstructured, so random bytes are as good as any.
void write_random(const fs::path& folder) {
  std::mt19937 random(1);
  for (const auto& [name, size] :
       {std::pair("calls", 600), std::pair("attributes", 64), std::pair("replies", 200)})
    for (int i = 0; i < 24; ++i) {
      std::string bytes(static_cast<std::size_t>(size), '\0');
      for (auto& byte : bytes) byte = static_cast<char>(random());
      write_bytes(folder / name / std::to_string(i), bytes);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: fuzz_seeds FOLDER KEPT\n", stderr), 2;
  const fs::path folder = argv[1], kept = argv[2];
  for (const auto* name : {"tenon_file", "onnx_model", "onnx_import", "graph_json", "graph_run",
                           "npy", "npz", "svmlight", "elf", "manifest", "attributes", "calls",
                           "protocol", "replies", "trust_lists", "pack"})
    fs::create_directories(folder / name);
  write_graphs(folder);
  write_models(folder);
  write_arrays(folder);
  write_plugins(folder);
  write_messages(folder);
  write_lists(folder);
  write_pack(folder);
  write_random(folder);
  if (fs::exists(kept))
    fs::copy(kept, folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}
