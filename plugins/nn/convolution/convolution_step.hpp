// One part of a convolution's pass: a primitive of oneDNN, or loops of our own where these are faster.
#pragma once
#include <span>
#include <utility>
#include <variant>

#include "few_filters.hpp"
#include "onednn/step.hpp"

class ConvolutionStep {
 public:
  ConvolutionStep(onednn::Step step) : work_(std::move(step)) {}
  ConvolutionStep(FewFilters loops) : work_(std::move(loops)) {}

  /// Of the weights.
  const onednn::Desc& weights() const {
    const auto* const step = std::get_if<onednn::Step>(&work_);
    return step ? step->layout(DNNL_ARG_WEIGHTS) : std::get<FewFilters>(work_).weights();
  }

  bool slow() const {
    const auto* const step = std::get_if<onednn::Step>(&work_);
    return step && step->slow();
  }

  void run(std::span<const void* const> ports) const {
    std::visit([&](const auto& work) { work.run(ports); }, work_);
  }

 private:
  std::variant<onednn::Step, FewFilters> work_;
};
