// tenon pack: puts a graph and the plugins it needs into one file.
#include <fmt/format.h>

#include <tenon/host/pack.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

int run_pack(Context& context, const Arguments& arguments) {
  const auto to = arguments.get("output");
  if (to.empty())
    throw Failure(FailureKind::usage, "--output is required", "tenon pack net.tenon -o net.pack");
  std::vector<NamedFile> inputs{{"GRAPH", arguments.get("GRAPH")}};
  PackOptions options;
  options.seed = arguments.count("seed");
  for (const auto& file : arguments.all("with")) {
    options.with.emplace_back(file);
    inputs.push_back({"--with", file});
  }
  refuse_lost_inputs({{"--output", to}}, inputs);
  auto graph = load_graph(context, arguments.get("GRAPH"));
  const auto saved = save_pack(graph, to, options);
  std::uint64_t bytes = 0;
  std::vector<JsonItem> members;
  for (const auto& member : saved.members) {
    bytes += member.size;
    members.push_back(json_object("name", member.name, "size",
                                  static_cast<std::int64_t>(member.size), "sha256", member.sha256));
  }
  write_message("wrote {}: {}, {}\n", to, counted(saved.members.size(), "file"),
                readable_bytes(bytes));
  if (context.json())
    print(json_object("path", to, "sha256", saved.sha256, "members", json_list(members)));
  else
    write_result("sha256:{}\n", saved.sha256);
  return 0;
}

const bool added_pack = add_command(
    {.name = "pack",
     .doc = "put a graph and the plugins it needs into one file",
     .details = "A pack contains the graph with its weights, the plugins it needs except those "
                "that come with Tenon, their signatures, and the "
                "libraries that these plugins load from their own folder. Use --with for files "
                "that plugins open themselves. The pack's SHA-256 "
                "is printed; the same graph and plugins give the same hash. A pack contains code, "
                "so it is opened only with that hash, `tenon "
                "run net.pack --trust sha256:HASH`, or if the file is on the user's trust list, "
                "`tenon trust add net.pack`. It is unpacked once "
                "per machine into the user's cache folder, which may be deleted at any time. The "
                "format is an uncompressed zip archive whose "
                "first member, pack.json, lists the names, sizes and hashes of the others.",
     .positionals = {{"GRAPH", "a .tenon, graph.json or .onnx file"}},
     .options = {{"output", "FILE", "the pack to write", Text{}, "", 'o'},
                 {"with", "FILE", "additional file to place in the plugins' folder", Text{true}},
                 {"seed", "N", "seed for the initial values of uninitialized weights", Integer{},
                  "0"}},
     .run = run_pack,
     .plugins = Plugins::loads});

}  // namespace
}  // namespace tenon::cli
