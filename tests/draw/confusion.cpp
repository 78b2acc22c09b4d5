#include <doctest/doctest.h>

#include <regex>
#include <tenon/host/draw.hpp>
#include <tenon/host/evaluator.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE(
    "confusion: rows are true classes, columns predicted classes; ties count for the first class") {
  const auto scores = Tensor::from(
      {0.1f, 0.9f, 0.0f, 0.5f, 0.5f, 0.0f, 0.0f, 0.1f, 0.9f, 0.2f, 0.1f, 0.7f}, {4, 3});
  const auto labels = Tensor::from<std::int32_t>({1, 0, 0, 2}, {4});
  CHECK(same_bits(confusion(scores, labels),
                  Tensor::from<std::int64_t>({1, 0, 1, 0, 1, 0, 0, 0, 1}, {3, 3})));
  CHECK(failure_of([&] {
          confusion(scores, Tensor::from<std::int32_t>({1, 0, 3, 2}, {4}));
        }).message == "label 3 of example 2 is not one of the 3 classes");
  CHECK(failure_of([&] {
          confusion(scores, Tensor::from<std::int32_t>({1, 0, -1, 2}, {4}));
        }).message == "label -1 of example 2 is not one of the 3 classes");
  check_says(failure_of([] {
               tenon::confusion(tenon::Tensor::zeros(tenon::f32, {2, 3}),
                                tenon::Tensor::zeros(tenon::i64, {3}));
             }).message,
             {"confusion cannot be computed", "float32 [2, 3] scores", "int64 [3] labels"});
  CHECK(failure_of([&] { confusion(labels, labels); }).kind == 2);
}

TEST_CASE("confusion drawing: counts are at their positions and names are escaped") {
  const auto counts = Tensor::from<std::int64_t>({7, 3, 2, 8}, {2, 2});
  const std::string names[] = {"<cat>", "dog"};
  const auto svg = draw_confusion(counts, names);
  CHECK(svg.find("&lt;cat&gt;") != std::string::npos);
  CHECK(svg.find("<cat>") == std::string::npos);
  static const std::regex pattern(
      "<rect x=\"([0-9.]+)\" "
      "y=\"([0-9.]+)\"[^>]*fill-opacity=\"([0-9.]+)\"[^>]*/><text[^>]*>([0-9]+)</text>");
  std::string cells;
  for (auto match = std::sregex_iterator(svg.begin(), svg.end(), pattern);
       match != std::sregex_iterator(); ++match)
    cells += (*match)[1].str() + "," + (*match)[2].str() + " " + (*match)[3].str() + " " +
             (*match)[4].str() + "; ";
  CHECK(cells == "110,60 0.700 7; 146,60 0.300 3; 110,96 0.200 2; 146,96 0.800 8; ");
  CHECK(draw_confusion(counts).find(">1</text>") != std::string::npos);
  CHECK(failure_of([&] { draw_confusion(counts, std::span(names, 1)); }).message ==
        "the confusion matrix has 2 classes but got 1 name");
  CHECK(failure_of([] { draw_confusion(Tensor::zeros(f32, {2, 2})); }).kind == 2);
  CHECK(failure_of([] { draw_confusion(Tensor::zeros(i64, {2, 3})); }).kind == 2);
}

TEST_CASE("curve drawing: accepts an application's own numbers") {
  const EpochMetrics epochs[] = {{0, {1.0, 0.5}, Metrics{1.2, 0.4}},
                                 {1, {0.5, 0.75}, std::nullopt}};
  const auto svg = draw_curves(epochs);
  CHECK(svg.find("<title>Loss and accuracy over 2 epochs</title>") != std::string::npos);
  for (const auto* last :
       {">training 0.5<", ">validation 1.2<", ">training 0.75<", ">validation 0.4<"})
    CHECK_MESSAGE(svg.find(last) != std::string::npos, last);
  // From the first epoch at the frame's left edge to the last at its right edge; y pixels grow
  // downwards.
  static const std::regex line("d=\"M56.0 ([0-9.]+)L364.0 ([0-9.]+)\"");
  std::vector<double> falls;
  for (auto match = std::sregex_iterator(svg.begin(), svg.end(), line);
       match != std::sregex_iterator(); ++match)
    falls.push_back(std::stod((*match)[2]) - std::stod((*match)[1]));
  REQUIRE(falls.size() == 2);
  CHECK(falls[0] > 0);  // the loss
  CHECK(falls[1] < 0);  // the accuracy
  CHECK(draw_curves({}).find("<title>Loss over 0 epochs</title>") != std::string::npos);
}
