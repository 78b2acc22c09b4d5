// oneDNN descriptors of the memory layout of the host's tensors.
#pragma once
#include <string>

#include "onednn.hpp"

namespace onednn {

enum class Layout { plain, channels_last };

inline Layout layout(bool channels_last) {
  return channels_last ? Layout::channels_last : Layout::plain;
}

/// Strides of a contiguous tensor of `dims`: row-major [batch, channels, ...], or with the channels
/// innermost.
inline Dims strides_of(const Dims& dims, Layout layout) {
  Dims strides(dims.size(), 1);
  std::int64_t step = layout == Layout::plain ? 1 : dims[1];
  for (auto axis = dims.size(); axis-- > 0;) {
    if (axis == 1 && layout == Layout::channels_last) continue;
    strides[axis] = step;
    step *= dims[axis];
  }
  return strides;
}

/// A contiguous tensor.
inline Desc dense(const Dims& dims, Layout layout, Type type = Type::f32) {
  return {dims, type, strides_of(dims, layout)};
}

/// A textual key of a layout: texts are equal if and only if the layouts are.
inline std::string text_of(const Desc& desc) {
  std::string text;
  const auto& raw = desc.data;
  const auto& blocks = raw.format_desc.blocking;
  const auto append = [&](const char* what, const dnnl_dim_t* numbers, int count) {
    text += what;
    for (int i = 0; i < count; ++i) text += (i > 0 ? "," : " ") + std::to_string(numbers[i]);
  };
  append("dims", raw.dims, raw.ndims);
  append(" padded", raw.padded_dims, raw.ndims);
  append(" strides", blocks.strides, raw.ndims);
  append(" blocks", blocks.inner_blks, blocks.inner_nblks);
  append(" of", blocks.inner_idxs, blocks.inner_nblks);
  return text + " type " + std::to_string(raw.data_type);
}

}  // namespace onednn
