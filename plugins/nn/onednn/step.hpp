// A oneDNN primitive on the host's tensors, with conversions to and from the layouts it works in.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "reorder.hpp"

namespace onednn {

/// One tensor of a step: oneDNN's id (DNNL_ARG_SRC ...), its layout in memory, and the primitive's
/// layout.
struct Port {
  int name;
  Desc user_desc, primitive_desc;
  bool output = false;
};

class Step {
 public:
  static constexpr std::size_t max_ports = 4;
  static constexpr std::size_t bytes =
      100 << 10;  ///< average size of code and descriptors: 1,024 steps take 100 MiB

  Step(dnnl::primitive primitive, const Desc& scratchpad, const std::vector<Port>& ports)
      : primitive_(std::move(primitive)),
        scratchpad_(scratchpad),
        shared_bytes_(scratchpad.get_size()) {
    for (const auto& port : ports) {
      ports_.push_back({port, port.output ? Reorder(port.primitive_desc, port.user_desc)
                                          : Reorder(port.user_desc, port.primitive_desc)});
      shared_bytes_ = std::max(shared_bytes_, ports_.back().reorder.scratch_bytes());
    }
    scratch_bytes_ = aligned(shared_bytes_);
    for (const auto& port : ports_) scratch_bytes_ += buffer_bytes(port);
  }

  /// The name of oneDNN's implementation on this machine.
  std::string_view implementation() const {
    const char* name = "";
    dnnl_primitive_desc_query(primitive_.get_primitive_desc(), dnnl_query_impl_info_str, 0,
                              static_cast<void*>(&name));
    return name;
  }
  /// Whether oneDNN has only a reference implementation on this machine.
  bool slow() const { return implementation().starts_with("ref"); }

  /// The primitive's layout of the tensor with oneDNN's id `name`.
  const Desc& layout(int name) const {
    return std::find_if(ports_.begin(), ports_.end(),
                        [&](const Bound& port) { return port.name == name; })
        ->primitive_desc;
  }

  /// `data`: one pointer for each port, in the ports' order. Must run inside of use(); thread-safe.
  void run(std::span<const void* const> data) const {
    const dnnl::stream stream(cpu());
    auto* const scratch = onednn::scratch(scratch_bytes_);
    auto* buffer = scratch + aligned(shared_bytes_);
    std::array<const void*, max_ports> at{};  // the memory of each tensor as the primitive sees it
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const auto& port = ports_[i];
      at[i] = port.reorder.needed() ? buffer : data[i];
      if (port.reorder.needed() && !port.output) port.reorder.run(stream, data[i], buffer, scratch);
      buffer += buffer_bytes(port);
    }
    execute(stream, at, scratch);
    for (std::size_t i = 0; i < ports_.size(); ++i)
      if (ports_[i].reorder.needed() && ports_[i].output)
        ports_[i].reorder.run(stream, at[i], const_cast<void*>(data[i]), scratch);
  }

 private:
  struct Bound : Port {
    Reorder reorder;
  };

  static std::size_t buffer_bytes(const Bound& port) {
    return port.reorder.needed() ? aligned(port.primitive_desc.get_size()) : 0;
  }

  /// Uses the C API: the C++ API needs a map, which costs more than a small primitive.
  void execute(const dnnl::stream& stream, std::span<const void* const> at,
               std::byte* scratch) const {
    std::array<dnnl::memory, max_ports + 1> memories;
    std::array<dnnl_exec_arg_t, max_ports + 1> arguments{};
    int count = 0;
    const auto add = [&](int name, const Desc& desc, const void* data) {
      const auto slot = static_cast<std::size_t>(count++);
      memories[slot] = memory_at(desc, data);
      arguments[slot] = {name, memories[slot].get()};
    };
    add(DNNL_ARG_SCRATCHPAD, scratchpad_, scratch);
    for (std::size_t i = 0; i < ports_.size(); ++i)
      add(ports_[i].name, ports_[i].primitive_desc, at[i]);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), count, arguments.data()),
        "it could not run a primitive");
  }

  dnnl::primitive primitive_;
  Desc scratchpad_;
  std::size_t shared_bytes_, scratch_bytes_ = 0;
  std::vector<Bound> ports_;
};

}  // namespace onednn
