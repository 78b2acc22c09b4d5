// Plots of trainings: tenon plot and tenon train --plot.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/workplace.hpp"

namespace {

/// Returns every text between `begin` and `end`.
std::vector<std::string> all_between(const std::string& text, const std::string& begin,
                                     const std::string& end) {
  std::vector<std::string> found;
  for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    found.push_back(text.substr(at, text.find(end, at) - at));
  }
  return found;
}

/// Returns the lines through several points; the legend's have none.
std::vector<std::string> curves_of(const std::string& svg) {
  std::vector<std::string> curves;
  for (const auto& path : all_between(svg, "<path class=\"curve\"", "/>"))
    if (const auto d = all_between(path, " d=\"", "\"").at(0); has(d, "L")) curves.push_back(d);
  return curves;
}

std::vector<std::string> texts_of(const std::string& svg) {
  std::vector<std::string> texts;
  for (const auto& element : all_between(svg, "<text ", "/text>"))
    texts.push_back(all_between(element, ">", "<").at(0));
  return texts;
}

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string step_line(int step, int epoch, const std::string& metrics, int examples) {
  std::ostringstream line;
  line << "{\"step\": " << step << ", \"epoch\": " << epoch << ", " << metrics
       << ", \"learning_rate\": 0.1, \"examples\": " << examples << "}\n";
  return line.str();
}

/// y = x * w, with a loss; 8 examples of x and y.
struct PlotWorkplace : Workplace {
  PlotWorkplace() {
    write("line.json", R"({"tenon": 1,
 "inputs": {"x": {"dtype": "float32", "shape": [-1, 1]},
            "y": {"dtype": "float32", "shape": [-1, 1]}},
 "nodes": [
   {"name": "line", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 1}},
   {"name": "loss", "op": "mean_squared_error", "inputs": ["line", "y"]}],
 "outputs": {"loss": "loss"}})");
    write("xs.npy", npy_bytes("<f4", "(8, 1)", 0) +
                        std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16) +
                        std::string(16, '\0'));
    write("ys.npy", npy_bytes("<f4", "(8, 1)", 0) +
                        std::string("\0\0\0\x40\0\0\x80\x40\0\0\xc0\x40\0\0\0\x41", 16) +
                        std::string(16, '\0'));
  }
  ProgramResult train(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"train",      "line.json", "--data",     "x=xs.npy",
                                       "--data",     "y=ys.npy",  "--validate", "x=xs.npy",
                                       "--validate", "y=ys.npy",  "--batch",    "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

}  // namespace

