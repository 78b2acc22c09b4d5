// Inputs from files in the text form of svmlight and libsvm.
#pragma once
#include <tenon/abi.h>

#include <string>
#include <tenon/tensor.hpp>

namespace tenon::cli {

/// FILE.svm, FILE.libsvm or FILE.svmlight, perhaps with one of the words below after it.
bool is_svmlight(const std::string& text);

/// FILE.svm: the features as csr, counted from 0 where any line has a feature 0, else from 1; FILE.svm:from-0 and FILE.svm:from-1 say it.
/// FILE.svm:labels: the labels, in the dtype that the graph declares where it holds them all. `type`: what the graph declares; as many
/// columns as it says. Throws Failure.
Tensor read_svmlight_input(const std::string& text, const tenon_type& type);

}  // namespace tenon::cli
