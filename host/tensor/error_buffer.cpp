#include "tensor/error_buffer.hpp"

#include <cstring>

#include "io/utf8.hpp"

namespace tenon {

// Always a single printable line, because messages reach terminals and logs of applications
// unfiltered.
std::string ErrorBuffer::reason() const {
  const auto length = strnlen(text, sizeof text);
  return length == 0 ? "it failed without giving a reason" : printable({text, length});
}

}  // namespace tenon
