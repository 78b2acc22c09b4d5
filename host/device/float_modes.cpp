#include "device/float_modes.hpp"

#include <fmt/format.h>

namespace tenon {
namespace {

struct Field {
  std::uint64_t mask;
  const char* name;
  const char* values[4];  // in the order of the field's bits; null: print the number
};

#if defined(__SSE2__)
constexpr Field fields[] = {
    {0x8000, "flush-to-zero", {"off", "on"}},
    {0x0040, "denormals-are-zero", {"off", "on"}},
    {0x6000, "rounding", {"to nearest", "downward", "upward", "toward zero"}},
    {0x1f80, "the exception mask", {}},
    {std::uint64_t{0x0c00} << 32,
     "x87 rounding",
     {"to nearest", "downward", "upward", "toward zero"}},
    {std::uint64_t{0x0300} << 32, "x87 precision", {"24 bits", "reserved", "53 bits", "64 bits"}},
    {std::uint64_t{0x003f} << 32, "the x87 exception mask", {}},
    {std::uint64_t{1} << 48, "the x87 stack", {"empty", "not empty"}},
};
#elif defined(__aarch64__)
constexpr Field fields[] = {
    {std::uint64_t{1} << 24, "flush-to-zero", {"off", "on"}},
    {std::uint64_t{3} << 22, "rounding", {"to nearest", "upward", "downward", "toward zero"}},
    {std::uint64_t{1} << 25, "default-NaN", {"off", "on"}},
    {0x9f00, "the enabled traps", {}},
};
#else
constexpr Field fields[] = {{0, "nothing", {}}};
#endif

}  // namespace

std::string FloatModes::difference_from(const FloatModes& before) const {
  std::string text;
  for (const auto& field : fields) {
    if ((bits_ & field.mask) == (before.bits_ & field.mask)) continue;
    const auto value = (bits_ & field.mask) / (field.mask & -field.mask);
    text += fmt::format("{}{} is ", text.empty() ? "" : ", ", field.name);
    text += field.values[0] != nullptr ? field.values[value] : fmt::format("{:#x}", value);
  }
  return text.empty() ? "an unnamed mode differs" : text;
}

}  // namespace tenon
