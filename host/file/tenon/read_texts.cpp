// Texts, features and notes, which depend on no other section.
#include <algorithm>
#include <unordered_set>

#include "file/tenon/metadata_writer.hpp"
#include "file/tenon/read_context.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon {

bool names_feature(const ReadContext& reading, std::string_view feature) {
  const auto* features = reading.file.required_features();
  return features != nullptr && std::any_of(features->begin(), features->end(), [&](StringId id) {
           return reading.text(id) == feature;
         });
}

void read_texts(ReadContext& reading) {
  const auto* strings = reading.file.strings();
  const auto count = count_of(strings);
  if (count == 0 || strings->Get(0)->size() != 0) reading.refuse("text 0 must be the empty text");
  reading.model.strings.reserve(count);
  ReadLimit budget(reading);
  for (std::uint32_t i = 1; i < count; ++i) {
    const auto text = strings->Get(i)->string_view();
    budget.take(text.size(), "texts");
    if (!is_utf8(text)) reading.refuse("text {}, '{}', is not UTF-8", i, printable(text));
    if (reading.model.strings.intern(text) != i)
      reading.refuse("text {}, '{}', occurs twice", i, printable(text));
  }
}

static bool is_known_feature(std::string_view name) {
  static constexpr std::string_view known[] = {
      layout::gradient_feature,  layout::sparse_feature,        layout::parameters_feature,
      layout::dim_names_feature, layout::micro_batches_feature, layout::categories_feature};
  return std::find(std::begin(known), std::end(known), name) != std::end(known) ||
         std::any_of(std::begin(dtype_features), std::end(dtype_features),
                     [&](const DTypeFeature& feature) { return name == feature.name; });
}

void read_features(const ReadContext& reading) {
  const auto& file = reading.file;
  const auto texts = reading.model.strings.size();
  const auto producer = reading.text(reading.index(file.producer(), texts, "the producer"));
  const auto by = producer.empty() ? std::string("another program") : printable(producer);
  if (file.format() != format_version)
    reading.refuse("it has format {}, written by {}, but this version of Tenon reads format {}",
                   file.format(), by, format_version);
  bool training = false;
  for (std::uint32_t i = 0; i < count_of(file.required_features()); ++i) {
    const auto feature = reading.text(
        reading.index(file.required_features()->Get(i), texts, "required feature {}", i));
    if (is_known_feature(feature)) continue;
    if (feature != layout::training_feature || training)
      reading.refuse(
          "it needs the feature '{}', which this version of Tenon does not support; it was written "
          "by {}",
          printable(feature), by);
    training = true;
  }
  if (training && file.training() == nullptr)
    reading.refuse("it declares a training state but has none");
  if (!training && file.training() != nullptr)
    reading.refuse("it has a training state but does not declare it");
  if (count_of(file.graphs()) != 1)
    reading.refuse("it holds {}, but this version of Tenon reads files with one",
                   counted(count_of(file.graphs()), "graph"));
  const auto& graph = *file.graphs()->Get(0);
  if (graph.parent() != none || count_of(graph.captures()) != 0)
    reading.refuse("its graph is nested in another one, which is missing");
}

void read_notes(ReadContext& reading) {
  const auto& file = reading.file;
  auto& model = reading.model;
  const auto texts = model.strings.size();
  model.producer = reading.text(file.producer());
  std::unordered_set<StringId> seen;
  for (std::uint32_t i = 0; i < count_of(file.meta()); ++i) {
    const auto* meta = file.meta()->Get(i);
    const auto key = reading.index(meta->key(), texts, "the key of note {}", i);
    if (!seen.insert(key).second)
      reading.refuse("two notes have the key '{}'", printable(reading.text(key)));
    model.meta.emplace_back(key, reading.index(meta->value(), texts, "the text of note {}", i));
  }
  ReadLimit budget(reading);
  for (std::uint32_t i = 0; i < count_of(file.extensions()); ++i) {
    const auto* extension = file.extensions()->Get(i);
    const auto name =
        reading.text(reading.index(extension->name(), texts, "the name of extension {}", i));
    budget.take(count_of(extension->content()) + name.size(), "extensions");
    auto& stored = model.extensions.emplace_back();
    stored.name = name;
    if (extension->content() == nullptr) continue;
    const auto bytes =
        std::as_bytes(std::span(extension->content()->data(), extension->content()->size()));
    stored.content.assign(bytes.begin(), bytes.end());
  }
}

}  // namespace tenon
