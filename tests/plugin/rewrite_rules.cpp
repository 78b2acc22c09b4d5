// Rewrite rules: what is parsed, and what is refused, since manifests are untrusted.
#include <doctest/doctest.h>

#include <tenon/host/operator_info.hpp>

#include "failure_of.hpp"
#include "manifest_source.hpp"
#include "plugin/rewrite_rule.hpp"

using namespace tenon;

namespace {

std::string refusal_of(const std::string& pattern, const std::string& replacement) {
  return failure_of([&] { parse_rule({"r", pattern, replacement, false}); }).message;
}

}  // namespace

TEST_CASE(
    "rewrite rules: a text becomes calls (inner ones first), variables, captures and literals") {
  const auto rule = parse_rule({"r",
                                "relu( acme.conv(x, w!, bias = b?; pad=[1, 2], eps=$e, "
                                "mode=\"max\", flip=true, a=-2.5, ...c) )",
                                "fused(x, w, bias=b?; eps=$e, ...c)", true});
  REQUIRE(rule.pattern.size() == 2);
  const auto& conv = rule.pattern[0];
  CHECK(conv.op == "acme.conv");
  CHECK(rule.root().op == "relu");
  CHECK((rule.root().inputs[0].operand.call && rule.root().inputs[0].operand.index == 0));
  REQUIRE(rule.variables.size() == 3);
  CHECK((rule.variables[1].constant && !rule.variables[0].constant && rule.variables[2].optional));
  CHECK((conv.inputs[2].name == "bias" && conv.inputs[0].name.empty()));
  CHECK(conv.params[0].value == AttributeValue(std::vector<std::int64_t>{1, 2}));
  CHECK((conv.params[1].capture == 0u && rule.captures[0] == "e"));
  CHECK(conv.params[2].value == AttributeValue("max"));
  CHECK(conv.params[3].value == AttributeValue(true));
  CHECK(conv.params[4].value == AttributeValue(-2.5));
  CHECK((conv.rest == "c" && rule.replacement[0].rest == "c" && rule.exact));
  CHECK_FALSE(parse_rule({"r", "dropout(x; ...)", "x", true}).result.call);
}

TEST_CASE("rewrite rules: numbers are constants of their own, and values may have a rank") {
  const auto rule = parse_rule({"r", "div(mul(x:4, add(x, 3)), -1.5)", "f(x)", false});
  REQUIRE(rule.variables.size() == 3);
  CHECK((rule.variables[0].rank == 4 && !rule.variables[0].number));
  CHECK((rule.variables[1].number == 3.0 && rule.variables[1].constant));
  CHECK(rule.variables[2].number == -1.5);
  CHECK(parse_rule({"r", "add(x!?:0, 1)", "f(x)", false}).variables[0].rank == 0);
  CHECK(parse_rule({"r", "add(mul(x, 2), 2)", "f(x)", false}).variables.size() == 3);
}

