// tenon train on csr examples and with row_sparse gradients, without conversions to dense.
#include <doctest/doctest.h>

#include <random>
#include <tenon/host/cast_storage.hpp>

#include "cli/workplace.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t examples = 240, words = 90;

/// texts.npy has six words per row, counts.npz and counts.svm the same as word counts; the words of
/// a text of class c are c modulo 3, except for one.
struct TextsWorkplace : Workplace {
  TextsWorkplace() {
    write("table.json", R"({"tenon": 1,
 "inputs": {"text": {"dtype": "int64", "shape": [-1, 6]},
            "label": {"dtype": "int64", "shape": [-1]}},
 "variables": {"table_weight": {"dtype": "float32"}},
 "nodes": [
   {"name": "table", "op": "embedding", "inputs": ["text"],
    "attrs": {"input_dim": 90, "output_dim": 5, "sparse_grad": true}},
   {"name": "mean", "op": "mean", "inputs": ["table"], "attrs": {"axis": [1]}},
   {"name": "scores", "op": "fully_connected", "inputs": ["mean"], "attrs": {"num_hidden": 3}},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}})");
    write("linear.json", R"({"tenon": 1,
 "inputs": {"text": {"dtype": "float32", "shape": [-1, 90], "storage": "csr"},
            "label": {"dtype": "int64", "shape": [-1]}},
 "variables": {"weight": {"dtype": "float32", "shape": [90, 3]}},
 "nodes": [
   {"name": "scores", "op": "matmul", "inputs": ["text", "weight"]},
   {"name": "loss", "op": "softmax_cross_entropy", "inputs": ["scores", "label"]}],
 "outputs": {"scores": "scores", "loss": "loss"}})");
    std::mt19937 random(1);
    std::vector<std::int64_t> texts, labels;
    std::vector<float> counts(examples * words);
    std::string svmlight;
    for (std::int64_t i = 0; i < examples; ++i) {
      labels.push_back(random() % 3);
      for (int place = 0; place < 6; ++place) {
        texts.push_back(3 * (random() % 30) +
                        (place == 0 ? random() % 3 : static_cast<unsigned>(labels.back())));
        counts[static_cast<std::size_t>(i * words + texts.back())] += 1;
      }
      svmlight += std::to_string(labels.back());
      for (std::int64_t word = 0; word < words; ++word)
        if (const auto count = counts[static_cast<std::size_t>(i * words + word)]; count > 0)
          svmlight += " " + std::to_string(word + 1) + ":" + std::to_string(count);
      svmlight += "\n";
    }
    write_npy(folder() / "texts.npy", Tensor::from(texts, {examples, 6}));
    write_npy(folder() / "labels.npy", Tensor::from(labels, {examples}));
    write_npz(folder() / "counts.npz",
              {{"", cast_storage(Tensor::from(counts, {examples, words}), Storage::csr, i32)}});
    write("counts.svm", svmlight);
  }

  ProgramResult train(const std::string& graph, const std::string& texts,
                      const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"--strict-storage", "train",           graph, "--accuracy",
                                       "scores=label",     "--learning-rate", "0.05"};
    for (const auto& [option, rows] :
         {std::pair{"--data", "[0:180]"}, std::pair{"--validate", "[180:]"}}) {
      arguments.insert(arguments.end(), {option, "text=" + texts + rows});
      arguments.insert(arguments.end(), {option, std::string("label=labels.npy") + rows});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

double accuracy_in(const std::string& out) {
  const auto validation = out.find("\"validation\": {");
  const auto at = out.find("\"accuracy\": ", validation);
  return validation == std::string::npos || at == std::string::npos
             ? -1
             : std::stod(out.substr(at + 12));
}

}  // namespace

TEST_CASE("train: csr files and row_sparse gradients, without conversion to dense") {
  const TextsWorkplace site;
  const struct {
    const char *graph, *texts;
    std::vector<std::string> more;
  } rows[] = {
      {"table.json", "texts.npy", {}},
      {"table.json",
       "texts.npy",
       {"--optimizer", "momentum", "--accumulate", "2", "--clip-norm", "1"}},
      {"table.json", "texts.npy", {"--set", "lazy_update=false"}},
      {"linear.json", "counts.npz", {}},
      {"linear.json", "counts.svm", {"--optimizer", "adagrad", "--clip-norm", "1"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.graph);
    auto more = row.more;
    more.insert(more.end(), {"--batch", "20", "--epochs", "12", "-o", "m.tenon", "--json"});
    const auto result = site.train(row.graph, row.texts, more);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(accuracy_in(result.out) > 0.9);
    CHECK(result.err.find("to dense") == std::string::npos);
  }
}

TEST_CASE(
    "train: sparse trainings resume from a checkpoint, bit-identical to an uninterrupted one") {
  const TextsWorkplace site;
  for (const auto& [graph, texts] :
       {std::pair{"table.json", "texts.npy"}, {"linear.json", "counts.npz"}}) {
    const auto train = [&, &graph = graph, &texts = texts](const std::string& name,
                                                           const char* epochs) {
      return site
          .train(graph, texts,
                 {"--epochs", epochs, "--checkpoint", name + ".tenon", "--resume", "-o",
                  name + "_out.tenon"})
          .code;
    };
    CHECK(train("straight", "5") == 0);
    for (const char* epochs : {"1", "3", "5"}) CHECK(train("stopped", epochs) == 0);
    for (const char* end : {".tenon", "_out.tenon"})
      CHECK(read_bytes(site.folder() / ("straight" + std::string(end))) ==
            read_bytes(site.folder() / ("stopped" + std::string(end))));
    for (const char* name : {"straight.tenon", "stopped.tenon"})
      std::filesystem::remove(site.folder() / name);
  }
}
