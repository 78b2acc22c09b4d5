#include <doctest/doctest.h>

#include <regex>
#include <tenon/host/draw.hpp>
#include <tenon/host/session.hpp>

#include "failure_of.hpp"
#include "plan/random_graph_host.hpp"

namespace {

struct Box {
  double x, y, width, height;
  std::string title;
};

// Parses the boxes back from the SVG; only boxes of uses have a title.
std::vector<Box> boxes_of(const std::string& svg) {
  static const std::regex pattern(
      "<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\" "
      "height=\"([0-9.]+)\"[^<]*><title>([^<]*)</title></rect>");
  std::vector<Box> boxes;
  for (auto match = std::sregex_iterator(svg.begin(), svg.end(), pattern);
       match != std::sregex_iterator(); ++match)
    boxes.push_back({std::stod((*match)[1]), std::stod((*match)[2]), std::stod((*match)[3]),
                     std::stod((*match)[4]), (*match)[5]});
  return boxes;
}

}  // namespace

TEST_CASE("memory drawing: one box per value, without overlaps and inside the plot area") {
  RandomGraphHost host;
  for (const std::uint32_t n : {0U, 1U, 10U, 13U}) {
    CAPTURE(n);
    const auto graph = random_graph(host, n);
    const auto plan = tenon::Session(graph).plan({});
    const auto boxes = boxes_of(tenon::draw_memory(plan));
    CHECK(std::ssize(boxes) == std::count_if(plan.memory.begin(), plan.memory.end(),
                                             [](const auto& use) { return use.bytes > 0; }));
    constexpr double slack = 0.02;  // coordinates have two decimals
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const auto& [x, y, width, height, title] = boxes[i];
      CAPTURE(boxes[i].title);
      CHECK((x >= 90 && y >= 30 - slack && x + width <= 1050 + slack && y + height <= 510 + slack));
      for (std::size_t j = 0; j < i; ++j) {
        const auto& other = boxes[j];
        const bool apart = x + width <= other.x + slack || other.x + other.width <= x + slack ||
                           y + height <= other.y + slack || other.y + other.height <= y + slack;
        if (!apart) FAIL_CHECK(title << " lies over " << other.title);
      }
    }
  }
}

TEST_CASE("memory drawing: escaped names, workspaces and in-place reuse") {
  RandomGraphHost host;
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::DType::f32, {16});
  const auto a = graph.add("mix", {x}, {{"size", 16}, {"scratch", 16}}, "a<b & \"c\">");
  const auto b = graph.add("quadratic", {a}, {}, "next");
  graph.output("y", graph.add("mix", {b}, {{"size", 1}}, "y"));
  const auto svg = tenon::draw_memory(tenon::Session(graph).plan({}));
  std::vector<std::string> titles;
  std::vector<double> begins, widths;  // three steps, each a third of 960
  for (const auto& box : boxes_of(svg)) {
    titles.push_back(box.title);
    begins.push_back(box.x);
    widths.push_back(box.width);
  }
  CHECK(titles == std::vector<std::string>{
                      "a&lt;b &amp; \"c\"&gt;: 64 bytes at 0, steps 0 to 1",
                      "a&lt;b &amp; \"c\"&gt; (workspace): 64 bytes at 64, steps 0 to 0",
                      "next: 64 bytes at 0, steps 1 to 2, in place of a&lt;b &amp; \"c\"&gt;"});
  CHECK(begins == std::vector<double>{90, 90, 410});
  CHECK(widths == std::vector<double>{320, 320, 640});
  CHECK(svg.find("<title>lower bound: 128 bytes</title>") != std::string::npos);
  CHECK(svg.find("a<b") == std::string::npos);
}

TEST_CASE("memory drawing: a graph that needs no memory") {
  RandomGraphHost host;
  tenon::Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", tenon::DType::f32, {16})}));
  const auto svg = tenon::draw_memory(tenon::Session(graph).plan({}));
  CHECK(boxes_of(svg).empty());
  CHECK(svg.find("1 step, 0 bytes of memory") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("memory drawing: rejects a value in an arena that the plan does not have") {
  tenon::PlanInfo plan;
  plan.arenas.resize(1);
  plan.memory.push_back({.name = "y", .in_place_of = {}, .arena = 7, .bytes = 4});
  for (const auto& failure : {failure_of([&] { tenon::draw_memory(plan); }),
                              failure_of([&] { tenon::describe_memory(plan); })}) {
    CHECK(failure.kind == 2);
    CHECK(failure.message == "the memory of 'y' is in arena 7, but the plan has 1");
  }
}
