// Inline functions and variables of a library in version VERSION, which a loader makes unique in a
// process (STB_GNU_UNIQUE): a shared library that counts with them (COUNTER), and plugins.
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

#ifdef COUNTER
__attribute__((visibility("default"))) int count_in_library() {
  return ++calls();
}
#else
#include "../doubling.hpp"

int count_in_library();

/// Returns how often it (with LIBRARY, its library and it) has counted so far.
struct Counts : Doubling {
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
#ifdef LIBRARY
    for (std::int64_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<float>(i % 2 == 0 ? count_in_library() : ++calls());
#else
    const int now = ++calls() + version + number_of<int>();
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(now);
#endif
  }
};
TENON_OPERATOR(counts, Counts)
#endif
