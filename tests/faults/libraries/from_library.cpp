// Multiplies by its library's number.
#include "../doubling.hpp"

extern "C" int number();

struct FromLibrary : Doubling {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(number()) * x[i];
  }
};
TENON_OPERATOR(from_library, FromLibrary)
