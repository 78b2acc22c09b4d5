// A oneDNN primitive that takes and gives plain tensors, whatever layouts it works in.
#pragma once
#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

#include "reorder.hpp"

namespace onednn {

/// One tensor of a step: oneDNN's name for it (DNNL_ARG_SRC ...), its layout in memory, and the one the primitive works in.
struct Port {
  int name;
  Desc given, wanted;
  bool output = false;
};

class Step {
 public:
  Step(dnnl::primitive primitive, const Desc& scratchpad, const std::vector<Port>& ports)
      : primitive_(std::move(primitive)), scratchpad_(scratchpad), shared_bytes_(scratchpad.get_size()) {
    for (const auto& port : ports) {
      ports_.push_back({port, port.output ? Reorder(port.wanted, port.given) : Reorder(port.given, port.wanted)});
      shared_bytes_ = std::max(shared_bytes_, ports_.back().reorder.scratch_bytes());
    }
  }

  /// The layout in which the primitive works on the tensor that oneDNN calls `name`.
  const Desc& layout(int name) const {
    return std::find_if(ports_.begin(), ports_.end(), [&](const Bound& port) { return port.name == name; })->wanted;
  }

  /// `data`: one pointer for each port, in the ports' order. Inside of use(), from any number of threads at once.
  void run(std::span<const void* const> data) const {
    const dnnl::stream stream(cpu());
    auto* const scratch = onednn::scratch(scratch_bytes());
    std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SCRATCHPAD, memory_at(scratchpad_, scratch)}};
    auto* buffer = scratch + aligned(shared_bytes_);
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const auto& port = ports_[i];
      if (port.reorder.needed() && !port.output) port.reorder.run(stream, data[i], buffer, scratch);
      arguments.insert({port.name, memory_at(port.wanted, port.reorder.needed() ? buffer : data[i])});
      buffer += buffer_bytes(port);
    }
    primitive_.execute(stream, arguments);
    for (std::size_t i = 0; i < ports_.size(); ++i)
      if (ports_[i].reorder.needed() && ports_[i].output)
        ports_[i].reorder.run(stream, arguments.at(ports_[i].name).get_data_handle(), const_cast<void*>(data[i]), scratch);
  }

 private:
  struct Bound : Port {
    Reorder reorder;
  };

  std::size_t scratch_bytes() const {
    auto bytes = aligned(shared_bytes_);
    for (const auto& port : ports_) bytes += buffer_bytes(port);
    return bytes;
  }

  static std::size_t buffer_bytes(const Bound& port) { return port.reorder.needed() ? aligned(port.wanted.get_size()) : 0; }

  dnnl::primitive primitive_;
  Desc scratchpad_;
  std::size_t shared_bytes_;
  std::vector<Bound> ports_;
};

}  // namespace onednn
