// Average pooling with oneDNN for data of a fixed shape; primitives are created on first use and
// then cached.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "onednn/chunk_arrays.hpp"
#include "onednn/chunks.hpp"
#include "onednn/layout.hpp"
#include "pooling_choice.hpp"
#include "shared/window_partition.hpp"

/// The configuration of a pooling. Backward supports plain tensors only.
struct PoolingShape {
  tenon::Shape data, output;
  onednn::Layout layout = onednn::Layout::plain;  ///< of data and output
  friend bool operator==(const PoolingShape&, const PoolingShape&) = default;
};

class PoolingKernel {
 public:
  PoolingKernel(dnnl::algorithm algorithm, const Window& window, const PoolingShape& shape)
      : algorithm_(algorithm),
        layout_(shape.layout),
        data_(shape.data.begin(), shape.data.end()),
        output_(shape.output.begin(), shape.output.end()) {
    onednn::require_int32_sizes(shape.data, "data");
    for (int i = 0; i < window.axes; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      kernel_.push_back(window.kernel[axis]);
      stride_.push_back(window.stride[axis]);
      before_.push_back(window.pad[axis]);
      after_.push_back((output_[axis + 2] - 1) * window.stride[axis] + window.kernel[axis] -
                       data_[axis + 2] - window.pad[axis]);
    }
    const WindowPartition partition(window, shape.data, shape.output);
    const PoolingChunkProblem problem{layout_ == onednn::Layout::channels_last, shape.data.size()};
    const bool rows =
        choice::first_of<pooling_chunk_choices>(problem).algorithm == PoolingChunks::rows;
    if (data_[0] > 0)
      chunks_ = rows ? partition.of_rows(max_chunks) : partition.of_samples(max_chunks);
  }

  std::size_t bytes() const { return steps_.size() * onednn::Step::bytes; }  // backward has as few

  void forward(const tenon::Call& call, const float* data, float* output) {
    if (steps_.empty()) onednn::use([&] { make_steps(); });
    const auto in = onednn::strides_of(data_, layout_), out = onednn::strides_of(output_, layout_);
    call.parallel_for(
        static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          onednn::use([&] {
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
              const auto& chunk = chunks_[i];
              const void* const ports[] = {data + chunk.sample * in[0] + chunk.data_row * in[2],
                                           output + chunk.sample * out[0] + chunk.row * out[2]};
              steps_[step_indices_[i]].run(ports);
            }
          });
        });
  }

  void backward(const tenon::Call& call, const float* output_grad, float* data_grad) {
    if (data_[0] == 0) return;
    make_backward();
    backward_->for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const ports[] = {output_grad + first * sample(output_),
                                   data_grad + first * sample(data_)};
      backward_->step(chunk).run(ports);
    });
  }

 private:
  static constexpr std::int64_t max_chunks = 16;  // more threads than that have no work

  static onednn::Desc batch_of(std::int64_t samples, onednn::Dims dims) {
    dims[0] = samples;
    return onednn::plain(dims);
  }

  static std::int64_t sample(const onednn::Dims& dims) {
    std::int64_t size = 1;
    for (std::size_t axis = 1; axis < dims.size(); ++axis) size *= dims[axis];
    return size;
  }

  /// Creates a step for each size of chunk.
  void make_steps() {
    std::vector<WindowChunk> made;
    for (const auto& chunk : chunks_) {
      const auto found = std::find_if(made.begin(), made.end(),
                                      [&](const WindowChunk& other) { return chunk.like(other); });
      step_indices_.push_back(static_cast<std::size_t>(found - made.begin()));
      if (found != made.end()) continue;
      made.push_back(chunk);
      steps_.push_back(forward_step(chunk));
    }
  }

  dnnl::pooling_forward::primitive_desc description(const WindowChunk& chunk,
                                                    dnnl::prop_kind kind) const {
    auto data = data_, output = output_, before = before_, after = after_;
    data[0] = output[0] = chunk.samples;
    data[2] = chunk.data_rows;
    output[2] = chunk.rows;
    if (chunk.rows < output_[2]) {
      before[0] = chunk.before;
      after[0] = chunk.after;
    }
    return {dnnl::pooling_forward::desc(kind, algorithm_, onednn::dense(data, layout_),
                                        onednn::dense(output, layout_), stride_, kernel_, before,
                                        after),
            onednn::with_user_scratchpad(), onednn::cpu()};
  }

  /// Ports: data, output.
  onednn::Step forward_step(const WindowChunk& chunk) const {
    const auto made = description(chunk, dnnl::prop_kind::forward_inference);
    const std::vector<onednn::Port> ports{{DNNL_ARG_SRC, made.src_desc(), made.src_desc()},
                                          {DNNL_ARG_DST, made.dst_desc(), made.dst_desc(), true}};
    return {dnnl::pooling_forward(made), made.scratchpad_desc(), ports};
  }

  WindowChunk whole_samples(std::int64_t samples) const {
    WindowChunk chunk{};
    chunk.samples = samples;
    chunk.rows = output_[2];
    chunk.data_rows = data_[2];
    return chunk;
  }

  /// Ports: output gradient, data gradient.
  onednn::Step backward_step(std::int64_t samples) const {
    using Backward = dnnl::pooling_backward;
    const Backward::primitive_desc made(
        Backward::desc(algorithm_, batch_of(samples, data_), batch_of(samples, output_), stride_,
                       kernel_, before_, after_),
        onednn::with_user_scratchpad(), onednn::cpu(),
        description(whole_samples(samples), dnnl::prop_kind::forward_training));
    const std::vector<onednn::Port> ports{
        {DNNL_ARG_DIFF_DST, made.diff_dst_desc(), made.diff_dst_desc()},
        {DNNL_ARG_DIFF_SRC, made.diff_src_desc(), made.diff_src_desc(), true}};
    return {Backward(made), made.scratchpad_desc(), ports};
  }

  void make_backward() {
    if (!backward_)
      backward_.emplace(data_[0], max_chunks, [&](std::int64_t samples, const onednn::Step*) {
        return backward_step(samples);
      });
  }

  dnnl::algorithm algorithm_;
  onednn::Layout layout_;
  onednn::Dims data_, output_, kernel_, stride_, before_, after_;
  std::vector<WindowChunk> chunks_;
  std::vector<std::size_t> step_indices_;
  std::vector<onednn::Step> steps_;  // of forward
  std::optional<onednn::Chunks> backward_;
};
