// One chunk of a convolution's pass: a oneDNN primitive, or built-in loops if these are faster.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "onednn/step.hpp"
#include "small_filter_convolution.hpp"

class ConvolutionPrimitive {
 public:
  ConvolutionPrimitive(onednn::Step step) : work_(std::move(step)) {}
  ConvolutionPrimitive(SmallFilterConvolution loops) : work_(std::move(loops)) {}

  /// The descriptor of the weights.
  const onednn::Desc& weights() const {
    const auto* const step = std::get_if<onednn::Step>(&work_);
    return step ? step->layout(DNNL_ARG_WEIGHTS)
                : std::get<SmallFilterConvolution>(work_).weights();
  }

  std::string algorithm() const {
    const auto* const step = std::get_if<onednn::Step>(&work_);
    return step ? "oneDNN " + std::string(step->implementation())
                : convolution_choice::step[0].name;
  }

  bool slow() const {
    const auto* const step = std::get_if<onednn::Step>(&work_);
    return step && step->slow();
  }

  void run(std::span<const void* const> ports) const {
    std::visit([&](const auto& work) { work.run(ports); }, work_);
  }

 private:
  std::variant<onednn::Step, SmallFilterConvolution> work_;
};
