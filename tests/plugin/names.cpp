// Validation of plugin texts, and near names.
#include <doctest/doctest.h>

#include <string>
#include <tenon/host/catalog.hpp>

#include "io/utf8.hpp"

using namespace tenon;

TEST_CASE("is_identifier") {
  for (const char* good : {"a", "_", "fully_connected", "Conv2D", "x1"})
    CHECK_MESSAGE(is_identifier(good), good);
  for (const char* bad : {"", "1x", "a-b", "a b", "a.b", "\xc3\xa4", "a\n"})
    CHECK_FALSE_MESSAGE(is_identifier(bad), bad);
  CHECK(is_identifier(std::string(128, 'a')));
  CHECK_FALSE(is_identifier(std::string(129, 'a')));
}

TEST_CASE("is_plain_text: UTF-8 that cannot control a terminal") {
  for (const char* good : {"", "x^2", "two\nlines\tand a tab", "\xc3\xa4", "\xe2\x82\xac",
                           "\xf0\x9f\x99\x82", "\xf4\x8f\xbf\xbf"}) {
    CHECK_MESSAGE(is_plain_text(good), good);
  }
  struct Case {
    const char* what;
    std::string text;
  };
  const Case bad[] = {{"escape", "\x1b[2J"},
                      {"zero byte", std::string(1, '\0')},
                      {"carriage return", "a\rb"},
                      {"C1 control", "\xc2\x9b"},
                      {"lone continuation", "\x80"},
                      {"truncated", "\xe2\x82"},
                      {"overlong slash", "\xc0\xaf"},
                      {"overlong, 3 bytes", "\xe0\x80\xaf"},
                      {"surrogate", "\xed\xa0\x80"},
                      {"above U+10FFFF", "\xf4\x90\x80\x80"},
                      {"invalid first byte", "\xff"},
                      {"right-to-left override",
                       "a\xe2\x80\xae"
                       "b"}};
  for (const Case& c : bad) CHECK_FALSE_MESSAGE(is_plain_text(c.text), c.what);
}

TEST_CASE("similar_names") {
  const std::vector<std::string> names{"quadratic", "convolution", "cos", "cosh",
                                       "sin",       "add",         "and", "fully_connected",
                                       "max_pool"};
  struct Case {
    std::string name;
    std::vector<std::string> near;
  };
  const Case cases[] = {{"quadratc", {"quadratic"}},
                        {"quadartic", {"quadratic"}},
                        {"Quadratic", {"quadratic"}},
                        {"adn", {"add", "and"}},
                        {"coss", {"cos", "cosh"}},
                        {"maxpool", {"max_pool"}},
                        {"fullyconected", {"fully_connected"}},
                        {"banana", {}},
                        {"", {}},
                        {"xyz", {}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(similar_names(c.name, names) == c.near);
  }
  CHECK(similar_names("aaaa", {"aaab", "aaba", "abaa", "baaa"}).size() == 3);
  CHECK(similar_names(std::string(100000, 'a'), names).empty());
}
