// The training state of checkpoints.
#include <set>
#include <utility>

#include "file/tenon/attribute_reader.hpp"
#include "file/tenon/read_context.hpp"
#include "graph/parameters.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

std::string_view read_name(const ReadContext& reading, std::uint32_t id, const std::string& owner) {
  const auto text =
      reading.text(reading.index(id, reading.model.strings.size(), "the name of {}", owner));
  if (!is_name(text)) reading.refuse("{}: '{}' is not a valid name", owner, printable(text));
  return text;
}

/// The record stores parameters as users write them. AttributeReader appends them to the nodes'
/// attributes; they are converted and removed from there.
Attributes read_parameters(ReadContext& reading, const format::TrainingState& from,
                           std::string_view optimizer) {
  auto& model = reading.model;
  const auto attributes = model.attributes.size(), ints = model.ints.size(),
             floats = model.floats.size(), tables = model.tables.size();
  AttributeReader reader(reading, from.parameters(), "the optimizer of its training");
  reader.read({"optimizer", optimizer}, reader.left());
  reader.finish();
  Attributes parameters;
  for (auto i = attributes; i < model.attributes.size(); ++i)
    parameters.set(std::string(reading.text(model.attributes[i].name)),
                   value_of(model, model.attributes[i]));
  model.attributes.resize(attributes);
  model.ints.resize(ints);
  model.floats.resize(floats);
  model.tables.resize(tables);
  return parameters;
}

std::vector<std::pair<std::string, std::string>> read_settings(const ReadContext& reading,
                                                               const format::TrainingState& from) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (std::uint32_t i = 0; i < count_of(from.settings()); ++i) {
    const auto* setting = from.settings()->Get(i);
    const auto texts = reading.model.strings.size();
    const auto name = reading.index(setting->key(), texts, "the name of setting {}", i);
    settings.emplace_back(
        reading.text(name),
        reading.text(reading.index(setting->value(), texts, "the value of setting {}", i)));
  }
  return settings;
}

class SlotReader {
 public:
  explicit SlotReader(const ReadContext& reading)
      : reading_(reading), used_(reading.model.tensors.size()) {
    for (const auto& value : reading.model.values)
      if (value.tensor != none) used_[value.tensor] = true;
  }

  TrainingSlot read(const format::Slot& from, std::uint32_t i) {
    const auto& model = reading_.model;
    TrainingSlot slot;
    slot.name = read_name(reading_, from.name(), fmt::format("slot {}", i));
    slot.variable = reading_.index(from.value(), model.values.size(), "the variable of slot {}", i);
    const auto variable = value_label(model, slot.variable);
    if (model.values[slot.variable].role != Role::variable)
      reading_.refuse("slot {}, '{}': '{}' is not a variable", i, slot.name, variable);
    if (!seen_.emplace(slot.variable, from.name()).second)
      reading_.refuse("'{}' has two slots '{}'", variable, slot.name);
    slot.tensor = reading_.index(from.tensor(), used_.size(), "the tensor of slot '{}' of '{}'",
                                 slot.name, variable);
    if (used_[slot.tensor])
      reading_.refuse("tensor {} belongs to two values; the second is slot '{}' of '{}'",
                      slot.tensor, slot.name, variable);
    used_[slot.tensor] = true;
    return slot;
  }

 private:
  const ReadContext& reading_;
  std::vector<bool> used_;
  std::set<std::pair<ValueId, StringId>> seen_;
};

}  // namespace

void read_training(ReadContext& reading) {
  const auto* from = reading.file.training();
  if (from == nullptr) return;
  TrainingRecord record;
  record.optimizer = read_name(reading, from->optimizer(), "the optimizer of its training");
  record.parameters = read_parameters(reading, *from, record.optimizer);
  record.step = from->step();
  record.seed = from->seed();
  record.epoch = from->epoch();
  record.data_position = from->data_position();
  record.random_step = from->random_step();
  record.micro_batches = from->micro_batches();
  if (record.micro_batches < 1)
    reading.refuse("its training has 0 micro-batches but needs at least 1");
  if (record.micro_batches > 1 && !names_feature(reading, layout::micro_batches_feature))
    reading.refuse(
        "its training has {} micro-batches, but the file does not name \"lanes\" as a feature",
        record.micro_batches);
  record.settings = read_settings(reading, *from);
  SlotReader slots(reading);
  for (std::uint32_t i = 0; i < count_of(from->slots()); ++i)
    record.slots.push_back(slots.read(*from->slots()->Get(i), i));
  reading.model.training = std::move(record);
}

}  // namespace tenon
