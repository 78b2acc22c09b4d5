// Returns how often it (with LIBRARY, its library and it) has counted so far.
#include "../doubling.hpp"
#include "counter.hpp"

int count_in_library();

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
