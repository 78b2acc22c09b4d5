// The primitives for all chunks of a convolution's pass that reads the weights, and the layouts in
// which they need the weights.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "convolution_choice.hpp"
#include "convolution_step.hpp"
#include "onednn/layout.hpp"
#include "shared/window_partition.hpp"

class ConvolutionPass {
 public:
  /// weights: descriptor of the weights that a chunk reads, in any layout: of all filters, or of
  /// the chunk's filters. make(chunk, weights) returns the primitive for a chunk, with weights in
  /// the described layout or, if that is `any`, in the one it prefers.
  template <class Make>
  ConvolutionPass(std::vector<WindowChunk> chunks, std::int64_t filters,
                  const onednn::Desc& weights, Make&& make)
      : chunks_(std::move(chunks)),
        slices_(filters / chunks_.front().filters),
        slice_(onednn::plain(weights.dims())) {
    onednn::use([&] {
      for (const auto& chunk : chunks_) work_indices_.push_back(find_or_make(chunk, weights, make));
    });
  }

  /// Number of distinct layouts of the weights; usually one. It may be the plain one, which needs
  /// no memory.
  std::size_t layouts() const { return layouts_.size(); }
  bool needs_layout(std::size_t i) const { return layouts_[i].from_plain.needed(); }
  std::size_t layout_bytes(std::size_t i) const {
    return static_cast<std::size_t>(slices_) * layouts_[i].desc.get_size();
  }
  std::string layout_text(std::size_t i) const {
    return std::to_string(slices_) + " of " + onednn::text_of(layouts_[i].desc);
  }
  void lay_out(std::size_t i, const float* plain, void* to) const {
    for (std::int64_t slice = 0; slice < slices_; ++slice)
      layouts_[i].from_plain.copy(slice_at(plain, slice_, slice),
                                  const_cast<void*>(slice_at(to, layouts_[i].desc, slice)));
  }

  /// The implementation of the first chunk, for plans.
  std::string algorithm() const { return works_.front().step.algorithm(); }

  /// Memory held: code, and weights that are not packed constants.
  std::size_t bytes() const {
    auto bytes = works_.size() * onednn::Step::bytes;
    for (const auto& layout : layouts_) bytes += layout.laid_out.bytes();
    return bytes;
  }

  /// Calls body(chunk, step, weights), inside of use(), for each chunk. prepacked(i): the weights
  /// in layout i if they are packed constants; otherwise null.
  template <class Prepacked, class Body>
  void for_each(const tenon::Call& call, const float* plain, Prepacked&& prepacked, Body&& body) {
    std::vector<const void*> weights;
    for (std::size_t i = 0; i < layouts_.size(); ++i)
      weights.push_back(weights_in(i, plain, prepacked(i)));
    call.parallel_for(
        static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          onednn::use([&] {
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
              const auto& work = works_[work_indices_[i]];
              body(chunks_[i], work.step,
                   slice_at(weights[work.layout], layouts_[work.layout].desc,
                            chunks_[i].filter / chunks_[i].filters));
            }
          });
        });
  }

 private:
  /// Shared by chunks of equal size.
  struct Work {
    WindowChunk chunk;
    ConvolutionPrimitive step;
    std::size_t layout;
  };
  struct WeightLayout {
    onednn::Desc desc;
    onednn::Reorder from_plain;
    onednn::Buffer laid_out;  // allocated if the weights are not packed constants
  };

  static const void* slice_at(const void* weights, const onednn::Desc& slice, std::int64_t i) {
    return static_cast<const std::byte*>(weights) + static_cast<std::size_t>(i) * slice.get_size();
  }

  template <class Make>
  std::size_t find_or_make(const WindowChunk& chunk, const onednn::Desc& any, Make&& make) {
    for (std::size_t i = 0; i < works_.size(); ++i)
      if (works_[i].chunk.like(chunk)) return i;
    ConvolutionPrimitive step = make(chunk, any);
    auto layout = layout_index(step.weights());
    for (std::size_t i = 0; i < layouts_.size() && layout == layouts_.size(); ++i) {
      ConvolutionPrimitive sharing = make(chunk, layouts_[i].desc);
      if (!convolution_choice::shares_weights(sharing.slow(), step.slow())) continue;
      step = std::move(sharing);
      layout = i;
    }
    if (layout == layouts_.size()) {
      const auto& desc = step.weights();
      layouts_.push_back({desc, onednn::Reorder(slice_, desc), {}});
    }
    works_.push_back({chunk, std::move(step), layout});
    return works_.size() - 1;
  }

  std::size_t layout_index(const onednn::Desc& desc) const {
    std::size_t i = 0;
    while (i < layouts_.size() && layouts_[i].desc != desc) ++i;
    return i;
  }

  const void* weights_in(std::size_t i, const float* plain, const void* prepacked) {
    auto& layout = layouts_[i];
    if (!layout.from_plain.needed()) return plain;
    if (prepacked) return prepacked;
    if (layout.laid_out.bytes() == 0) layout.laid_out = onednn::Buffer(layout_bytes(i));
    lay_out(i, plain, layout.laid_out.data());
    return layout.laid_out.data();
  }

  std::vector<WindowChunk> chunks_;
  std::int64_t slices_;  // slices of the weights, one for each chunk of filters
  onednn::Desc slice_;
  std::vector<std::size_t> work_indices_;
  std::vector<Work> works_;
  std::vector<WeightLayout> layouts_;
};
