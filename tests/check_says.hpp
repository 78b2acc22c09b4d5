// A check of the facts in a message, for tests that need not know its wording.
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
