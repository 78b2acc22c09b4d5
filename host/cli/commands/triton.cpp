// tenon triton: writes a model repository for Triton Inference Server.
#include <fmt/format.h>

#include <filesystem>
#include <tenon/host/session.hpp>
#include <tenon/host/trust.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/print/json_text.hpp"
#include "cli/repository/backend_files.hpp"
#include "cli/repository/model_repository.hpp"
#include "cli/repository/row_test.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"
#include "serve/model_folder.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_rows = 64;  // default for --max-batch

/// Returns the global options that apply to the server's host.
serve::Parameters parameters_of(const Context& context) {
  const auto& global = context.global();
  serve::Parameters parameters;
  if (global.has("threads")) parameters["threads"] = global.get("threads");
  std::string isolated;
  for (const auto& plugin : global.all("isolate")) {
    if (plugin.find(',') != std::string::npos)
      throw Failure(
          FailureKind::usage,
          fmt::format(
              "--isolate is '{}' but a model's parameters cannot contain plugin names with commas",
              plugin),
          "rename the plugin, or isolate all");
    if (plugin == "all") isolated = "true";
    if (isolated != "true")
      isolated += (isolated.empty() ? "" : ",") + fs::path(plugin).filename().string();
  }
  if (!isolated.empty()) parameters["isolate"] = isolated;
  if (global.has("isolate-timeout")) parameters["isolate_timeout"] = global.get("isolate-timeout");
  if (global.has("isolate-memory"))
    parameters["isolate_memory"] = fmt::to_string(global.count("isolate-memory"));
  if (context.trust_writable()) parameters["trust_writable"] = "true";
  return parameters;
}

/// Returns the maximum number of rows per run; 0 if requests are not batched.
std::int64_t choose_max_batch(const Arguments& arguments, Session& session,
                              const serve::Signature& signature) {
  const auto requested = arguments.has("max-batch") ? arguments.integer("max-batch") : max_rows;
  if (requested == 0) return 0;
  const auto refuse = [&](const std::string& why) {
    if (arguments.has("max-batch"))
      throw Failure(FailureKind::usage, "requests cannot be batched: " + why,
                    "--max-batch 0 runs each request separately");
    write_message("note: requests are not batched: {}\n", why);
    return std::int64_t{0};
  };
  if (!signature.may_have_rows)
    return refuse("not every input and output has an unknown first dimension");
  const auto row_test = try_rows(session, signature);
  if (!row_test.dependent.empty()) return refuse(row_test.dependent);
  if (!row_test.untried.empty())
    write_message(
        "note: could not test whether rows are independent ({}); --max-batch 0 runs each request "
        "separately\n",
        row_test.untried);
  return requested;
}

void write_version(const fs::path& folder, Graph& graph) {
  for (const auto& file : backend_files(graph.host().catalog()))
    copy_file(file.from, folder / file.to, file.executable);
  std::error_code error;
  fs::create_directory(folder / serve::plugins_folder, error);
  // else the server's installation is used
  fs::create_directories(folder / serve::installation_folder / serve::plugins_folder, error);
  const auto copies = plugin_files(graph);
  for (const auto* files : {&copies.plugins, &copies.companions})
    for (const auto& file : *files) {
      trust_plugin(file.from, folder);  // opening the copy fails if the file has changed since
      copy_file(file.from, folder / file.to, file.executable);
    }
  graph.save(folder / serve::model_file);
}

/// Opens the model as the server will. Warnings are dropped: they were already reported.
void try_to_open(const fs::path& folder, const serve::Parameters& parameters) {
  auto options = serve::host_options(parameters);
  options.warn = [](const std::string&) {};
  serve::open_model(folder, std::move(options));
}

std::string server_command(const fs::path& repository) {
  return fmt::format(
      "tritonserver --model-repository={} --model-control-mode=none --http-address=127.0.0.1 "
      "--grpc-address=127.0.0.1 "
      "--metrics-address=127.0.0.1",
      fs::absolute(repository).lexically_normal().string());
}

int run_triton(Context& context, const Arguments& arguments) {
  const auto to = arguments.get("output");
  const auto from = arguments.get("GRAPH");
  if (to.empty())
    throw Failure(FailureKind::usage, "--output is required",
                  "tenon triton net.tenon -o repository");
  if (!context.device().empty() && context.device() != "cpu")
    throw Failure(FailureKind::usage,
                  fmt::format("--device is '{}' but the server runs Tenon models on the CPU",
                              context.device()),
                  "remove --device");
  const auto name = arguments.has("name") ? arguments.get("name") : fs::path(from).stem().string();
  check_model_name(name);

  auto graph = load_graph(context, from);
  graph.bind();
  const auto signature = serve::signature_of(graph, arguments.all("serve"));
  Session session(graph);
  const auto max_batch = choose_max_batch(arguments, session, signature);
  serve::ConfigChoices choices{name, max_batch, static_cast<int>(arguments.integer("instances")),
                               parameters_of(context)};

  NewModel model(to, name, arguments.integer("version"));
  write_version(model.folder(), graph);
  try_to_open(model.folder(), choices.parameters);
  model.commit(serve::config_text(choices, signature));
  if (context.json()) {
    print(json_object("model", name, "folder", model.path().string(), "version",
                      arguments.integer("version"), "max_batch", max_batch, "command",
                      server_command(to)));
    return 0;
  }
  write_result("wrote {}: version {}, {}; next:\n  {}\n", model.path(),
               arguments.integer("version"),
               max_batch == 0 ? std::string("one run per request")
                              : "runs of up to " + counted(max_batch, "row"),
               server_command(to));
  return 0;
}

const bool added_triton = add_command(
    {.name = "triton",
     .doc = "write a model repository for Triton Inference Server",
     .details = "Creates REPOSITORY/NAME with config.pbtxt and a version folder that contains the "
                "graph, the plugins it needs with their SHA-256, "
                "and Tenon's backend; or adds a version to a model with the same config.pbtxt. The "
                "server loads no other plugins, and refuses "
                "changed ones. Waiting requests are batched into one run if every input and output "
                "has an unknown first dimension and a test run "
                "finds that rows are independent. --threads, --isolate, --isolate-timeout, "
                "--isolate-memory and --trust-writable also apply in "
                "the server. The server has no authentication: bind it to this machine, as the "
                "printed command does, behind a proxy that "
                "authenticates users, and never use --model-control-mode=explicit, which lets "
                "clients load models, that is, code.",
     .positionals = {{"GRAPH", graph_doc}},
     .options =
         {{"output", "REPOSITORY", "model repository folder to write to", Text{}, "", 'o'},
          {"name", "NAME", "model name (default: the file's name)"},
          {"version", "N", "model version", Integer{1}, "1"},
          {"serve", "OUTPUT",
           "output to serve; inputs that no served output needs are dropped (default: all outputs)",
           Text{true}},
          {"max-batch", "N",
           "maximum number of rows per run; 0: no batching (default: 64 if requests can be "
           "batched)",
           Integer{0, 1 << 20}},
          {"instances", "N", "number of concurrent runs", Integer{1, 1024}, "1"}},
     .run = run_triton,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
