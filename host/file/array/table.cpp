// Tables: .csv files whose first line names the columns.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <tenon/host/arrays.hpp>
#include <tenon/host/categories.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

#include "file/array/array_file.hpp"
#include "file/array/csv.hpp"
#include "io/counted.hpp"
#include "io/file_memory.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

using Cells = std::vector<std::string_view>;

std::string_view trimmed(std::string_view cell) {
  const auto begin = std::min(cell.find_first_not_of(" \t"), cell.size());
  return cell.substr(begin, cell.find_last_not_of(" \t") + 1 - begin);
}

// Returns false if the cell is not a number of the type. An empty cell is NaN.
template <class T>
bool parse_cell(std::string_view cell, T& number) {
  if constexpr (std::is_same_v<T, bool>) {
    number = cell == "true" || cell == "True" || cell == "1";
    return number || cell == "false" || cell == "False" || cell == "0";
  } else if constexpr (is_half<T>) {
    float wide = 0;
    const bool is_number = parse_cell(cell, wide);
    number = T(wide);
    return is_number && (std::isfinite(static_cast<float>(number)) || !std::isfinite(wide));
  } else if constexpr (is_complex<T>) {
    return false;
  } else {
    if constexpr (std::is_floating_point_v<T>)
      if (cell.empty()) return number = std::numeric_limits<T>::quiet_NaN(), true;
    if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    return error == std::errc() && end == cell.data() + cell.size() && !cell.empty();
  }
}

/// The elements of an input, cell by cell.
class InputCells {
 public:
  explicit InputCells(const ValueInfo& input) : input_(input), dtype_(input.dtype.value_or(f64)) {
    if (!input.categories.empty()) categories_ = std::make_unique<Categories>(input.categories);
  }

  /// Returns false if the cell is not an element of the input's dtype.
  bool append(std::string_view cell) {
    return visit<every_type>(dtype_, [&]<class T>() {
      T element{};
      if (!read(cell, element)) return false;
      const auto* const bytes = reinterpret_cast<const std::byte*>(&element);
      bytes_.insert(bytes_.end(), bytes, bytes + sizeof element);
      return true;
    });
  }

  Tensor finish(std::int64_t rows, std::int64_t columns) const {
    auto made = Tensor::empty(
        dtype_, input_.shape.rank() == 1 && columns == 1 ? Shape{rows} : Shape{rows, columns});
    if (!bytes_.empty()) std::memcpy(made.data(), bytes_.data(), bytes_.size());
    return made;
  }
  const ValueInfo& input() const { return input_; }
  DType dtype() const { return dtype_; }

 private:
  template <class T>
  bool read(std::string_view cell, T& element) const {
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::int32_t>)
      if (categories_ != nullptr)
        return element = static_cast<T>(categories_->index_of(cell)), true;
    return parse_cell(trimmed(cell), element);
  }

  const ValueInfo& input_;
  DType dtype_;
  std::unique_ptr<Categories> categories_;
  std::vector<std::byte> bytes_;
};

class TableReader {
 public:
  TableReader(const std::string& name, std::string_view text) : name_(name), csv_(name, text) {
    Cells cells;
    if (!csv_.next(cells))
      throw file_failure("read", name, "it is empty: its first line must name the columns");
    header_.assign(cells.begin(), cells.end());
    std::set<std::string_view> seen;
    for (const auto& column : header_)
      if (!seen.insert(column).second)
        throw file_failure("read", name,
                           fmt::format("two columns have the name '{}'", printable(column)));
  }

  std::map<std::string, Tensor> read(const std::vector<ValueInfo>& inputs) {
    assign_columns(inputs);
    std::int64_t rows = 0;
    for (Cells cells; csv_.next(cells); ++rows) read_row(cells);
    std::map<std::string, Tensor> made;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      made.emplace(inputs_[i].input().name,
                   inputs_[i].finish(rows, std::count(target_.begin(), target_.end(), i)));
    return made;
  }

 private:
  static constexpr std::size_t unread = SIZE_MAX;

  // An input is the column with its name; the only input may also be the whole table.
  void assign_columns(const std::vector<ValueInfo>& inputs) {
    target_.assign(header_.size(), unread);
    for (const auto& input : inputs) {
      // an input without a name is the whole table, whose index column may have no name, either
      const auto found = input.name.empty() ? header_.end()
                                            : std::find(header_.begin(), header_.end(), input.name);
      const bool is_matrix = input.shape.rank() == 2 && input.shape[1] != 1;
      if (found != header_.end() && !(is_matrix && input.shape[1] != unknown))
        target_[static_cast<std::size_t>(found - header_.begin())] = inputs_.size();
      else if (inputs.size() == 1)
        assign_all(input);
      else
        refuse_columns(input);
      inputs_.emplace_back(input);
    }
  }

  void assign_all(const ValueInfo& input) {
    const auto& shape = input.shape;
    const auto count = static_cast<std::int64_t>(header_.size());
    if (shape.has_rank() && (shape.rank() != 2 || (shape[1] != unknown && shape[1] != count)))
      throw Failure(FailureKind::usage,
                    fmt::format("'{}' has {}, but input '{}' is {}", name_,
                                counted(count, "column"), input.name, to_string(shape)),
                    fmt::format("its columns are {}", listed(header_)));
    std::fill(target_.begin(), target_.end(), 0);
  }

  [[noreturn]] void refuse_columns(const ValueInfo& input) const {
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' has no column for input '{}', which is {}", name_, input.name,
                              to_string(input.shape)),
                  fmt::format("an input of one column has the column's name; the table has {}",
                              listed(header_)));
  }

  void read_row(const Cells& cells) {
    if (cells.size() != header_.size())
      throw file_failure("read", name_,
                         fmt::format("line {} has {}, but the first line has {}", csv_.line(),
                                     counted(cells.size(), "cell"), header_.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (target_[i] == unread || inputs_[target_[i]].append(cells[i])) continue;
      throw file_failure(
          "read", name_,
          fmt::format("line {}: the cell of column '{}' is {}, but needs to be {}", csv_.line(),
                      printable(header_[i]),
                      cells[i].empty() ? "empty" : '\'' + printable(cells[i].substr(0, 40)) + '\'',
                      name_of(inputs_[target_[i]].dtype())));
    }
  }

  const std::string& name_;
  CsvText csv_;
  std::vector<std::string> header_;
  std::vector<InputCells> inputs_;
  std::vector<std::size_t> target_;  // by column: index of the input
};

std::map<std::string, Tensor> read_table(const std::string& path,
                                         const std::vector<ValueInfo>& inputs) {
  const auto file = FileMemory::open(path);
  const auto bytes = file->bytes();
  auto made =
      TableReader(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).read(inputs);
  file->require_unchanged();
  return made;
}

}  // namespace

NamedArrays read_csv_source(const ArraySource& source, const tenon_type& type) {
  ValueInfo all;
  if (type.dtype != TENON_DTYPE_UNKNOWN) all.dtype = static_cast<DType>(type.dtype);
  return read_table(source.file, {all});
}

std::map<std::string, Tensor> load_table(const std::string& source,
                                         const std::vector<ValueInfo>& inputs) {
  const auto parsed = parse_source(source);
  auto made = read_table(parsed.file, inputs);
  for (auto& [name, tensor] : made) tensor = select_rows(tensor, parsed);
  return made;
}

}  // namespace tenon
