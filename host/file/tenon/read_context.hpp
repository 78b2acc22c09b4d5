// Shared by the sources of the .tenon reader only, because it includes the generated code.
#pragma once
#include <graph_generated.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "file/tenon/layout.hpp"
#include "graph/model.hpp"
#include "io/counted.hpp"
#include "io/system_reason.hpp"

namespace tenon {

/// A file while it is read. Its FlatBuffers offsets are verified; all other content is untrusted
/// until it is checked.
struct ReadContext {
  const std::filesystem::path& path;
  const format::Model& file;
  std::uint64_t metadata_size;
  std::span<std::byte> data;  // follows the metadata; the only writable view of the file's bytes
  std::shared_ptr<const void> owner;
  bool data_may_change;  // checked content must be copied first
  GraphModel model{};
  std::vector<tenon_type> types{};
  std::map<std::uint32_t, std::vector<StringId>> dim_names{};  // by type, if any dimension is named
  std::vector<std::span<std::byte>> buffers{};

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    refuse_file(path, text, std::forward<Args>(args)...);
  }

  /// Returns the index if it is below `count`, else refuses the file. `what` names the index:
  /// "operator 3's plugin".
  template <class... What>
  std::uint32_t index(std::uint32_t index, std::size_t count, fmt::format_string<What...> what,
                      What&&... args) const {
    if (index >= count)
      refuse("{} is index {}, but there are {}", fmt::format(what, std::forward<What>(args)...),
             index, count);
    return index;
  }

  std::string_view text(StringId id) const { return model.strings[id]; }
};

/// The number of entries of a vector; 0 if it was omitted.
template <class T>
std::uint32_t count_of(const flatbuffers::Vector<T>* entries) {
  return entries == nullptr ? 0 : entries->size();
}

/// FlatBuffers' verifier checks the alignment of a vector's length, not of its entries.
template <class T>
void require_aligned(const ReadContext& from, const flatbuffers::Vector<T>* entries,
                     const char* name) {
  if (count_of(entries) != 0 && reinterpret_cast<std::uintptr_t>(entries->Data()) % sizeof(T) != 0)
    from.refuse("column {} does not begin at a multiple of {} bytes", name, sizeof(T));
}

/// A column of a table; all zeros if it was omitted.
template <class T>
class Column {
 public:
  Column(const ReadContext& from, const flatbuffers::Vector<T>* entries, std::size_t count,
         const char* name)
      : entries_(entries) {
    require_aligned(from, entries, name);
    if (entries != nullptr && entries->size() != count)
      from.refuse("column {} has {} but needs {}", name,
                  counted(entries->size(), "entry", "entries"), count);
  }
  T operator[](std::size_t i) const {
    return entries_ == nullptr ? T{} : entries_->Get(static_cast<flatbuffers::uoffset_t>(i));
  }

 private:
  const flatbuffers::Vector<T>* entries_;
};

/// Returns whether the file requires its readers to support the feature.
bool names_feature(const ReadContext& reading, std::string_view feature);

/// Refuses names that cannot be printed, or contain the colon of references such as `node:1`.
void require_name(const ReadContext& reading, StringId name, const char* what, std::uint32_t i);

// The reading steps, in order. Each fills its members of `model` (or `types`, `buffers`) and relies
// on the previous steps.
void read_texts(ReadContext& reading);
void read_features(const ReadContext& reading);
void read_types(ReadContext& reading);
void read_buffers(ReadContext& reading);
void read_tensors(ReadContext& reading);
void read_operators(ReadContext& reading);
void read_notes(ReadContext& reading);
void read_values(ReadContext& reading, const format::Graph& graph);
void read_nodes(ReadContext& reading, const format::Graph& graph);
void read_outputs(ReadContext& reading, const format::Graph& graph);
void read_training(ReadContext& reading);

/// Many entries of a file may share the same bytes. Their total may not exceed the metadata's size,
/// so that the work stays linear.
class ReadLimit {
 public:
  explicit ReadLimit(const ReadContext& reading)
      : reading_(reading), left_(reading.metadata_size) {}
  void take(std::uint64_t bytes, const char* what) {
    if (bytes > left_) reading_.refuse("its {} are longer than the file in total", what);
    left_ -= bytes;
  }

 private:
  const ReadContext& reading_;
  std::uint64_t left_;
};

}  // namespace tenon
