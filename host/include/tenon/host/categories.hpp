// Categorical values: texts as indices into a list of names.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/shape.hpp>
#include <unordered_map>
#include <vector>

namespace tenon {

/// The names of a categorical value (ValueInfo::categories), to convert texts for runs and the
/// results of runs. Threads: any number of readers.
class TENON_API Categories {
 public:
  /// Throws Failure (usage) if a name occurs twice.
  explicit Categories(std::vector<std::string> names);
  Categories(const Categories&) = delete;
  Categories& operator=(const Categories&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  /// Returns -1 for a text that is not a name.
  std::int64_t index_of(std::string_view text) const;
  /// Indices of texts in row-major order; -1 for those that are not names. `dtype`: int32 or int64.
  /// Throws Failure (usage) if there are not as many texts as the shape has elements.
  Tensor indices_of(std::span<const std::string> texts, const Shape& shape,
                    DType dtype = DType::i64) const;
  /// The names of a dense tensor's elements in row-major order. Throws Failure: (usage) unless it
  /// is int32 or int64, (failed) for an index without a name, such as -1; `what` names the tensor,
  /// "output 'label'".
  std::vector<std::string_view> names_of(const Tensor& indices, const std::string& what) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, std::int64_t> indices_;  // views of names_
};

}  // namespace tenon
