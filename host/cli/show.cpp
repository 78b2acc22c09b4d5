// tenon show: a graph as text, JSON, DOT or SVG, or its plan.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <tenon/session.hpp>

#include "cli/command.hpp"
#include "cli/feed.hpp"
#include "cli/show_graph.hpp"
#include "file/atomic_file.hpp"
#include "graph/dot.hpp"

namespace tenon::cli {
namespace {

[[noreturn]] void refuse_drawing(const std::string& why) {
  throw Failure(FailureKind::failed, "the graph cannot be drawn: " + why,
                "install graphviz, or write the drawing's text with --dot and draw it elsewhere");
}

// graphviz reads from one pipe and writes to another; feeding it from a child of our own keeps both from filling up.
std::string run_graphviz(const std::string& dot) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) refuse_drawing(std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string program = "dot", format = "-Tsvg";
  char* arguments[] = {program.data(), format.data(), nullptr};
  pid_t graphviz = 0;
  const int failed = posix_spawnp(&graphviz, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (failed != 0) refuse_drawing(std::string("graphviz's program dot cannot be started: ") + std::strerror(failed));
  const pid_t writer = fork();
  if (writer == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    for (std::size_t done = 0; done < dot.size();) {
      const auto count = write(in[1], dot.data() + done, dot.size() - done);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    _exit(0);
  }
  close(in[1]);
  std::string svg;
  char buffer[65536];
  for (ssize_t count = 0; (count = read(out[0], buffer, sizeof buffer)) > 0;) svg.append(buffer, static_cast<std::size_t>(count));
  close(out[0]);
  int status = 0;
  waitpid(writer, nullptr, 0);
  waitpid(graphviz, &status, 0);
  if (status != 0 || svg.empty()) refuse_drawing("graphviz's program dot failed");
  return svg;
}

// Dimensions that nobody gives are 1, as in tenon run.
std::string describe_plan(const Graph& graph, const Arguments& arguments) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : feed(graph, arguments)) shapes.emplace(name, tensor.shape());
  return Session(graph).describe_plan(shapes);
}

void check_one_form(const Context& context, const Arguments& arguments) {
  std::vector<std::string> forms;
  for (const auto* form : {"dot", "svg", "plan"})
    if (arguments.has(form)) forms.push_back(std::string("--") + form);
  if (!forms.empty() && context.json()) forms.emplace_back("--json");
  if (forms.size() > 1)
    throw Failure(FailureKind::usage, fmt::format("{} and {} ask for different forms of the graph", forms[0], forms[1]),
                  "give one of them");
  if (arguments.has("shape") && !arguments.has("plan")) throw Failure(FailureKind::usage, "--shape is for --plan, and that is not given");
}

int run(Context& context, const Arguments& arguments) {
  check_one_form(context, arguments);
  const auto path = arguments.get("GRAPH");
  if (arguments.has("dot")) {
    fmt::print("{}", to_dot(Graph::load(context.host(), path).model()));
  } else if (arguments.has("svg")) {
    AtomicFile file(arguments.get("svg"));
    file.write(run_graphviz(to_dot(Graph::load(context.host(), path).model())));
    file.commit();
  } else if (arguments.has("plan")) {
    fmt::print("{}", describe_plan(Graph::load(context.host(), path), arguments));
  } else {
    return show_graph(context, path);
  }
  return 0;
}

const bool added = add_command({.name = "show",
                                .doc = "show a graph: as text, as graph.json with --json, drawn, or as its plan",
                                .details = "Text, JSON and drawings of a .tenon file need no plugin; --plan needs them all.",
                                .positionals = {{"GRAPH", "a .tenon or graph.json file"}},
                                .options = {{"dot", "", "print the graph in graphviz's language", false},
                                            {"svg", "FILE", "draw the graph into FILE (needs graphviz)", false},
                                            {"plan", "", "print the steps, where each output lies and how much memory it takes", false},
                                            {"shape", "NAME=DIMS", "an input's shape for --plan, like image=8x64", true}},
                                .run = run});

}  // namespace
}  // namespace tenon::cli
