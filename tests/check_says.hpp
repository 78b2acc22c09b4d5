// A check of the facts in a message: names, found and needed values, but not its wording. Whole
// messages are compared only by tests of what the program prints, and by tables of refusals, where
// the sentence itself is the result.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

/// Checks that the message contains each of these texts.
inline void check_says(const std::string& message, const std::vector<std::string>& texts) {
  INFO(message);
  for (const auto& text : texts) {
    INFO("must say: ", text);
    CHECK(message.find(text) != std::string::npos);
  }
}
