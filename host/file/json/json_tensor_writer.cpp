#include <tenon/visit.hpp>

#include "file/json/json_tensor.hpp"
#include "io/json_text.hpp"
#include "tensor/low_bit_tensor.hpp"

namespace tenon {
namespace {

template <class T>
void append_element(std::string& to, const T* at) {
  if constexpr (std::is_same_v<T, bool>)
    to += *reinterpret_cast<const unsigned char*>(at) != 0
              ? "true"
              : "false";  // a file's bytes may be others than 0 and 1
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    to += *at > INT64_MAX ? '"' + fmt::to_string(*at) + '"'
                          : fmt::to_string(*at);  // JSON readers support integers up to 2^63 - 1
  else if constexpr (std::is_integral_v<T>)
    append_json_number(to, static_cast<std::int64_t>(*at));
  else if constexpr (is_complex<T>)
    to += '[', append_json_number(to, at->re), to += ", ", append_json_number(to, at->im),
        to += ']';
  else if constexpr (std::is_same_v<T, double>)
    append_json_number(to, *at);
  else
    append_json_number(to, static_cast<float>(*at));
}

template <class T>
void append_axis(std::string& to, const Shape& shape, int axis, const T*& next) {
  if (axis == shape.rank()) return append_element(to, next++);
  to += '[';
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    if (i != 0) to += ", ";
    append_axis(to, shape, axis + 1, next);
  }
  to += ']';
}

}  // namespace

std::string json_type(const tenon_type& type, const std::vector<std::string_view>& dim_names) {
  std::string text;
  if (type.dtype < TENON_DTYPE_COUNT)
    text = fmt::format("\"dtype\": \"{}\"", name_of(static_cast<DType>(type.dtype)));
  if (type.rank >= 0) {
    text += text.empty() ? "\"shape\": [" : ", \"shape\": [";
    for (int axis = 0; axis < type.rank; ++axis) {
      const auto name = static_cast<std::size_t>(axis) < dim_names.size()
                            ? dim_names[static_cast<std::size_t>(axis)]
                            : "";
      text += axis == 0 ? "" : ", ";
      if (type.dims[axis] < 0 && !name.empty())
        append_json_text(text, name);
      else
        text += fmt::to_string(type.dims[axis]);
    }
    text += ']';
  }
  if (type.storage != TENON_DENSE)
    text += fmt::format("{}\"storage\": \"{}\"", text.empty() ? "" : ", ",
                        name_of(static_cast<Storage>(type.storage)));
  return text;
}

static void append_elements(std::string& to, const char* key, const Tensor& tensor) {
  to += fmt::format("{}\"{}\": ", to.empty() ? "" : ", ", key);
  if (tensor.size() == 0) {  // whatever the shape, which is written separately
    to += "[]";
    return;
  }
  const auto whole = decoded(tensor.to("cpu").make_contiguous());
  visit<every_type>(whole.dtype(), [&]<class T>() {
    const T* next = whole.data<T>();
    append_axis(to, whole.shape(), 0, next);
  });
}

std::string json_elements(const Tensor& tensor) {
  std::string text;
  append_elements(text, "values", tensor.stored_values());
  if (tensor.storage() == Storage::dense) return text;
  if (tensor.storage() == Storage::row_sparse) append_elements(text, "row_ids", tensor.row_ids());
  if (tensor.storage() == Storage::csr) append_elements(text, "columns", tensor.columns());
  if (tensor.storage() == Storage::csr) append_elements(text, "row_starts", tensor.row_starts());
  if (tensor.index_dtype() != i64)
    text += fmt::format(", \"index_dtype\": \"{}\"", name_of(tensor.index_dtype()));
  return text;
}

}  // namespace tenon
