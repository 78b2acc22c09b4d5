// Hints of the library, with the program's options.
#include <doctest/doctest.h>

#include "cli/workplace.hpp"

TEST_CASE("hints: the library's hints name the corresponding options") {
  const Workplace place;
  place.write(
      "key.pub",
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@here\n");
  place.write("u.json", graph_json(R"({"name": "a", "op": "frobnicate", "inputs": ["x"]})"));
  const struct {
    Words arguments;
    int code;
    std::string hint;
  } cases[] = {
      {{"run", "u.json"}, 3, "add the folder of its plugin (--plugins DIR)"},
      {{"--memory-limit", "1", "run", "g.json", "--input", "x=x.npy"},
       1,
       "use a smaller batch; the plan reports the memory it needs (tenon show --memory)"},
      {{"trust", "add-key", "key.pub", "--name", "a b"}, 2, "give it another name (--name NAME)"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.arguments.front());
    const auto result = place.run(test.arguments);
    CHECK(result.code == test.code);
    CHECK(result.err.ends_with("\nhint: " + test.hint + "\n"));
    auto as_json = test.arguments;
    as_json.insert(as_json.begin(), "--json");
    CHECK(has(place.run(as_json).err, "\"hint\": \"" + test.hint + "\""));
  }
}
