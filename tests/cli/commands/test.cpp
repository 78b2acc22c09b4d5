// tenon test: known results, and errors.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "check_says.hpp"
#include "cli/workplace.hpp"
#include "file/array/npy.hpp"

using namespace tenon;

namespace {

constexpr int rows = 11, classes = 3;

/// Scores that are passed through, with their labels: everything can be computed by hand.
struct ScoresWorkplace : Workplace {
  ScoresWorkplace() {
    write("net.json", R"({"tenon": 1,
 "inputs": {"given": {"dtype": "float32", "shape": [-1, 3]},
            "label": {"dtype": "int64", "shape": [-1]},
            "other": {"dtype": "float32", "shape": [-1]}},
 "nodes": [
   {"name": "scores", "op": "quadratic", "inputs": ["given"], "attrs": {"b": 1}},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]},
   {"name": "rest", "op": "quadratic", "inputs": ["other"]}],
 "outputs": {"scores": "scores", "loss": "loss", "rest": "rest"}})");
    auto given = Tensor::empty(f32, {rows, classes});
    auto label = Tensor::empty(i64, {rows});
    for (int row = 0; row < rows; ++row) {
      for (int c = 0; c < classes; ++c)
        given.values<float>()[row * classes + c] =
            static_cast<float>((row * row + 5 * c * row + 3 * c) % 7) / 2 +
            (row > 7 ? 4.0f * c : 0);
      label.values<std::int64_t>()[row] = row % 2;
    }
    write_npy(folder() / "given.npy", given);
    write_npy(folder() / "label.npy", label);
    for (int row = 0; row < rows; ++row) {
      const auto* scores = given.data<float>() + row * classes;
      double sum = 0;
      for (int c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(scores[c]));
      losses.push_back(std::log(sum) - scores[row % 2]);
      right += std::max_element(scores, scores + classes) - scores == row % 2;
    }
  }
  ProgramResult test(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"test", "net.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  double mean(int begin, int end) const {
    double sum = 0;
    for (int i = begin; i < end; ++i) sum += losses[static_cast<std::size_t>(i)];
    return sum / (end - begin);
  }

  std::vector<double> losses;
  std::int64_t right = 0;
};

const std::vector<std::string> data{"--data", "given=given.npy", "--data", "label=label.npy"};

std::vector<std::string> with_data(std::vector<std::string> more) {
  more.insert(more.begin(), data.begin(), data.end());
  return more;
}

}  // namespace

TEST_CASE("test: mean loss and accuracy; the smaller last batch is weighted by its rows") {
  const ScoresWorkplace site;
  REQUIRE(site.right > 0);
  REQUIRE(site.right < rows);
  // as if all batches had the same size
  const double evenly = (site.mean(0, 4) + site.mean(4, 8) + site.mean(8, 11)) / 3;
  REQUIRE(std::abs(evenly - site.mean(0, rows)) > 1e-2);
  for (const std::string batch : {"1", "4", "11", "64"}) {
    CAPTURE(batch);
    const auto result =
        site.test(with_data({"--json", "--accuracy", "scores=label", "--batch", batch}));
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    CHECK(result.err == "");
    const auto found = nlohmann::json::parse(result.out);
    CHECK(found.size() == 4);
    CHECK(found.at("examples") == rows);
    CHECK(found.at("right") == site.right);
    CHECK(found.at("accuracy") ==
          doctest::Approx(static_cast<double>(site.right) / rows).epsilon(1e-12));
    CHECK(found.at("loss") == doctest::Approx(site.mean(0, rows)).epsilon(1e-6));
  }
  char text[100];
  std::snprintf(text, sizeof text, "11 examples  loss %.5g  accuracy %.4f  (%d correct)\n",
                site.mean(0, rows), static_cast<double>(site.right) / rows,
                static_cast<int>(site.right));
  CHECK(site.test(with_data({"--accuracy", "scores=label", "--batch", "4"})).out == text);
  std::snprintf(text, sizeof text, "3 examples  loss %.5g\n", site.mean(8, 11));
  CHECK(site.test({"--data", "given=given.npy[8:]", "--data", "label=label.npy[8:]"}).out == text);
}

TEST_CASE("test: a graph without a loss is measured only by its accuracy") {
  const ScoresWorkplace site;
  auto json = read_bytes(site.folder() / "net.json");
  const auto at = json.find("   {\"name\": \"loss\"");
  json.erase(at, json.find('\n', at) + 1 - at);
  json.erase(json.find("\"loss\": \"loss\", "), 16);
  site.write("scores.json", json);
  const auto result =
      site.run({"test", "scores.json", "--json", "--data", "given=given.npy", "--data",
                "label=label.npy", "--accuracy", "scores=label", "--batch", "2"});
  CAPTURE(result.err);
  const auto found = nlohmann::json::parse(result.out);
  CHECK(found.size() == 3);
  CHECK(found.at("right") == site.right);
  check_says(site.run({"test", "scores.json", "--data", "given=given.npy"}).err,
             {"error: nothing to measure", "no 'loss'", "--accuracy is missing",
              "\nhint: add --loss NAME or --accuracy SCORES=LABEL"});
}

TEST_CASE("test: refuses what cannot be measured with one sentence") {
  const ScoresWorkplace site;
  site.write("broken.npy", "no array");
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* err;
  } cases[] = {
      {{}, 2, "error: no data for input 'given'\nhint: add --data given=FILE.npy\n"},
      {{"--data", "given=given.npy"}, 2, "error: no data for input 'label'\n"},
      {with_data({"--data", "labl=label.npy"}), 2,
       "error: the graph has no input 'labl'\nhint: did you mean label?\n"},
      {{"--data", "given=given.npy[0:4]", "--data", "label=label.npy"},
       2,
       "error: 'given' has 4 examples but 'label' has 11\n"},
      {{"--data", "given=given.npy[0:0]", "--data", "label=label.npy[0:0]"},
       2,
       "error: 'given' has no examples\n"},
      {{"--data", "given=broken.npy", "--data", "label=label.npy"}, 4, "broken.npy"},
      {with_data({"--loss", "los"}), 2, "did you mean loss?"},
      {with_data({"--loss", "scores"}), 2,
       "error: the loss 'scores' has shape [?, 3] but must be one number\n"},
      {with_data({"--accuracy", "scores"}), 2,
       "error: --accuracy is 'scores' but must be SCORES=LABEL\n"},
      {with_data({"--accuracy", "score=label"}), 2, "did you mean scores?"},
      {with_data({"--accuracy", "scores=labl"}), 2,
       "error: accuracy needs the labels, but the graph has no input 'labl'\nhint: did you mean "
       "label?\n"},
      {with_data({"--accuracy", "scores=given"}), 2,
       "error: accuracy cannot be computed from float32 [11, 3] scores"},
      {with_data({"--batch", "0"}), 2, "error: --batch is '0' but must be an integer from 1 to "},
  };
  for (const auto& c : cases) {
    const auto result = site.test(c.arguments);
    CAPTURE(command_line(c.arguments));
    CAPTURE(result.err);
    CHECK(result.code == c.code);
    CHECK(result.out == "");
    CHECK(result.err.find(c.err) != std::string::npos);
  }
}
