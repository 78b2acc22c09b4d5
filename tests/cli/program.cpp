// Behaviour of the program that is common to all commands.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tenon/host/trainer.hpp>

#include "cli/run_program.hpp"

TEST_CASE("program: exit code, result on stdout and messages on stderr") {
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string out, err;  // their beginnings; empty if nothing is printed
  };
  const Case cases[] = {
      {{"--version"}, 0, "tenon " TENON_VERSION "\n", ""},
      {{"--help"}, 0, "Tenon runs operators from plugins", ""},
      {{"list", "--help"}, 0, "list available operators", ""},
      {{}, 0, "Tenon runs operators from plugins", ""},
      {{"--json"}, 2, "", "{\n  \"error\": \"a command is missing\""},
      {{"lst"}, 2, "", "error: there is no command 'lst'\nhint: did you mean list?\n"},
      {{"list", "--jsno"},
       2,
       "",
       "error: tenon list has no option '--jsno'\nhint: did you mean --json?\n"},
      {{"list", "a", "more"},
       2,
       "",
       "error: tenon list: unexpected argument 'more'\nhint: tenon list --help shows the usage\n"},
      {{"list", "more"},
       3,
       "",
       "error: no operator matches 'more'\nhint: tenon list shows all operators\n"},
      {{"list", "--plugin", "tenon_nm"},
       3,
       "",
       "error: there is no plugin 'tenon_nm'\nhint: did you mean tenon_nn"},
      {{"show"},
       2,
       "",
       "error: tenon show: GRAPH is required\nhint: tenon show --help shows the usage\n"},
      {{"run", "g.tenon", "--input"}, 2, "", "error: tenon run: --input needs a value\n"},
      {{"run", "g.tenon", "--seed", "1", "--seed", "2"},
       2,
       "",
       "error: tenon run: --seed is given more than once\n"},
      {{"--threads", "many", "list"},
       2,
       "",
       "error: --threads is 'many' but must be an integer from 0 to 1024\n"},
      {{"--threads", "1025", "list"},
       2,
       "",
       "error: --threads is '1025' but must be an integer from 0 to 1024\n"},
      {{"train", "--set", "beta1"},
       2,
       "",
       "error: --set is 'beta1' but must be NAME=VALUE\nhint: for example --set beta1=0.9\n"},
      {{"train", "--accuracy", "scores"},
       2,
       "",
       "error: --accuracy is 'scores' but must be SCORES=LABEL\nhint: for example --accuracy "
       "scores=label\n"},
      {{"train", "--decay", "much"},
       2,
       "",
       "error: --decay is 'much' but must be a number of at least 0\n"},
      {{"list", "--verbose"}, 2, "", "error: tenon list has no option '--verbose'\n"},
      {{"--plugins", "/no/such", "list"},
       4,
       "",
       "error: plugin folder '/no/such' cannot be read: there is no such folder\nhint: use"},
      {{"--json=maybe", "list"}, 2, "", "error: tenon list: --json takes no value\n"},
      {{"--json", "lst"},
       2,
       "",
       "{\n  \"error\": \"there is no command 'lst'\",\n  \"exit_code\": 2,\n  \"hint\": "},
  };
  for (const auto& c : cases) {
    const auto& [arguments, code, out, err] = c;
    const auto result = run_tenon(arguments);
    CAPTURE(command_line(c.arguments));
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == code);
    CHECK(result.out.substr(0, out.size()) == out);
    CHECK(result.err.substr(0, err.size()) == err);
    CHECK(result.out.empty() == out.empty());
    CHECK(result.err.empty() == err.empty());
  }
}

TEST_CASE("program: help shows the library's defaults") {
  const tenon::TrainerOptions options;
  const auto help = run_tenon({"train", "--help"}).out + run_tenon({"--help"}).out;
  for (const auto& line :
       {fmt::format("operator that updates the variables (default: {})", options.optimizer),
        fmt::format("learning rate after the warm-up (default: {})", options.schedule.rate),
        std::string("learning rate schedule: constant, step or cosine (default: constant)"),
        fmt::format("step schedule: number of steps between decays (default: {})",
                    options.schedule.every),
        fmt::format("step schedule: factor applied at each decay (default: {})",
                    options.schedule.factor),
        fmt::format("number of passes over all examples (default: {})", options.epochs),
        fmt::format("number of examples per batch (default: {})", options.batch),
        std::string("output or value to minimize (default: loss)"),
        std::string("default device for nodes without one: cpu, cuda, cuda:1 ... (default: cpu)")})
    CHECK_MESSAGE(help.find(line) != std::string::npos, line);
  CHECK(help.find("from a .npy, .npz, .svm, .libsvm, .svmlight or .csv file") != std::string::npos);
  CHECK(help.find("--plugins DIR ...") == std::string::npos);
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"train", "--help"}, {"run", "--help"}, {"man"}})
    CHECK(run_tenon(arguments).out.find("left out") == std::string::npos);
}
