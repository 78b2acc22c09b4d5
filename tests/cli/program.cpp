// What holds for the program as a whole, whatever the command.
#include <doctest/doctest.h>

#include "cli/run_program.hpp"

TEST_CASE("a command line is answered with an exit code, a result on stdout and talk on stderr") {
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string out, err;  // how they begin; empty: nothing is printed
  };
  const Case cases[] = {
      {{"--version"}, 0, "tenon " TENON_VERSION "\n", ""},
      {{"--help"}, 0, "Tenon runs operators from plugins", ""},
      {{"list", "--help"}, 0, "list the operators", ""},
      {{}, 2, "", "error: "},
      {{"lst"}, 2, "", "error: there is no command 'lst'\nhint: did you mean list?\n"},
      {{"list", "--jsno"}, 2, "", "error: "},
      {{"--threads", "many", "list"}, 2, "", "error: --threads is 'many' but must be a whole number from 0 to 4096\n"},
      {{"show"}, 2, "", "error: "},
  };
  for (const auto& [arguments, code, out, err] : cases) {
    const auto result = run_tenon(arguments);
    CAPTURE(arguments);
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == code);
    CHECK(result.out.substr(0, out.size()) == out);
    CHECK(result.err.substr(0, err.size()) == err);
    CHECK(result.out.empty() == out.empty());
    CHECK(result.err.empty() == err.empty());
  }
}