TEST_CASE("rewrite rules: invalid texts are refused with the fault and its column") {
  struct Case {
    std::string pattern, replacement, sentence;
  };
  std::string deep, wide = "f(";
  for (int i = 0; i < 2000; ++i) deep += "f(";
  for (int i = 0; i < 40; ++i) wide += (i == 0 ? "g(x)" : ", g(x)");
  const std::vector<Case> cases = {
      {"", "x", "the pattern has the end at column 1 but needs a name"},
      {"x", "x", "the pattern matches every value; name at least one operator"},
      {"f(x", "x", "the pattern has the end at column 4 but needs ')'"},
      {"f(x) y", "x", "the pattern has 'y' at column 6 but needs the end"},
      {"f(x; a)", "x", "the pattern has ')' at column 7 but needs '='"},
      {"f(x; a=)", "x", "the pattern has ')' at column 8 but needs a number"},
      {"f(x; a=[1, )", "x", "the pattern has ')' at column 12 but needs a number"},
      {"f(x; a=\"b)", "x", "the pattern has 'b)' at column 9 but needs a closing '\"'"},
      {"f(x; a=perhaps)", "x",
       "the pattern has 'perhaps)' at column 8 but needs true, false, a number, a text in quotes, "
       "a list or $name"},
      {"f(x; a=1, a=2)", "x", "the pattern mentions parameter 'a' twice in one call"},
      {"f(x; ..., ...)", "x", "the pattern has two '...' in one call"},
      {"f(x)", "y", "the replacement has 'y', which is not in the pattern"},
      {"f(x)", "g(x; a=$e)", "the replacement has '$e', which is not in the pattern"},
      {"f(&x)", "x", "the pattern has '&' in front of 'x', which is not a call"},
      {"f(x)", "g(&h(x))", "the replacement has '&h(x))' at column 3 but needs a name"},
      {"f(x)", "g(x!)",
       "the replacement has '!)' at column 4 but needs no '!', which is allowed only in the "
       "pattern,"},
      {"f(x)", "g(x; ...)", "the replacement has '...', which no call of the pattern has"},
      {"f(g(x; ...); ...)", "h(x; ...)",
       "the replacement has '...', which several calls of the pattern have: give each a label, as "
       "in ...a"},
      {"f(x?)", "x", "the replacement is 'x', which is optional and may be missing"},
      {"f(x)", "f(f(x))",
       "the replacement contains the pattern again, so the rule would never terminate"},
      {"f(x, y)", "g(f(y, x))",
       "the replacement contains the pattern again, so the rule would never terminate"},
      {"1f(x)", "x", "the pattern has '1f(x)' at column 1 but needs a name"},
      {"1", "x", "the pattern has '1' at column 1 but needs a name"},
      {"f(1x)", "x", "the pattern has 'x)' at column 4 but needs ')'"},
      {"f(-)", "x", "the pattern has '-)' at column 3 but needs a number"},
      {"f(x)", "g(x, 1)", "the replacement has '1)' at column 6 but needs a name"},
      {"f(x:)", "x", "the pattern has ')' at column 5 but needs a number of dimensions, at most 8"},
      {"f(x:9)", "x",
       "the pattern has '9)' at column 5 but needs a number of dimensions, at most 8"},
      {"f(x)", "g(x:1)", "the replacement has ':1)' at column 4 but needs ')'"},
      {"f(a.b)", "x", "the pattern has operator 'a.b' without '(' after its name"},
      {deep, "x", "the pattern is nested deeper than 12 calls"},
      {wide + ")", "x", "the pattern has more than 32 calls"},
      {std::string(5000, 'f'), "x", "the pattern has 5000 bytes; at most 4000 are allowed"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.pattern.substr(0, 60));
    CHECK(refusal_of(test.pattern, test.replacement) == test.sentence);
  }
  CHECK(refusal_of("f(x; a=1)", "f(x; a=2)").empty());  // does not match again
  CHECK(refusal_of("f(f(x))", "f(x)").empty());
}

TEST_CASE("rewrite rules: every short text over the language's characters is parsed or refused") {
  const std::string_view parts[] = {"f",  "(", ")", ",", ";", "=", "!", "?", "...", "$",
                                    "\"", "[", "]", "1", "-", ".", " ", "x", "\xff"};
  std::uint32_t state = 1;
  int read = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = "f(";
    for (int i = 0; i < 8; ++i)
      text += parts[((state = state * 1664525u + 1013904223u) >> 8) % std::size(parts)];
    read += refusal_of(text, "x").empty();
  }
  CHECK(read < 20000);
}

TEST_CASE(
    "rewrite rules: are part of a manifest's description; an invalid rule refuses the manifest") {
  const auto read = [](Json manifest) {
    const auto bytes = Json::to_cbor(manifest);
    return read_manifest(std::as_bytes(std::span(bytes)));
  };
  auto manifest = sound_manifest();
  manifest["rewrites"] = Json::array();
  manifest["rewrites"].push_back(
      {{"name", "twice"}, {"pattern", "f(scale_up(x))"}, {"replacement", "x"}, {"exact", true}});
  const auto info = read(manifest);
  REQUIRE(info.rewrites.size() == 1);
  CHECK((info.rewrites[0].name == "twice" && info.rewrites[0].exact));

  const auto refusal = [&](const char* key, Json value) {
    auto other = manifest;
    other["rewrites"][0][key] = std::move(value);
    return failure_of([&] { read(other); }).message;
  };
  CHECK(refusal("pattern", "f(x")
            .find("rule 'twice': the pattern has the end at column 4 but needs ')'") !=
        std::string::npos);
  CHECK(refusal("name", "no name").find("must be a name") != std::string::npos);
  CHECK(refusal("exact", 1) != "");
  CHECK(refusal("pattern", 3) != "");
  manifest["rewrites"].push_back(manifest["rewrites"][0]);
  CHECK(failure_of([&] {
          read(manifest);
        }).message.find("is 'twice', which is also the name of an earlier rule") !=
        std::string::npos);
}
