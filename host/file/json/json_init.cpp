#include "file/json/json_init.hpp"

#include <algorithm>
#include <array>

#include "io/json_text.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

struct InitWord {
  Init::Kind kind;
  std::string_view word;
  std::size_t numbers;
};
constexpr std::array words = {
    InitWord{Init::Kind::zeros, "zeros", 0}, InitWord{Init::Kind::ones, "ones", 0},       InitWord{Init::Kind::xavier, "xavier", 0},
    InitWord{Init::Kind::he, "he", 0},       InitWord{Init::Kind::uniform, "uniform", 2}, InitWord{Init::Kind::normal, "normal", 2},
    InitWord{Init::Kind::value, "value", 1},
};
constexpr const char* choices = R"("zeros", "ones", "xavier", "he", {"uniform": [a, b]}, {"normal": [mean, sd]} or {"value": v})";

Init read_numbers(const JsonField& field, const InitWord& word, const JsonField& content) {
  Init init{word.kind, 0, 0};
  if (word.numbers == 1) {
    init.a = content.number("the value");
    return init;
  }
  const auto numbers = content.list(fmt::format("what follows \"{}\"", word.word));
  if (numbers.size() != 2) field.refuse("\"{}\" needs two numbers, and has {}", word.word, numbers.size());
  init.a = numbers[0].number("the first number");
  init.b = numbers[1].number("the second number");
  return init;
}

}  // namespace

Init read_init(const JsonField& field, std::string_view what) {
  const auto find = [&](std::string_view word, bool numbers) {
    const auto* found = std::find_if(words.begin(), words.end(), [&](const auto& known) { return known.word == word; });
    if (found == words.end() || (found->numbers != 0) != numbers)
      field.refuse("{} is \"{}\" but must be {}", what, printable(word), choices);
    return *found;
  };
  if (const auto* word = field.get<std::string>()) return {find(*word, false).kind, 0, 0};
  if (field.get<JsonValue::Object>() == nullptr) field.refuse("{} must be {}", what, choices);
  const auto entries = field.object(what);
  if (entries.size() != 1) field.refuse("{} has {} keys but must be {}", what, entries.size(), choices);
  return read_numbers(field, find(entries[0].key, true), entries[0].value);
}

void append_init(std::string& to, const Init& init) {
  const auto* word = std::find_if(words.begin(), words.end(), [&](const auto& known) { return known.kind == init.kind; });
  if (word->numbers == 0) return append_json_text(to, word->word);
  to += fmt::format("{{\"{}\": {}", word->word, word->numbers == 2 ? "[" : "");
  append_json_number(to, init.a);
  if (word->numbers == 2) to += ", ", append_json_number(to, init.b), to += ']';
  to += '}';
}

}  // namespace tenon