TEST_CASE("plot: points match the axes' numbers") {
  const Workplace site;
  // Frames range from x 56 to 364 and from y 238 up to 34. The first epoch's mean loss is (3 * 5 +
  // 1 * 1) / 4 = 4.
  site.write("even.jsonl",
             step_line(1, 0, "\"loss\": 5, \"accuracy\": 0.05", 3) +
                 step_line(2, 0, "\"loss\": 1, \"accuracy\": 0.05", 1) +
                 "{\"step\": 2, \"epoch\": 0, \"validation\": {\"loss\": 3, \"accuracy\": 0.6}}\n" +
                 step_line(3, 1, "\"loss\": 2, \"accuracy\": 0.6", 4) +
                 "{\"step\": 3, \"epoch\": 1, \"validation\": {\"loss\": 1, \"accuracy\": 1}}\n" +
                 step_line(4, 2, "\"loss\": 0, \"accuracy\": 1", 4));
  const auto result = site.run({"plot", "even.jsonl", "-o", "even.svg"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const auto svg = read_bytes(site.folder() / "even.svg");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 280\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has(svg, "<title>Loss and accuracy over 3 epochs</title>"));
  CHECK(curves_of(svg) ==
        std::vector<std::string>{"M56.0 34.0L210.0 136.0L364.0 238.0", "M56.0 85.0L210.0 187.0",
                                 "M56.0 227.8L210.0 115.6L364.0 34.0", "M56.0 115.6L210.0 34.0"});
  for (const auto* text :
       {"loss", "accuracy", "epoch", "training 0", "validation 1", "1", "2", "3", "4", "0.2", "1"})
    CHECK_MESSAGE(contains(texts_of(svg), text), std::string(text));
}

TEST_CASE(
    "plot: a loss that falls by powers of ten falls evenly; without accuracy there is one panel") {
  const Workplace site;
  site.write("m.jsonl", step_line(1, 0, "\"loss\": 100", 8) + step_line(2, 1, "\"loss\": 10", 8) +
                            step_line(3, 2, "\"loss\": null", 8) +
                            // the last line was truncated by a kill
                            step_line(4, 3, "\"loss\": 1", 8) + "{\"step\": 5, \"epo");
  REQUIRE(site.run({"plot", "m.jsonl", "-o", "m.svg"}).code == 0);
  const auto svg = read_bytes(site.folder() / "m.svg");
  CHECK(has(svg, "viewBox=\"0 0 380 280\""));
  CHECK(has(svg, "<title>Loss over 4 epochs</title>"));
  REQUIRE(curves_of(svg).size() == 1);
  double x[3], y[3];
  char letter;
  std::istringstream curve(curves_of(svg)[0]);
  for (int i = 0; i < 3; ++i) curve >> letter >> x[i] >> y[i];
  CHECK(std::abs((x[1] - x[0]) * 2 - (x[2] - x[1])) < 0.2);  // the third epoch has no loss
  CHECK(std::abs((y[1] - y[0]) - (y[2] - y[1])) < 0.2);
  CHECK(y[1] - y[0] > 90);
  for (const auto* text : {"100", "50", "20", "10", "5", "2", "1"})
    CHECK_MESSAGE(contains(texts_of(svg), text), std::string(text));
}

TEST_CASE("plot: any numbers give a plot of finite size") {
  const Workplace site;
  for (const auto* losses : {"0", "1", "-1e29 1e29", "1e-300 1e29", "1e300 -1e300", "5e-324 5e-324",
                             "1e20 100000000000000000001", "null"}) {
    std::string lines;
    int step = 0;
    std::istringstream all(losses);
    for (std::string loss; all >> loss; ++step)
      lines += step_line(step, step, "\"loss\": " + loss, 1000000000);
    site.write("m.jsonl", lines);
    const auto result = site.run({"plot", "m.jsonl", "-o", "m.svg"});
    INFO(losses << ": " << result.err);
    CHECK(result.code == 0);
    const auto svg = read_bytes(site.folder() / "m.svg");
    CHECK(svg.size() < 8000);
    CHECK_FALSE(has(svg, "nan"));
    CHECK_FALSE(has(svg, "inf"));
  }
}

TEST_CASE("plot: refuses invalid metrics lines by number") {
  const Workplace site;
  const struct {
    const char *lines, *words;
  } rows[] = {
      {"", "m.jsonl contains no metrics"},
      {"{}\n", "m.jsonl, line 1:1:1"},
      {"{\"step\": 1, \"epoch\": 0, \"validation\": {\"loss\": 1}}\n[]\n", "m.jsonl, line 2:1:1"},
      {"{\"epoch\": -1, \"loss\": 1, \"examples\": 1}\n", "'epoch' is -1"},
      {"{\"epoch\": 0, \"loss\": 1, \"examples\": 9000000000}\n", "'examples' is 9000000000"},
      {"{\"epoch\": 0, \"loss\": \"low\", \"examples\": 1}\n", "loss"},
      {"{\"epoch\": 0, \"validation\": 3}\n", "m.jsonl, line 1"},
      {"epoch 0\nloss\n", "m.jsonl, line 1:1:1"},
  };
  for (const auto& row : rows) {
    site.write("m.jsonl", row.lines);
    const auto result = site.run({"plot", "m.jsonl", "-o", "m.svg"});
    INFO(std::string(row.lines) << result.err);
    CHECK(result.code == 4);
    CHECK(has(result.err, row.words));
    CHECK_FALSE(std::filesystem::exists(site.folder() / "m.svg"));
  }
  CHECK(has(site.run({"plot", "no.jsonl", "-o", "m.svg"}).err,
            "cannot read no.jsonl: there is no such file"));
  CHECK(has(site.run({"plot", "m.jsonl"}).err, "--output is required"));
  CHECK(has(site.run({"plot", "m.jsonl", "-o", "m.png"}).err,
            "--output is 'm.png' but must end in .svg"));
}

TEST_CASE(
    "train --plot: drawn after each epoch; a resumed training gives the same plot as an "
    "uninterrupted one") {
  const PlotWorkplace site;
  REQUIRE(site.train({"--epochs", "5", "--metrics", "a.jsonl", "--plot", "a.svg", "-o", "a.tenon"})
              .code == 0);
  const auto whole = read_bytes(site.folder() / "a.svg");
  CHECK(has(whole, "<title>Loss over 5 epochs</title>"));
  CHECK(curves_of(whole).size() == 2);
  REQUIRE(site.run({"plot", "a.jsonl", "-o", "again.svg"}).code == 0);
  CHECK(read_bytes(site.folder() / "again.svg") == whole);

  const std::vector<std::string> parts{"--checkpoint", "b.tenon", "--metrics", "b.jsonl",
                                       "--plot",       "b.svg",   "--resume",  "--epochs"};
  for (const auto* epochs : {"2", "5"}) {
    auto arguments = parts;
    arguments.emplace_back(epochs);
    REQUIRE(site.train(arguments).code == 0);
    CHECK(has(read_bytes(site.folder() / "b.svg"),
              std::string("<title>Loss over ") + epochs + " epochs</title>"));
  }
  CHECK(read_bytes(site.folder() / "b.svg") == whole);

  std::filesystem::remove(site.folder() / "b.jsonl");  // earlier epochs are then unknown
  auto arguments = parts;
  arguments.emplace_back("7");
  REQUIRE(site.train(arguments).code == 0);
  CHECK(has(read_bytes(site.folder() / "b.svg"), "<title>Loss over 2 epochs</title>"));
}

TEST_CASE("train --plot: reports a path that cannot be written before any work") {
  const PlotWorkplace site;
  site.write("blocked.svg", "");
  std::filesystem::remove(site.folder() / "blocked.svg");
  std::filesystem::create_directory(site.folder() / "blocked.svg");
  const struct {
    const char* path;
    int code;
    const char* words;
  } rows[] = {
      {"p.png", 2, "--plot is 'p.png' but must end in .svg"},
      {"no/p.svg", 4, "no/p.svg"},
      {"blocked.svg", 4, "blocked.svg"},
  };
  for (const auto& row : rows) {
    const auto result = site.train({"--epochs", "1", "--plot", row.path, "-o", "m.tenon"});
    INFO(result.err);
    CHECK(result.code == row.code);
    CHECK(has(result.err, row.words));
    CHECK_FALSE(has(result.err, "epoch 1/1"));
    CHECK_FALSE(std::filesystem::exists(site.folder() / "m.tenon"));
  }
}
