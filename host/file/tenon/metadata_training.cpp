// The training state in the metadata.
#include <variant>

#include "file/tenon/metadata_builder.hpp"
#include "file/tenon/table_columns.hpp"
#include "graph/strings.hpp"

namespace tenon {
namespace {

/// Writes one parameter. Its texts belong to the record, which outlives the builder, or to the
/// builder.
class ParameterWriter {
 public:
  ParameterWriter(MetadataBuilder& to, AttributeColumns& columns) : to_(to), columns_(columns) {}

  void operator()(bool flag) { whole(format::AttributeKind::boolean, flag); }
  void operator()(std::int64_t number) { whole(format::AttributeKind::integer, number); }
  void operator()(const std::string& text) {
    whole(format::AttributeKind::text, to_.texts(std::string_view(text)));
  }
  void operator()(double number) {
    columns_.kinds.push_back(format::AttributeKind::real);
    columns_.reals.push_back(number);
  }
  void operator()(const std::vector<std::int64_t>& list) {
    put(format::AttributeKind::integers, list, columns_.integers);
  }
  void operator()(const std::vector<double>& list) {
    put(format::AttributeKind::reals, list, columns_.reals);
  }
  void operator()(const std::vector<std::string>& list) {
    whole(format::AttributeKind::texts,
          to_.texts(std::string_view(to_.extra_texts.emplace_back(joined_texts(list)))));
  }
  void operator()(const Tensor& tensor) {
    columns_.kinds.push_back(format::AttributeKind::tensor);
    append_table(tensor, columns_.integers, columns_.reals);
  }

 private:
  void whole(format::AttributeKind kind, std::int64_t number) {
    columns_.kinds.push_back(kind);
    columns_.integers.push_back(number);
  }
  template <class T>
  void put(format::AttributeKind kind, const std::vector<T>& list, std::vector<T>& column) {
    whole(kind, static_cast<std::int64_t>(list.size()));
    column.insert(column.end(), list.begin(), list.end());
  }

  MetadataBuilder& to_;
  AttributeColumns& columns_;
};

TablesOffset<format::Slot> write_slots(MetadataBuilder& to, const TrainingRecord& record) {
  std::vector<flatbuffers::Offset<format::Slot>> slots;
  for (const auto& slot : record.slots) {
    const auto name = to.texts(std::string_view(slot.name));
    slots.push_back(format::CreateSlot(to.buffer, name, to.order.values.at(slot.variable),
                                       to.order.tensors.at(slot.tensor)));
  }
  return to.tables(slots);
}

TablesOffset<format::Meta> write_settings(MetadataBuilder& to, const TrainingRecord& record) {
  std::vector<flatbuffers::Offset<format::Meta>> settings;
  for (const auto& [name, value] : record.settings) {
    const auto name_text = to.texts(std::string_view(name));
    settings.push_back(format::CreateMeta(to.buffer, name_text, to.texts(std::string_view(value))));
  }
  return to.tables(settings);
}

}  // namespace

flatbuffers::Offset<format::TrainingState> write_training(MetadataBuilder& to) {
  if (!to.model.training) return 0;
  const auto& record = *to.model.training;
  const auto optimizer = to.texts(std::string_view(record.optimizer));
  AttributeColumns columns;
  for (const auto& [name, value] : record.parameters) {
    columns.names.push_back(to.texts(std::string_view(name)));
    std::visit(ParameterWriter(to, columns), value.variant());
  }
  const auto parameters = write_attributes(to, columns);
  const auto slots = write_slots(to, record);
  const auto settings = write_settings(to, record);
  return format::CreateTrainingState(to.buffer, optimizer, parameters, record.step, record.seed,
                                     slots, record.data_position, record.epoch, record.random_step,
                                     settings, record.micro_batches);
}

}  // namespace tenon
