#include "tensor/error_buffer.hpp"

#include <cstring>

#include "io/utf8.hpp"

namespace tenon {

// One line, whatever the plugin wrote: messages reach terminals and logs of applications that look no further at them.
std::string ErrorBuffer::reason() const {
  const auto length = strnlen(text, sizeof text);
  return length == 0 ? "it failed without giving a reason" : printable({text, length});
}

}  // namespace tenon
