// tenon train from a user's point of view.
#include <doctest/doctest.h>

#include <filesystem>

#include "cli/training/line_workplace.hpp"

TEST_CASE(
    "train: results on stdout, a line per epoch on stderr, metrics as JSON lines, and a graph that "
    "runs") {
  const LineWorkplace site;
  const auto result =
      site.train({"--optimizer", "momentum", "--set", "momentum=0.5", "--learning-rate", "0.1",
                  "--epochs", "60", "--validate", "x=xs.npy[2:5]", "--validate", "y=ys.npy[2:5]",
                  "--metrics", "m.jsonl", "-o", "m.tenon"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.starts_with("loss "));
  CHECK(has(result.out, "validation loss "));
  CHECK(has(result.err, "epoch 1/60  step 3  loss "));
  CHECK(has(result.err, "epoch 60/60  step 180  loss "));
  CHECK_FALSE(has(result.err, "\r"));
  const auto metrics = read_bytes(site.folder() / "m.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 180 + 60);
  CHECK(metrics.starts_with("{\"step\": 1, \"epoch\": 0, \"loss\": "));
  CHECK(has(metrics, "\"learning_rate\": 0.1, \"examples\": 3}\n"));
  CHECK(has(metrics, "{\"step\": 180, \"epoch\": 59, \"validation\": {\"loss\": "));
  const auto run = site.run({"run", "m.tenon", "--input", "x=xs.npy", "--input", "y=ys.npy"});
  CHECK(run.code == 0);
  CHECK(has(run.out, "loss"));
  CHECK_FALSE(std::filesystem::exists(site.folder() / "m.checkpoint.tenon"));

  const auto json = site.run({"--json", "train", "m.tenon", "--data", "x=xs.npy", "--data",
                              "y=ys.npy", "--epochs", "1", "-o", "n.tenon"});
  CHECK(json.out.starts_with("{\"epochs\": 1, \"steps\": 1, \"train\": {\"loss\": "));
  CHECK(has(json.out, "\"validation\": null}"));
}

TEST_CASE("train: a training of many epochs equals one of few that is resumed") {
  const LineWorkplace site;
  const std::vector<std::string> how{"--seed",        "3", "--schedule", "step",
                                     "--decay-every", "4", "--warm-up",  "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), how.begin(), how.end());
    return site.train(more);
  };
  CHECK(with({"--epochs", "5", "--checkpoint", "a.tenon", "--metrics", "a.jsonl", "-o",
              "a_out.tenon"})
            .code == 0);
  CHECK(has(
      with({"--epochs", "2", "--checkpoint", "b.tenon", "--metrics", "b.jsonl", "--resume"}).err,
      "checkpoint b.tenon does not exist yet; starting from the beginning"));
  const auto on = with({"--epochs", "5", "--checkpoint", "b.tenon", "--metrics", "b.jsonl",
                        "--resume", "-o", "b_out.tenon"});
  CHECK(has(on.err, "resuming after step 6, in epoch 3"));
  // warm-up, then 4 steps
  CHECK(has(read_bytes(site.folder() / "a.jsonl"),
            "\"learning_rate\": 0.001, \"examples\": 3}\n{\"step\": 8, "));
  CHECK(has(read_bytes(site.folder() / "a.jsonl"), "\"learning_rate\": 0.0001, "));
  for (const auto& [a, b] :
       {std::pair{"a.tenon", "b.tenon"}, {"a.jsonl", "b.jsonl"}, {"a_out.tenon", "b_out.tenon"}})
    CHECK(read_bytes(site.folder() / a) == read_bytes(site.folder() / b));
  CHECK(has(site.run({"show", "a.tenon"}).out, "training  tenon.adam"));
  CHECK_FALSE(has(site.run({"show", "a_out.tenon"}).out, "training"));
}

TEST_CASE("train: micro-batches give the same file on any number of threads, interrupted or not") {
  const LineWorkplace site;
  const auto with = [&](const std::string& name, const char* threads, const char* epochs,
                        const Words& more = {"--micro-batches", "2"}) {
    Words words{"--threads", threads};
    for (const auto& word :
         LineWorkplace::training({"--epochs", epochs, "--optimizer", "adamw", "--checkpoint",
                                  name + ".tenon", "--resume", "-o", name + "_out.tenon"}))
      words.push_back(word);
    words.insert(words.end(), more.begin(), more.end());
    const auto result = site.run(words);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    return result.err;
  };
  CHECK(has(with("one", "1", "5"), "epoch 5/5  step 10  "));  // 6 examples, then 2
  with("four", "4", "5");
  with("alias", "1", "5", {"--lanes", "2"});
  for (const char* epochs : {"1", "3", "5"}) with("stopped", "3", epochs);
  // without states, two accumulated batches have the same sum
  with("longer", "1", "5", {"--accumulate", "2"});
  for (const char* end : {".tenon", "_out.tenon"}) {
    const auto bytes = read_bytes(site.folder() / (std::string("one") + end));
    CHECK(read_bytes(site.folder() / (std::string("four") + end)) == bytes);
    CHECK(read_bytes(site.folder() / (std::string("alias") + end)) == bytes);
    CHECK(read_bytes(site.folder() / (std::string("stopped") + end)) == bytes);
    CHECK((read_bytes(site.folder() / (std::string("longer") + end)) == bytes) ==
          (std::string(end) == "_out.tenon"));
  }
}

TEST_CASE("train: invalid options are reported before any work") {
  const LineWorkplace site;
  site.write("ints.npy", npy_bytes("<i8", "(8, 1)", 64));
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* words;
  } rows[] = {
      {{}, 2, "--output is required"},
      {{"-o", "m.json"}, 2, "'m.json' but must end in .tenon"},
      {{"-o", "m.tenon", "--data", "z=xs.npy"}, 2, "the graph has no input 'z'"},
      {{"-o", "m.tenon", "--loss", "lss"}, 2, "did you mean loss?"},
      {{"-o", "m.tenon", "--optimizer", "adm"}, 3, "did you mean adam"},
      {{"-o", "m.tenon", "--optimizer", "relu"}, 2, "'relu' is not an optimizer"},
      {{"-o", "m.tenon", "--set", "beta9=1"}, 2, "'adam' has no parameter 'beta9'"},
      {{"-o", "m.tenon", "--set", "beta1=high"},
       2,
       "parameter 'beta1' is 'high' but must be a number"},
      {{"-o", "m.tenon", "--set", "beta1=2"}, 2, "parameter 'beta1' is 2 but must be below 1"},
      {{"-o", "m.tenon", "--schedule", "cosin"}, 2, "must be constant, step or cosine"},
      {{"-o", "m.tenon", "--learning-rate", "fast"},
       2,
       "--learning-rate is 'fast' but must be a number"},
      {{"-o", "m.tenon", "--learning-rate", "-1"},
       2,
       "--learning-rate is '-1' but must be a number of at least 0"},
      {{"-o", "m.tenon", "--clip-norm", "-1"},
       2,
       "--clip-norm is '-1' but must be a number of at least 0"},
      {{"-o", "m.tenon", "--decay", "-1"}, 2, "--decay is '-1' but must be a number of at least 0"},
      {{"-o", "m.tenon", "--memory-budget", "64X"},
       2,
       "--memory-budget is '64X' but must be a number"},
      {{"-o", "m.tenon", "--memory-budget", "-1K"},
       2,
       "--memory-budget is '-1K' but must be a number of bytes such as 64M"},
      {{"-o", "m.tenon", "--memory-budget", "0.01K"}, 1, "but the budget is 10"},
      {{"-o", "m.tenon", "--micro-batches", "0"}, 2, "--micro-batches is '0' but must be "},
      {{"-o", "m.tenon", "--lanes", "0"}, 2, "--micro-batches is '0' but must be "},
      {{"-o", "m.tenon", "--epochs", "-1"}, 2, "--epochs is '-1'"},
      {{"-o", "m.tenon", "--validate", "x=xs.npy"}, 2, "add --validate y=FILE.npy"},
      {{"-o", "m.tenon", "--validate", "x=xs.npy[0:9]", "--validate", "y=ys.npy"},
       2,
       "'xs.npy' has 8 rows, but rows 0 to 9 are requested"},
      {{"-o", "m.tenon", "--validate", "x=xs.npy[b:]", "--validate", "y=ys.npy"},
       2,
       "'b' is not a row"},
      {{"-o", "m.tenon", "--validate", "x=ints.npy", "--validate", "y=ys.npy"},
       2,
       "which cannot hold every value"},
      {{"-o", "m.tenon", "--validate", "x=no.npy", "--validate", "y=ys.npy"}, 4, "no.npy"},
      {{"-o", "m.tenon", "--learning-rate", "1e30", "--optimizer", "sgd", "--epochs", "50"},
       1,
       "a smaller learning rate"},
      {{"-o", "no/m.tenon", "--epochs", "1"}, 4, "cannot write no/m.tenon: there is no folder no"},
      {{"-o", "m.tenon", "--metrics", "no/m.jsonl"}, 4, "no/m.jsonl"},
      {{"-o", "m.tenon", "--checkpoint", "g.tenon", "--resume"}, 4, "it has no training state"},
  };
  for (const auto& row : rows) {
    const auto result = site.train(row.arguments);
    INFO(command_line(row.arguments));
    INFO(result.err);
    CHECK(result.code == row.code);
    CHECK(has(result.err, row.words));
    CHECK_FALSE(std::filesystem::exists(site.folder() / "m.tenon"));
  }
}
