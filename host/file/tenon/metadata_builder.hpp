// Shared by the sources of the metadata writer only, because it includes the generated code.
#pragma once
#include <graph_generated.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "file/tenon/data_layout.hpp"
#include "file/tenon/numbering.hpp"

namespace tenon {

template <class T>
using ColumnOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;
template <class T>
using TablesOffset = ColumnOffset<flatbuffers::Offset<T>>;

/// Callers name each offset before they use it: compilers differ in the evaluation order of
/// arguments, and the order of calls determines the bytes.
struct MetadataBuilder {
  const GraphModel& model;
  const FileOrder& order;
  FileTexts texts{model.strings};
  FileTypes types{};
  std::deque<std::string> extra_texts{};  // not among the model's texts
  flatbuffers::FlatBufferBuilder buffer{1 << 16};

  /// A column that is always written.
  template <class T>
  ColumnOffset<T> required(const std::vector<T>& column) {
    return buffer.CreateVector<T>(column.data(), column.size());
  }

  /// A column that is omitted if it is all zeros.
  template <class T>
  ColumnOffset<T> column(const std::vector<T>& column) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(column.data());
    const bool zeros = std::all_of(bytes, bytes + column.size() * sizeof(T),
                                   [](unsigned char byte) { return byte == 0; });
    return zeros ? ColumnOffset<T>() : required(column);
  }

  template <class T>
  TablesOffset<T> tables(const std::vector<flatbuffers::Offset<T>>& tables) {
    return tables.empty() ? TablesOffset<T>() : buffer.CreateVector(tables);
  }
};

/// Parameters of nodes, or of an optimizer.
struct AttributeColumns {
  std::vector<std::uint32_t> names;
  std::vector<format::AttributeKind> kinds;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
};

flatbuffers::Offset<format::Attributes> write_attributes(MetadataBuilder& to,
                                                         const AttributeColumns& columns);
flatbuffers::Offset<format::Graph> write_graph(MetadataBuilder& to);
/// Returns a null offset if the model has no training state.
flatbuffers::Offset<format::TrainingState> write_training(MetadataBuilder& to);

}  // namespace tenon
