// A picture of a training.
#pragma once
#include <string>

#include "draw/learning_curves.hpp"

namespace tenon::cli {

/// A whole SVG file: the loss over the epochs and, where right answers were counted, the accuracy beside it; training and validation.
std::string draw_curves(const LearningCurves& curves);

/// Before the training: throws Failure where `path`, given by `option`, does not end in .svg (usage) or cannot be written (file).
void check_plot_path(const std::string& option, const std::filesystem::path& path);

/// Writes it whole or not at all. Throws Failure (file).
void write_plot(const std::filesystem::path& path, const LearningCurves& curves);

}  // namespace tenon::cli
