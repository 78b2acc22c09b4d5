#include "graph/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <unordered_set>

#include "io/utf8.hpp"
#include "tensor/low_bit_tensor.hpp"
#include "tensor/number_fits.hpp"

namespace tenon {
namespace {

bool is_device_name(std::string_view device) {
  if (device == "cpu" || device == "cuda") return true;
  if (!device.starts_with("cuda:")) return false;
  const auto number = device.substr(5);
  const bool digits =
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !number.empty() && (number == "0" || number[0] != '0');
}

bool represents(DType dtype, double value) {
  if (low_bit.has(dtype)) return fits_low_bit(dtype, value);
  return dtype == DType::boolean ||
         visit<every_type>(dtype, [&]<class T>() { return fits<T>(value); });
}

}  // namespace

void check_name_text(std::string_view name, const char* what) {
  if (name.empty()) throw Failure(FailureKind::usage, fmt::format("the name of {} is empty", what));
  if (!is_utf8(name))
    throw Failure(FailureKind::usage, fmt::format("the name '{}' is not UTF-8", printable(name)));
  if (name.find_first_of(":\n\t") != std::string_view::npos || !is_plain_text(name))
    throw Failure(
        FailureKind::usage,
        fmt::format("the name '{}' contains a colon or a control character", printable(name)),
        "a colon separates a node's name from the number of its output, as in 'split:1'");
}

void check_init(std::string_view name, const Init& init, const tenon_type& type) {
  const bool finite = std::isfinite(init.a) && std::isfinite(init.b);
  if (init.kind == Init::Kind::uniform && !(finite && init.a <= init.b))
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "the init of '{}' is uniform from {} to {} but needs two finite numbers, the first not "
            "above the second",
            name, init.a, init.b));
  if (init.kind == Init::Kind::normal && !(finite && init.b >= 0))
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "the init of '{}' is normal with mean {} and standard deviation {}, but both must be "
            "finite and the deviation 0 or more",
            name, init.a, init.b));
  if (init.kind == Init::Kind::value && type.dtype < TENON_DTYPE_COUNT &&
      !represents(static_cast<DType>(type.dtype), init.a))
    throw Failure(FailureKind::usage,
                  fmt::format("the initial value of '{}' is {}, which does not fit {}", name,
                              init.a, name_of(static_cast<DType>(type.dtype))));
}

void check_storage(std::string_view name, Role role, const tenon_type& type) {
  if (role == Role::state && type.storage != TENON_DENSE)
    throw Failure(FailureKind::usage, fmt::format("the state '{}' is {} but must be dense", name,
                                                  name_of(static_cast<Storage>(type.storage))));
}

void check_categories(std::string_view value, const tenon_type& type,
                      const std::vector<std::string_view>& names) {
  const auto dtype = static_cast<DType>(type.dtype);
  if (type.dtype != TENON_DTYPE_UNKNOWN && dtype != i32 && dtype != i64)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is {}, but a value with categories must be int32 or int64",
                              value, name_of(dtype)));
  if (names.size() > INT32_MAX)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' has {} categories, but at most {} are possible", value,
                              names.size(), INT32_MAX));
  std::unordered_set<std::string_view> seen(names.size());
  for (const auto name : names) {
    if (!is_utf8(name) || name.find('\0') != std::string_view::npos)
      throw Failure(FailureKind::usage,
                    fmt::format("the category '{}' of '{}' is not UTF-8 without zero bytes",
                                printable(name), value));
    if (!seen.insert(name).second)
      throw Failure(FailureKind::usage,
                    fmt::format("'{}' has the category '{}' twice", value, printable(name)));
  }
}

void check_node_device(std::string_view node, std::string_view device) {
  if (!device.empty() && !is_device_name(device))
    throw Failure(
        FailureKind::usage,
        fmt::format("the device of node '{}' is '{}' but must be cpu, cuda or cuda:NUMBER", node,
                    printable(device)));
}

}  // namespace tenon
