// What the fuzz programs begin with: fuzz_seeds FOLDER writes FOLDER/tenon_file/*, FOLDER/graph_json/* and FOLDER/graph_run/*.
#include <filesystem>

#include "../file/forged_file.hpp"
#include "../file/sample_graph.hpp"
#include "../file/sample_json.hpp"
#include "file/json/graph_json.hpp"
#include "fuzz/forged_graphs.hpp"
#include "plugins/strict_host.hpp"

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "corpus";
  for (const char* name : {"tenon_file", "graph_json", "graph_run"}) std::filesystem::create_directories(folder / name);
  write_bytes(folder / "tenon_file" / "sample", FileParts::of(sample_graph()).metadata);
  write_bytes(folder / "tenon_file" / "training", FileParts::of(training_graph()).metadata);
  write_bytes(folder / "tenon_file" / "sparse", FileParts::of(sparse_graph()).metadata);
  write_bytes(folder / "tenon_file" / "chain", FileParts::of(chain_graph(3)).metadata);
  write_bytes(folder / "tenon_file" / "empty", FileParts::of(tenon::GraphModel()).metadata);
  write_bytes(folder / "graph_json" / "sample", sample_json);
  write_bytes(folder / "graph_json" / "chain", tenon::write_graph_json(chain_graph(3)));
  StrictHost host(1);
  for (const auto& sample : forged::samples)
    write_bytes(folder / "graph_run" / sample.name, FileParts::of(model_of(sample.make(host))).metadata);
}
