// What is printed while code of a plugin runs.
#pragma once
#include <array>
#include <string>

namespace tenon::checks {

/// While it lives, descriptors 1 and 2 lead to memory. Where that cannot be had, they stay what they are and nothing is found.
class PrintedText {
 public:
  PrintedText();
  ~PrintedText();
  PrintedText(const PrintedText&) = delete;
  PrintedText& operator=(const PrintedText&) = delete;

  struct Texts {
    std::string out, err;
  };
  /// What was printed since the last call. It also goes to the real stderr, for whoever looks for the printing code.
  Texts take();

 private:
  struct Stream {
    int descriptor = -1, real = -1, memory = -1;
  };
  std::string take(const Stream& stream) const;

  std::array<Stream, 2> streams_;
};

}  // namespace tenon::checks
