// Inline functions and variables of a library in version VERSION, which a loader makes unique in a
// process (STB_GNU_UNIQUE).
#pragma once

#pragma GCC visibility push(default)
inline int& calls() {
  static int count = 100 * VERSION;
  return count;
}
inline int version = VERSION;
template <class T>
int& number_of() {
  static int number = VERSION;
  return number;
}
#pragma GCC visibility pop
