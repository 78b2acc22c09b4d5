// Pooling by oneDNN for data of a given shape, made when it is first needed and then kept.
#pragma once
#include <optional>

#include "onednn/chunks.hpp"
#include "onednn/parts.hpp"
#include "shared/window.hpp"

class PoolingKernel {
 public:
  PoolingKernel(dnnl::algorithm algorithm, const Window& window, const tenon::Shape& data, const tenon::Shape& output)
      : algorithm_(algorithm), data_(data.begin(), data.end()), output_(output.begin(), output.end()) {
    onednn::require_countable(data, "data");
    for (int i = 0; i < window.axes; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      kernel_.push_back(window.kernel[axis]);
      stride_.push_back(window.stride[axis]);
      before_.push_back(window.pad[axis]);
      after_.push_back((output[i + 2] - 1) * window.stride[axis] + window.kernel[axis] - data[i + 2] - window.pad[axis]);
    }
  }

  void forward(const tenon::Call& call, const float* data, float* output) {
    if (data_[0] == 0) return;
    if (!forward_)
      forward_.emplace(data_[0], most_chunks, [&](std::int64_t samples, const onednn::Step*) {
        return forward_step(samples, dnnl::prop_kind::forward_inference);
      });
    forward_->for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const ports[] = {data + first * sample(data_), output + first * sample(output_)};
      forward_->step(chunk).run(ports);
    });
  }

  /// Which element of a window was the largest is found again, so that nothing needs to be kept from forward.
  void backward_max(const tenon::Call& call, const float* data, const float* output_grad, float* data_grad) {
    if (data_[0] == 0) return;
    if (!training_)
      training_.emplace(data_[0], most_chunks, [&](std::int64_t samples, const onednn::Step*) {
        return forward_step(samples, dnnl::prop_kind::forward_training);
      });
    make_backward();
    const onednn::Parts outputs(training_->count(), training_->step(0).layout(DNNL_ARG_DST).get_size());
    const onednn::Parts places(training_->count(), training_->step(0).layout(DNNL_ARG_WORKSPACE).get_size());
    backward_->for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const again[] = {data + first * sample(data_), outputs[chunk], places[chunk]};
      training_->step(chunk).run(again);
      const void* const ports[] = {output_grad + first * sample(output_), data_grad + first * sample(data_), places[chunk]};
      backward_->step(chunk).run(ports);
    });
  }

  void backward_average(const tenon::Call& call, const float* output_grad, float* data_grad) {
    if (data_[0] == 0) return;
    make_backward();
    backward_->for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const ports[] = {output_grad + first * sample(output_), data_grad + first * sample(data_)};
      backward_->step(chunk).run(ports);
    });
  }

 private:
  static constexpr std::int64_t most_chunks = 16;  // more threads than that find nothing to do

  static onednn::Desc batch_of(std::int64_t samples, onednn::Dims dims) {
    dims[0] = samples;
    return onednn::plain(dims);
  }

  static std::int64_t sample(const onednn::Dims& dims) {
    std::int64_t size = 1;
    for (std::size_t axis = 1; axis < dims.size(); ++axis) size *= dims[axis];
    return size;
  }

  dnnl::pooling_forward::primitive_desc description(std::int64_t samples, dnnl::prop_kind kind) const {
    return {dnnl::pooling_forward::desc(kind, algorithm_, batch_of(samples, data_), batch_of(samples, output_), stride_, kernel_, before_,
                                        after_),
            onednn::with_own_scratchpad(), onednn::cpu()};
  }

  /// Ports: data, output and, for max pooling in training, the place of the largest element in each window.
  onednn::Step forward_step(std::int64_t samples, dnnl::prop_kind kind) const {
    const auto made = description(samples, kind);
    std::vector<onednn::Port> ports{{DNNL_ARG_SRC, made.src_desc(), made.src_desc()},
                                    {DNNL_ARG_DST, made.dst_desc(), made.dst_desc(), true}};
    if (kind == dnnl::prop_kind::forward_training)
      ports.push_back({DNNL_ARG_WORKSPACE, made.workspace_desc(), made.workspace_desc(), true});
    return {dnnl::pooling_forward(made), made.scratchpad_desc(), ports};
  }

  /// Ports: output gradient, data gradient and, for max pooling, the places.
  onednn::Step backward_step(std::int64_t samples) const {
    using Backward = dnnl::pooling_backward;
    const Backward::primitive_desc made(
        Backward::desc(algorithm_, batch_of(samples, data_), batch_of(samples, output_), stride_, kernel_, before_, after_),
        onednn::with_own_scratchpad(), onednn::cpu(), description(samples, dnnl::prop_kind::forward_training));
    std::vector<onednn::Port> ports{{DNNL_ARG_DIFF_DST, made.diff_dst_desc(), made.diff_dst_desc()},
                                    {DNNL_ARG_DIFF_SRC, made.diff_src_desc(), made.diff_src_desc(), true}};
    if (algorithm_ == dnnl::algorithm::pooling_max) ports.push_back({DNNL_ARG_WORKSPACE, made.workspace_desc(), made.workspace_desc()});
    return {Backward(made), made.scratchpad_desc(), ports};
  }

  void make_backward() {
    if (!backward_)
      backward_.emplace(data_[0], most_chunks, [&](std::int64_t samples, const onednn::Step*) { return backward_step(samples); });
  }

  dnnl::algorithm algorithm_;
  onednn::Dims data_, output_, kernel_, stride_, before_, after_;
  std::optional<onednn::Chunks> forward_, training_, backward_;
};
