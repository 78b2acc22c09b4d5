// Conversion of a tensor between layouts.
#pragma once
#include <cstring>

#include "onednn.hpp"

namespace onednn {

class Reorder {
 public:
  Reorder() = default;
  Reorder(const Desc& from, const Desc& to) : from_(from), to_(to), needed_(from != to) {
    if (!needed_) return;
    const dnnl::reorder::primitive_desc description(cpu(), from, cpu(), to, with_user_scratchpad());
    scratchpad_ = description.scratchpad_desc();
    primitive_ = dnnl::reorder(description);
  }

  bool needed() const { return needed_; }
  std::size_t scratch_bytes() const { return needed_ ? scratchpad_.get_size() : 0; }

  /// Must run inside of use(), with scratch_bytes() of scratch.
  void run(const dnnl::stream& stream, const void* from, void* to, std::byte* scratch) const {
    primitive_.execute(stream, {{DNNL_ARG_FROM, memory_at(from_, from)},
                                {DNNL_ARG_TO, memory_at(to_, to)},
                                {DNNL_ARG_SCRATCHPAD, memory_at(scratchpad_, scratch)}});
  }

  /// Converts without a surrounding use(); a plain copy if the layouts are equal.
  void copy(const void* from, void* to) const {
    if (needed_)
      use([&] { run(dnnl::stream(cpu()), from, to, scratch(scratch_bytes())); });
    else
      std::memcpy(to, from, from_.get_size());
  }

 private:
  Desc from_, to_, scratchpad_;
  bool needed_ = false;
  dnnl::reorder primitive_;
};

}  // namespace onednn
