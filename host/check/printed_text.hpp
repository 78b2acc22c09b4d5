// Captures what plugin code prints.
#pragma once
#include <array>
#include <string>

namespace tenon::checks {

/// Redirects descriptors 1 and 2 to memory during its lifetime. If that fails, they are unchanged
/// and nothing is captured.
class PrintedText {
 public:
  PrintedText();
  ~PrintedText();
  PrintedText(const PrintedText&) = delete;
  PrintedText& operator=(const PrintedText&) = delete;

  struct Texts {
    std::string out, err;
  };
  /// Returns the text printed since the last call. It is also copied to the real stderr, to help
  /// locate the code.
  Texts take();

 private:
  struct Stream {
    int descriptor = -1, real = -1, memory = -1;
  };
  std::string take(const Stream& stream) const;

  std::array<Stream, 2> streams_;
};

}  // namespace tenon::checks
