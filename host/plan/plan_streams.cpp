// The part of a plan that says which stream does what, and who waits for whom.
#include <algorithm>

#include "plan/plan.hpp"

namespace tenon {

// Sparse ones stay among the kernels: how much they copy is known only when what makes it is done.
const Stream& Plan::stream_of(const DeviceCopy& copy, Streams& streams) const {
  Device &from = *graph_.places[copy.value], &to = *graph_.places[copy.copy];
  Device& own = to.is_cpu() ? from : to;
  if (memory_.types[copy.copy].storage != TENON_DENSE) return streams.of(own);
  return streams.of(own, to.is_cpu() ? Line::from_device : Line::to_device);
}

// Null: the CPU does it at once.
const Stream* Plan::stream_of(std::size_t step) const {
  if (const auto id = node_of(step); graph_.copies_at(id)) return &copies_[graph_.copy_of[id]].stream();
  const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& each) { return &each.stream.device() == &device_of(step); });
  return gpu == gpus_.end() ? nullptr : &gpu->stream;
}

std::uint32_t Plan::line_of(const Stream& stream) const {
  const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const Stream& each) { return each.handle() == stream.handle(); });
  return static_cast<std::uint32_t>(found - lines_.begin());
}

// Arenas lie one behind the other; behind them are two bytes for each GPU. The first stands for all that lies elsewhere there, for who
// gives it may give the same memory twice. All work touches the second one, and the end of a run writes it.
std::int64_t Plan::beside_arenas(const Device& device) const {
  const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const Gpu& each) { return &each.stream.device() == &device; });
  return memory_.bytes() + 2 * (gpu - gpus_.begin());
}

void Plan::touch_buffer(std::uint32_t buffer, bool written, std::vector<Touch>& touches) const {
  auto begin = memory_.offsets[buffer];
  for (std::uint32_t i = 0; i < memory_.arena_of[buffer]; ++i) begin += memory_.arenas[i].placement.bytes;
  touches.push_back({begin, begin + memory_.buffers[buffer].bytes, written});
}

void Plan::touch(ValueId value, bool written, std::vector<Touch>& touches) const {
  if (value == none || graph_.places[value]->is_cpu()) return;
  if (const auto buffer = memory_.buffer_of[memory_.root[value]]; buffer != none) return touch_buffer(buffer, written, touches);
  const auto beside = beside_arenas(*graph_.places[value]);
  touches.push_back({beside, beside + 1, written});
}

std::vector<Touch> Plan::touches_of(std::uint32_t begin, std::uint32_t end) const {
  const auto& model = graph_.model();
  std::vector<Touch> touches;
  for (auto step = begin; step < end; ++step) {
    const auto& node = model.nodes[node_of(step)];
    const auto& forward = forward_of(model, node);
    for (std::uint32_t i = 0; i < node.input_count; ++i) touch(model.edges[node.first_edge + i], false, touches);
    for (std::uint32_t i = 0; i < forward.state_count; ++i) touch(model.edges[forward.first_edge + forward.input_count + i], true, touches);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (write(step, i) != TENON_WRITE_NONE) touch(node.first_output + i, true, touches);
    if (const auto buffer = memory_.workspace_buffer[step]; buffer != none && !device_of(step).is_cpu())
      touch_buffer(buffer, true, touches);
  }
  return touches;
}

void Plan::add_turn(Waits& waits, const Stream& stream, const std::vector<Touch>& touches) {
  auto& turn = turns_.emplace_back(Turn{stream, {}, {}});
  for (const auto piece : waits.add(line_of(stream), touches)) {
    auto& earlier = turns_[piece];
    if (!earlier.after) earlier.after.emplace(earlier.stream.device());
    turn.before.push_back(&*earlier.after);
  }
}

void Plan::put_in_turn(std::uint32_t begin, std::uint32_t end, const Turn& turn) {
  const auto put = [&](std::uint32_t step, const Turn* begins, const Turn* ends) {
    steps_[step] = {StepInTurn::run, &steps_in_turn_.emplace_back(StepInTurn{steps_[step], begins, ends}), steps_[step].call};
  };
  if (turn.is_free()) return;
  if (end - begin == 1) return put(begin, &turn, &turn);
  put(begin, &turn, nullptr);
  put(end - 1, nullptr, &turn);
}

// A stretch is one piece of work: it begins when all that any of its steps needs is done, and others wait for its end.
void Plan::take_turns() {
  for (std::size_t step = 0; step < steps_.size(); ++step)
    if (const auto* stream = stream_of(step); stream != nullptr && line_of(*stream) == lines_.size()) lines_.push_back(*stream);
  for (const auto& gpu : gpus_)
    if (line_of(gpu.stream) == lines_.size()) lines_.push_back(gpu.stream);

  Waits waits(static_cast<std::uint32_t>(lines_.size()));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces;
  auto stretch = stretches_.begin();
  for (std::uint32_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
    const bool captured = stretch != stretches_.end() && stretch->begin == begin;
    end = captured ? stretch->end : begin + 1;
    const auto* stream = stream_of(begin);
    if (stream == nullptr) continue;
    auto touches = touches_of(begin, end);
    const auto last = beside_arenas(stream->device()) + 1;
    touches.push_back({last, last + 1, false});
    add_turn(waits, *stream, touches);
    pieces.emplace_back(begin, end);
    if (captured) (stretch++)->turn = &turns_.back();
    if (const auto id = node_of(begin); graph_.copies_at(id) && copies_[graph_.copy_of[id]].waits())
      waits.finished(static_cast<std::uint32_t>(pieces.size() - 1));
  }
  for (auto& gpu : gpus_) {
    const auto last = beside_arenas(gpu.stream.device()) + 1;
    add_turn(waits, gpu.stream, {{last, last + 1, true}});
    gpu.last = &turns_.back();
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) put_in_turn(pieces[i].first, pieces[i].second, turns_[i]);
}

}  // namespace tenon
