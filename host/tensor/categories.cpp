#include <fmt/format.h>

#include <tenon/host/categories.hpp>
#include <tenon/host/failure.hpp>

#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

template <class T>
void append_names(const Tensor& indices, const std::vector<std::string>& names,
                  const std::string& what, std::vector<std::string_view>& to) {
  for (const auto index : indices.values<T>()) {
    if (index < 0 || static_cast<std::uint64_t>(index) >= names.size())
      throw Failure(FailureKind::failed,
                    fmt::format("element {} of {} is the index {}, but it has {}", to.size(), what,
                                index, counted(names.size(), "category", "categories")),
                    index == -1 ? "-1 stands for a text without a category" : "");
    to.push_back(names[static_cast<std::size_t>(index)]);
  }
}

}  // namespace

Categories::Categories(std::vector<std::string> names) : names_(std::move(names)) {
  indices_.reserve(names_.size());
  for (const auto& name : names_)
    if (!indices_.emplace(name, static_cast<std::int64_t>(indices_.size())).second)
      throw Failure(FailureKind::usage,
                    fmt::format("the category '{}' occurs twice", printable(name)));
}

std::int64_t Categories::index_of(std::string_view text) const {
  const auto found = indices_.find(text);
  return found == indices_.end() ? -1 : found->second;
}

Tensor Categories::indices_of(std::span<const std::string> texts, const Shape& shape,
                              DType dtype) const {
  if (static_cast<std::int64_t>(texts.size()) != shape.size())
    throw Failure(FailureKind::usage,
                  fmt::format("{} are not {}", counted(texts.size(), "text"), to_string(shape)));
  if (dtype != i32 && dtype != i64)
    throw Failure(FailureKind::usage,
                  fmt::format("indices of categories are int32 or int64, not {}", name_of(dtype)));
  auto made = Tensor::empty(dtype, shape);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto index = index_of(texts[i]);
    if (dtype == i64)
      made.data<std::int64_t>()[i] = index;
    else
      made.data<std::int32_t>()[i] = static_cast<std::int32_t>(index);
  }
  return made;
}

std::vector<std::string_view> Categories::names_of(const Tensor& indices,
                                                   const std::string& what) const {
  const auto here = indices.to("cpu").make_contiguous();
  if (here.storage() != Storage::dense || (here.dtype() != i32 && here.dtype() != i64))
    throw Failure(FailureKind::usage,
                  fmt::format("{} is {} {}, but indices of categories are dense int32 or int64",
                              what, name_of(here.storage()), name_of(here.dtype())));
  std::vector<std::string_view> found;
  found.reserve(static_cast<std::size_t>(here.size()));
  here.dtype() == i64 ? append_names<std::int64_t>(here, names_, what, found)
                      : append_names<std::int32_t>(here, names_, what, found);
  return found;
}

}  // namespace tenon
