#include "io/json_document.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "io/json_text.hpp"

using namespace tenon;

namespace {

std::string error_of(std::string_view text) {
  const auto failure = failure_of([&] { parse_json(text, "g.json"); });
  CHECK((failure.kind == 0 || failure.kind == static_cast<int>(FailureKind::file)));
  return failure.message;
}

double read_back(const std::string& text) {
  const auto document = parse_json(text, "");
  return JsonField(document).number("it");
}

template <class Number>
std::string written(Number value) {
  std::string text;
  append_json_number(text, value);
  return text;
}

}  // namespace

TEST_CASE("json: errors have line and column") {
  const struct {
    const char *text, *error;
  } cases[] = {
      {"", "g.json: the file is empty, but JSON is needed"},
      {" \n", "g.json: the file is empty, but JSON is needed"},
      {"{\n \"a\": tru\n}",
       "g.json:2:10: invalid JSON: syntax error while parsing value - invalid literal; last read: "
       "'\"a\": tru<U+000A>'"},
      {"[1, 2",
       "g.json:1:5: invalid JSON: syntax error while parsing array - unexpected end of input; "
       "expected ']'"},
      {"[1e999]", "g.json:1:7: invalid JSON: number overflow parsing '1e999'"},
      {"{\"a\": 1, \"b\": {\"a\": 2, \"a\": 3}}", "g.json:1:24: duplicate key 'a'"},
      {"{\"ü\": 1,\n\n   \"ü\": 2}", "g.json:3:4: duplicate key 'ü'"},
      {"[1] 2",
       "g.json:1:5: invalid JSON: syntax error while parsing value - unexpected number literal; "
       "expected end of input"},
  };
  for (const auto& wrong : cases) CHECK(error_of(wrong.text) == std::string(wrong.error));
  CHECK(error_of("\"\xff\"").starts_with("g.json:1:2: invalid JSON: "));
  CHECK(error_of(std::string(64, '[') + std::string(64, ']')) == "");
  CHECK(error_of(std::string(100000, '[')) ==
        "g.json:1:65: nested deeper than 64 lists and objects");
}

TEST_CASE("json: every value has its offset") {
  const std::string text = R"({"tab\\": ["q\"uote", -1.5e3,
  true, null , 12,false, {}, [ 7 ]]})";
  const auto document = parse_json(text, "g.json");
  std::string places;
  const JsonField root(document);
  for (const auto& entry : root.object("it")) {
    places += location_of(document, entry.key_offset) + ' ' + entry.value.location();
    for (const auto& item : entry.value.list("it")) places += ' ' + item.location().substr(7);
  }
  CHECK(places == "g.json:1:2 g.json:1:11 1:12 1:23 2:3 2:9 2:16 2:19 2:26 2:30");
}

TEST_CASE("json: a field of the wrong kind") {
  const auto document = parse_json(R"({"a": 1, "b": [1.5, "x"], "shape": {}})", "g.json");
  const JsonField root(document);
  const auto message = [&](auto&& call) { return failure_of(call).message; };
  CHECK(message([&] { root.find("a")->text("'a'"); }) ==
        "g.json:1:7: 'a' is an integer but must be a string");
  CHECK(message([&] { root.find("b")->list("b")[0].integer("an entry"); }) ==
        "g.json:1:16: an entry is a number but must be a 64-bit integer");
  check_says(message([&] { root.find("b")->list("b")[1].number("an entry"); }),
             {"g.json:1:21:", "a string", "must be a number, \"inf\", \"-inf\" or \"nan\""});
  CHECK(message([&] { root.find("shape")->list("'shape'"); }) ==
        "g.json:1:36: 'shape' is an object but must be a list");
  CHECK(message([&] { root.need("c", "the graph"); }) == "g.json:1:1: the graph lacks 'c'");
  const auto unknown = failure_of([&] { root.object("the graph", {"a", "b", "shapes"}); });
  CHECK(unknown.message == "g.json:1:27: the graph has no 'shape'");
  CHECK(unknown.hint == "did you mean shapes?");
}

TEST_CASE("json: doubles round-trip exactly") {
  for (const double value :
       {0.0, -0.0, 1.0, 0.1, -2.5, 1e300, 5e-324, 1.7976931348623157e308, 9007199254740993.0, 1e22,
        123456789.125, HUGE_VAL, -HUGE_VAL, std::bit_cast<double>(0x7ff8000000000000),
        std::bit_cast<double>(0xfff8000000000000), std::bit_cast<double>(0x7ff8dead0000beef)})
    CHECK(std::bit_cast<std::uint64_t>(read_back(written(value))) ==
          std::bit_cast<std::uint64_t>(value));
  CHECK(written(1.0) == "1.0");
  CHECK(written(-0.0) == "-0.0");
  CHECK(written(0.1) == "0.1");
  CHECK(written(1e300) == "1e+300");
  CHECK(written(-HUGE_VAL) == "\"-inf\"");
  std::mt19937_64 random(1);
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<double>(random());
    wrong += std::isfinite(value) &&
             std::bit_cast<std::uint64_t>(std::strtod(written(value).c_str(), nullptr)) !=
                 std::bit_cast<std::uint64_t>(value);
  }
  CHECK(wrong == 0);
}

TEST_CASE("json: floats round-trip through a double") {
  CHECK(written(0.1F) == "0.1");
  std::mt19937 random(1);
  int wrong = 0;
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    wrong += std::isfinite(value) &&
             static_cast<float>(std::strtod(written(value).c_str(), nullptr)) != value;
  }
  CHECK(wrong == 0);
}

TEST_CASE("json: numbers in any notation") {
  CHECK(read_back("-0") == 0);
  CHECK(std::signbit(read_back("-0")));
  CHECK(read_back("18446744073709551615") == 18446744073709551615.0);
  CHECK(read_back("\"inf\"") == HUGE_VAL);
  const auto document =
      parse_json("[9223372036854775807, -9223372036854775808, 9223372036854775808]", "g.json");
  const auto list = JsonField(document).list("it");
  CHECK(list[0].integer("it") == INT64_MAX);
  CHECK(list[1].integer("it") == INT64_MIN);
  CHECK(failure_of([&] { list[2].integer("it"); }).message ==
        "g.json:1:45: it is a number but must be a 64-bit integer");
}

TEST_CASE("json: strings keep every character") {
  for (const std::string& text : {std::string("plain"), std::string("q\"\\/ü€𝄞\n\t\r\x01\x7f"),
                                  std::string("a\0b", 3), std::string()}) {
    std::string json;
    append_json_text(json, text);
    const auto document = parse_json(json, "");
    CHECK(JsonField(document).text("it") == text);
  }
}

TEST_CASE("json: strings escape terminal control and bidirectional characters") {
  const std::string text = "\x1b[2J\x7f\u0080\u009f\u00a0\u202a\u202e\u2066\u2069\u2070ü€";
  std::string json;
  append_json_text(json, text);
  CHECK(json == "\"\\u001b[2J\\u007f\\u0080\\u009f\u00a0\\u202a\\u202e\\u2066\\u2069\u2070ü€\"");
  CHECK(JsonField(parse_json(json, "")).text("it") == text);
}
