// A shared library that counts in a variable of its header.
#include "counter.hpp"

__attribute__((visibility("default"))) int count_in_library() {
  return ++calls();
}
