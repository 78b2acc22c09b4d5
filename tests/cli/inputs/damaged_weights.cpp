// A flipped bit in a weight: it is neither used nor written again as if it were valid.
#include <doctest/doctest.h>

#include "check_says.hpp"
#include "cli/workplace.hpp"
#include "file/tenon/layout.hpp"

namespace {

constexpr const char* loss_json =
    R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [-1, 4]}},
  "nodes": [{"name": "h", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 4}},
            {"name": "loss", "op": "mean_squared_error", "inputs": ["h", "x"]}],
  "outputs": {"loss": "loss"}}
)";

void flip(const Workplace& place, const std::string& from, const std::string& to,
          std::size_t from_end) {
  auto bytes = read_bytes(place.folder() / from);
  bytes[bytes.size() - from_end] ^= 4;
  place.write(to, bytes);
}

}  // namespace

TEST_CASE("damaged weights: every command that uses them refuses them") {
  const Workplace place;
  place.write("loss.json", loss_json);
  REQUIRE(place.run({"build", "loss.json", "-o", "sound.tenon"}).code == 0);
  flip(place, "sound.tenon", "bad.tenon", 1);
  const std::vector<std::string> input{"--input", "x=x.npy"};
  struct Case {
    std::vector<std::string> arguments;
    bool may_skip;  // supports --no-verify
  };
  const Case cases[] = {
      {{"validate", "bad.tenon"}, false},
      {{"validate", "bad.tenon", "--file-only"}, false},
      {{"run", "bad.tenon", "--input", "x=x.npy"}, true},
      {{"bench", "bad.tenon", "--input", "x=x.npy", "--runs", "1"}, true},
      {{"build", "bad.tenon", "-o", "out.tenon"}, true},
      {{"show", "bad.tenon", "--json"}, true},
      {{"inspect", "bad.tenon", "--json"}, false},
      {{"test", "bad.tenon", "--data", "x=x.npy"}, false},
      {{"train", "bad.tenon", "--data", "x=x.npy", "--epochs", "1", "-o", "out.tenon"}, false},
  };
  const auto before = place.folder().names();
  for (const auto& test : cases) {
    // clang 14 does not allow lambdas, and so CAPTURE, to use structured bindings
    const auto& arguments = test.arguments;
    CAPTURE(command_line(arguments));
    const auto result = place.run(arguments);
    CHECK(result.code == 4);
    CHECK(result.out == "");
    check_says(result.err, {"bad.tenon:", "'h_bias' is damaged", "checksum of its 16 bytes"});
    CHECK(place.folder().names() == before);
    auto sound = arguments, skipping = arguments;
    sound[1] = "sound.tenon";
    CHECK(place.run(sound).code == 0);
    skipping.emplace_back("--no-verify");
    CHECK(place.run(skipping).code == (test.may_skip ? 0 : 2));
    std::filesystem::remove(place.folder() / "out.tenon");
  }
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"show", "bad.tenon"}, {"show", "bad.tenon", "--memory"}})
    CHECK(place.run(arguments).code == 0);  // does not show weights
}

TEST_CASE("damaged weights: training does not resume from damaged weights or optimizer states") {
  const Workplace place;
  place.write("loss.json", loss_json);
  const auto train = [&](const std::string& checkpoint, const char* epochs, bool resume) {
    std::vector<std::string> arguments{"train",    "loss.json", "--data",       "x=x.npy",
                                       "--epochs", epochs,      "--checkpoint", checkpoint};
    if (resume) arguments.emplace_back("--resume");
    return place.run(arguments);
  };
  REQUIRE(train("sound.tenon", "1", false).code == 0);
  const auto bytes = read_bytes(place.folder() / "sound.tenon");
  const auto data =
      tenon::layout::decode(std::as_bytes(std::span(bytes)), "sound.tenon").data_offset;
  const struct {
    std::size_t from_end;
    const char* name;
  } cases[] = {{bytes.size() - data, "'h_weight'"}, {1, "slot "}};
  for (const auto& [from_end, name] : cases) {
    flip(place, "sound.tenon", "bad.tenon", from_end);
    const auto damaged = read_bytes(place.folder() / "bad.tenon");
    const auto result = train("bad.tenon", "2", true);
    CHECK(result.code == 4);
    CHECK(result.err.find("error: bad.tenon: the data of " + std::string(name)) !=
          std::string::npos);
    CHECK(result.err.find("is damaged: the checksum of its ") != std::string::npos);
    CHECK(read_bytes(place.folder() / "bad.tenon") == damaged);
  }
  CHECK(train("sound.tenon", "2", true).code == 0);
}
