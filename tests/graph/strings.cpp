#include "graph/strings.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>

using namespace tenon;

TEST_CASE("strings: numbers stay the same as strings are added") {
  Strings strings;
  std::map<std::string, StringId> numbers{{"", 0}};
  std::mt19937 random(1);
  for (int i = 0; i < 50000; ++i) {
    std::string text(random() % 40, 'x');
    for (auto& c : text) c = static_cast<char>('a' + random() % 3);
    const auto id = strings.intern(text);
    CHECK(id == numbers.try_emplace(text, static_cast<StringId>(numbers.size())).first->second);
  }
  CHECK(strings.size() == numbers.size());
  for (const auto& [text, id] : numbers) {
    CHECK(strings.find(text) == id);
    CHECK(strings[id] == text);
    CHECK(strings[id].data()[text.size()] == '\0');
  }
  CHECK(strings.find("not there") == 0xffffffff);
}

TEST_CASE("strings: copies are independent; views outlive growth, moves and the original") {
  Strings strings;
  const auto view = strings[strings.intern(std::string(100000, 'l'))];
  strings.intern("b");
  Strings copy = strings;
  copy.intern("only here");
  CHECK(strings.find("only here") == 0xffffffff);
  strings.intern("there alone");
  CHECK(copy[2] == "b");
  CHECK(copy[3] == "only here");
  CHECK(strings[3] == "there alone");
  const Strings moved = std::move(strings);
  for (int i = 0; i < 10000; ++i) copy.intern(std::to_string(i));
  CHECK(moved[1].data() == view.data());
  CHECK(moved.find("b") == 2);
  copy = moved;
  CHECK(copy.size() == 4);
  auto original = std::make_unique<Strings>();
  original->intern("kept");
  const Strings other = *original;
  original.reset();
  CHECK(other[1] == "kept");
}
