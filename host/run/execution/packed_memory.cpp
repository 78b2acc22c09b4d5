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
  for (const auto& part : plan.packed) add(part);
}

void PackedMemory::add(const PackedConstant& part) {
  if (steps_.empty() || steps_.back().step != part.step) {
    auto& kept = steps_.emplace_back();
    kept.step = part.step;
    const auto& node = forward_of(plan_.model(), plan_.node(part.step));
    for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge)
      if (const auto value = plan_.model().edges[edge];
          value != none && value < plan_.constant.size() && plan_.constant[value])
        kept.constants.push_back(value);
  }
  auto& kept = steps_.back();
  kept.parts.push_back({part, nullptr});
  if (kept.pointers.size() <= part.slot) kept.pointers.resize(part.slot + 1);
}

std::span<const void* const> PackedMemory::of(std::uint32_t step) const {
  const auto found = std::lower_bound(
      steps_.begin(), steps_.end(), step,
      [](const PackedStep& kept, std::uint32_t wanted) { return kept.step < wanted; });
  return found == steps_.end() || found->step != step
             ? std::span<const void* const>()
             : std::span<const void* const>(found->pointers);
}

// A constant that only this session promises not to change must not be shared with others.
PackedKey PackedMemory::key_of(const PackedConstant& part) const {
  const auto& tensor = tensors_[part.value];
  const auto constancy = HeldTensor::constancy(tensor);
  const auto version = HeldTensor::version(tensor);  // read ahead of handles
  const bool safe = constancy == Constancy::always ||
                    (constancy == Constancy::unless_held && !HeldTensor::is_held_outside(tensor));
  return {plan_.graph.kernel_of(plan_.node_of(part.step), kernels_).table(),
          tensor.abi().dense.data,
          plan_.types()[part.value],
          version,
          safe ? nullptr : session_,
          part.key};
}

std::uint64_t PackedMemory::missing_bytes() const {
  std::uint64_t bytes = 0;
  std::set<PackedKey> counted;
  for (const auto& kept : steps_)
    for (const auto& part : kept.parts)
      if (auto key = key_of(part.planned);
          !PackedBlock::exists(key) && counted.insert(std::move(key)).second)
        bytes += part.planned.bytes;
  return bytes;
}

void PackedMemory::forget(PackedStep& kept) {
  kept.filled = false;
  std::fill(kept.pointers.begin(), kept.pointers.end(), nullptr);
  for (auto& part : kept.parts) part.block.reset();
}

void PackedMemory::fill() {
  versions_ = HeldTensor::all_versions();  // read before the tensors: a handle given out meanwhile
                                           // is seen next time
  waiting_ = true;                         // stays set if filling fails
  bool held = false;
  for (auto& kept : steps_) {
    const auto& of = kept.constants;
    std::vector<std::uint64_t> versions;  // read ahead of handles, as all_versions()
    for (const auto value : of) versions.push_back(HeldTensor::version(tensors_[value]));
    if (std::any_of(of.begin(), of.end(),
                    [&](ValueId value) { return may_change(tensors_[value]); })) {
      forget(kept);
      held = true;
      continue;
    }
    if (kept.filled && (promised_ || kept.versions == versions)) continue;
    forget(kept);
    kept.versions = std::move(versions);
    fill(kept);
  }
  waiting_ = held;
}

void PackedMemory::fill(PackedStep& kept) {
  std::size_t asked = 0;
  query_packed_constants(
      {plan_, kernels_, tensors_, threads_}, kept.step,
      [&](const PackedConstant& part, tenon_fill fill, void* context) {
        if (asked == kept.parts.size() || kept.parts[asked].planned != part)
          throw Failure(FailureKind::plugin,
                        "its prepare() requests other memory than at planning time");
        auto& block = kept.parts[asked++].block;
        block = PackedBlock::find(key_of(part), tensors_[part.value], part.bytes);
        kept.pointers[part.slot] = block->filled([&](void* memory) {
          ErrorBuffer buffer;
          if (fill(context, memory, &buffer.error) != 0)
            throw Failure(FailureKind::failed, buffer.reason());
        });
      });
  if (asked != kept.parts.size())
    throw Failure(FailureKind::plugin,
                  fmt::format("{}: its prepare() requests less memory than at planning time",
                              node_label(plan_.model(), plan_.node_of(kept.step))));
  kept.filled = true;
}

}  // namespace tenon
