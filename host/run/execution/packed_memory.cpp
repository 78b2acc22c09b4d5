#include "run/execution/packed_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tenon {

PackedMemory::PackedMemory(const Plan& plan, const Kernels& kernels, const TensorTable& tensors,
                           int threads, bool promised, const void* session)
    : plan_(plan),
      kernels_(kernels),
      tensors_(tensors),
      threads_(threads),
      promised_(promised),
      session_(session) {
  for (const auto& entry : plan.packed) add(entry);
}

void PackedMemory::add(const PackedConstant& entry) {
  if (steps_.empty() || steps_.back().step != entry.step) {
    auto& packed_step = steps_.emplace_back();
    packed_step.step = entry.step;
    const auto& node = forward_of(plan_.model(), plan_.node(entry.step));
    for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge)
      if (const auto value = plan_.model().edges[edge];
          value != none && value < plan_.constant.size() && plan_.constant[value])
        packed_step.constants.push_back(value);
  }
  auto& packed_step = steps_.back();
  packed_step.entries.push_back({entry, nullptr});
  if (packed_step.pointers.size() <= entry.slot) packed_step.pointers.resize(entry.slot + 1);
}

std::span<const void* const> PackedMemory::of(std::uint32_t step) const {
  const auto found = std::lower_bound(steps_.begin(), steps_.end(), step,
                                      [](const PackedStep& packed_step, std::uint32_t target) {
                                        return packed_step.step < target;
                                      });
  return found == steps_.end() || found->step != step
             ? std::span<const void* const>()
             : std::span<const void* const>(found->pointers);
}

// A constant that only this session promises not to change must not be shared with others.
PackedKey PackedMemory::key_of(const PackedStep& packed_step, const PackedConstant& entry) const {
  const auto& tensor = tensors_[entry.value];
  std::uint64_t version = 0, other_versions = 0;
  bool safe = true;
  for (const auto value : packed_step.constants) {
    const auto& constant = tensors_[value];
    // read ahead of handles
    (value == entry.value ? version : other_versions) += TrackedTensor::version(constant);
    safe = safe && !TrackedTensor::may_be_written(constant);
  }
  const auto node = plan_.node_of(entry.step);
  const auto& kernel = plan_.graph.kernel_of(node, kernels_);
  const auto* const object = object_factory(plan_.model(), node);
  return {kernel.table(),
          object != nullptr ? object : kernel.op().make,
          tensor.abi().dense.data,
          plan_.types()[entry.value],
          version,
          other_versions,
          safe ? nullptr : session_,
          entry.key};
}

std::uint64_t PackedMemory::missing_bytes() const {
  std::uint64_t bytes = 0;
  std::set<PackedKey> counted;
  for (const auto& packed_step : steps_)
    for (const auto& entry : packed_step.entries)
      if (auto key = key_of(packed_step, entry.planned);
          !PackedBlock::exists(key) && counted.insert(std::move(key)).second)
        bytes += entry.planned.bytes;
  return bytes;
}

void PackedMemory::forget(PackedStep& packed_step) {
  packed_step.filled = false;
  std::fill(packed_step.pointers.begin(), packed_step.pointers.end(), nullptr);
  for (auto& entry : packed_step.entries) entry.block.reset();
}

void PackedMemory::fill() {
  versions_ =
      TrackedTensor::all_versions();  // read before the tensors: a handle given out meanwhile
                                      // is seen next time
  waiting_ = true;                    // stays set if filling fails
  bool any_changeable = false;
  for (auto& packed_step : steps_) {
    const auto& constants = packed_step.constants;
    std::vector<std::uint64_t> versions;  // read ahead of handles, as all_versions()
    for (const auto value : constants) versions.push_back(TrackedTensor::version(tensors_[value]));
    if (std::any_of(constants.begin(), constants.end(),
                    [&](ValueId value) { return may_change(tensors_[value]); })) {
      forget(packed_step);
      any_changeable = true;
      continue;
    }
    if (packed_step.filled && (promised_ || packed_step.versions == versions)) continue;
    forget(packed_step);
    packed_step.versions = std::move(versions);
    fill(packed_step);
  }
  waiting_ = any_changeable;
}

void PackedMemory::fill(PackedStep& packed_step) {
  std::size_t count = 0;
  std::vector<Tensor> constants;
  for (const auto value : packed_step.constants) constants.push_back(tensors_[value]);
  query_packed_constants(
      {plan_, kernels_, tensors_, threads_}, packed_step.step,
      [&](const PackedConstant& entry, tenon_fill fill, void* context) {
        if (count == packed_step.entries.size() || packed_step.entries[count].planned != entry)
          throw Failure(FailureKind::plugin, "its prepare() requests memory that was not planned");
        auto& block = packed_step.entries[count++].block;
        block = PackedBlock::find(key_of(packed_step, entry), constants, entry.bytes);
        packed_step.pointers[entry.slot] = block->filled([&](void* memory) {
          ErrorBuffer buffer;
          if (fill(context, memory, &buffer.error) != 0)
            throw Failure(FailureKind::failed, buffer.reason());
        });
      });
  if (count != packed_step.entries.size())
    throw Failure(FailureKind::plugin,
                  fmt::format("{}: its prepare() requests less memory than at planning time",
                              node_label(plan_.model(), plan_.node_of(packed_step.step))));
  packed_step.filled = true;
}

}  // namespace tenon
