// ai.onnx.ml, apart from trees and encoders: linear models, support vector machines, scalers.
#include "onnx/operators/traditional_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tenon::onnx {

namespace {
template <class T>
Tensor copied(const List<T>& list, DType dtype) {
  auto made = Tensor::empty(dtype, {static_cast<std::int64_t>(list.size())});
  if (!list.empty()) std::memcpy(made.data(), list.begin(), list.size() * sizeof(T));
  return made;
}
}  // namespace

Operand rows_of(NodeImport& node, bool keep_double) {
  auto x = node.input(0);
  const auto rank = node.rank(x);
  node.require(rank == 1 || rank == 2,
               fmt::format("its input 0 has {} dimensions, but needs rows and columns", rank));
  if (rank == 1) x = node.add("tenon.expand_dims", std::vector{x}, {{"axis", {0}}});
  return keep_double && node.dtype(x) == f64 ? x : node.cast(x, f32);
}

const List<std::int64_t>* integers_of(NodeImport& node, std::string_view name) {
  const auto* found = node.attribute(name);
  if (found == nullptr) return nullptr;
  const auto* list = std::get_if<List<std::int64_t>>(&found->value);
  node.require(list != nullptr, fmt::format("its attribute '{}' is not a list of integers", name));
  return list;
}

Tensor tensor_of(const List<std::int64_t>& list) {
  return copied(list, i64);
}

Tensor numbers_of(NodeImport& node, const std::string& name, DType dtype) {
  Tensor made;
  if (const auto* found = node.attribute(name)) {
    const auto* list = std::get_if<List<float>>(&found->value);
    node.require(list != nullptr, fmt::format("its attribute '{}' is not a list of numbers", name));
    made = copied(*list, f32);
  }
  const auto other = node.tensor(name + "_as_tensor");
  if ((!made || made.size() == 0) && other) {
    node.require(allows(floating.mask, other.dtype()) && other.shape().rank() == 1,
                 fmt::format("its attribute '{}_as_tensor' is not a list of numbers", name));
    made = other;
  } else {
    node.require(!other || other.size() == 0,
                 fmt::format("it has both '{0}' and '{0}_as_tensor'", name));
  }
  return made ? node.converted(made, dtype) : made;
}

ClassLabels::ClassLabels(NodeImport& node, std::string_view integers) {
  const auto* list = integers_of(node, integers);
  const auto* texts = node.texts("classlabels_strings");
  elements_ = list == nullptr ? Tensor::empty(i64, {0}) : tensor_of(*list);
  if (texts == nullptr || texts->empty()) return;
  node.require(elements_.size() == 0,
               fmt::format("it has both '{}' and 'classlabels_strings'", integers));
  // onnxruntime then returns texts that are not in the list
  node.require(texts->size() >= 2, "it has a single class label, but texts need two or more");
  names_ = node.names_of_output(0);
  for (const auto text : *texts) indices_.push_back(names_->index_of(text));
  std::vector<std::int64_t> positions(indices_.size());
  std::iota(positions.begin(), positions.end(), 0);
  elements_ = Tensor::from(positions, {static_cast<std::int64_t>(positions.size())});
}

void ClassLabels::output(NodeImport& node, Operand label) const {
  if (names_ != nullptr) {
    const auto positions = elements_.values<std::int64_t>();
    if (!std::equal(positions.begin(), positions.end(), indices_.begin()))
      label = node.add("tenon.gather", std::vector{node.constant(indices_), label}, {{"axis", 0}});
    label.names = names_;
  }
  node.output(0, label);
}

std::string transform_of(NodeImport& node) {
  constexpr std::pair<const char*, const char*> names[] = {{"NONE", "none"},
                                                           {"SOFTMAX", "softmax"},
                                                           {"LOGISTIC", "logistic"},
                                                           {"SOFTMAX_ZERO", "softmax_zero"},
                                                           {"PROBIT", "probit"}};
  const auto found = node.text("post_transform", "NONE");
  for (const auto& [theirs, ours] : names)
    if (found == theirs) return ours;
  node.refuse(fmt::format("its post_transform '{}' is unknown", found));
}

namespace {

Tensor list_of(NodeImport& node, const char* name) {
  auto made = numbers_of(node, name, f32);
  return made ? made : Tensor::empty(f32, {0});
}

/// A list of numbers as a matrix with this many rows. Error if it cannot be divided so.
Tensor matrix_of(NodeImport& node, const char* name, std::int64_t rows) {
  const auto list = list_of(node, name);
  node.require(rows > 0 && list.size() > 0 && list.size() % rows == 0,
               fmt::format("its attribute '{}' has {} numbers, which are not {} rows", name,
                           list.size(), rows));
  return list.reshape({rows, list.size() / rows});
}

Operand linear(NodeImport& node, const Operand& x, const Tensor& weight, const Tensor& bias) {
  Importer::Named inputs{{"data", x}, {"weight", node.constant(weight)}};
  if (bias.size() > 0) inputs.emplace_back("bias", node.constant(bias));
  return node.add(
      "tenon.fully_connected", inputs,
      {{"num_hidden", weight.shape()[0]}, {"no_bias", bias.size() == 0}, {"flatten", false}});
}

void linear_regressor(NodeImport& node) {
  const auto targets = node.integer("targets", 1);
  const auto weight = matrix_of(node, "coefficients", targets);
  auto bias = list_of(node, "intercepts");
  if (bias.size() != targets) bias = Tensor::empty(f32, {0});  // as in onnxruntime
  const auto transform = transform_of(node);
  auto scores = linear(node, rows_of(node), weight, bias);
  if (transform != "none")
    scores =
        node.add("tenon.transform_scores", std::vector{scores}, {{"post_transform", transform}});
  node.output(scores);
}

void classified(NodeImport& node, const Operand& scores, const ClassLabels& labels,
                const std::string& transform) {
  const auto made =
      node.add_all("tenon.classify_scores", std::vector{scores, node.constant(labels.elements())},
                   {{"post_transform", transform}});
  labels.output(node, made[0]);
  node.output(1, made[1]);
}

void linear_classifier(NodeImport& node) {
  const ClassLabels labels(node, "classlabels_ints");
  const auto bias = list_of(node, "intercepts");
  node.require(bias.size() > 0, "it has no intercepts, which determine the number of its scores");
  node.require(bias.size() > 1 || !labels.are_texts() || labels.elements().size() == 2,
               "it has a single score, but not two class labels");
  const auto weight = matrix_of(node, "coefficients", bias.size());
  node.ignore("multi_class");
  classified(node, linear(node, rows_of(node), weight, bias), labels, transform_of(node));
}

Attributes kernel_of(NodeImport& node, bool is_linear = false) {
  constexpr std::pair<const char*, const char*> names[] = {
      {"LINEAR", "linear"}, {"POLY", "poly"}, {"RBF", "rbf"}, {"SIGMOID", "sigmoid"}};
  const auto found = node.text("kernel_type", "LINEAR");
  std::string kernel = is_linear ? "linear" : "";
  for (const auto& [theirs, ours] : names)
    if (found == theirs && !is_linear) kernel = ours;
  node.require(!kernel.empty(), fmt::format("its kernel_type '{}' is unknown", found));
  const auto params = list_of(node, "kernel_params");
  node.require(
      params.size() == 0 || params.size() == 3,
      fmt::format("its kernel_params are {} numbers, not gamma, coef0 and degree", params.size()));
  const auto param = [&](std::size_t i) {
    return params.size() == 0 ? 0 : static_cast<double>(params.values<float>()[i]);
  };
  return {{"kernel", kernel}, {"gamma", param(0)}, {"coef0", param(1)}, {"degree", param(2)}};
}

void svm_regressor(NodeImport& node) {
  auto count = node.integer("n_supports", 0);
  auto attributes = kernel_of(node, count <= 0);
  auto coefficients = list_of(node, "coefficients");
  Tensor vectors;
  if (count > 0) {
    vectors = matrix_of(node, "support_vectors", count);
  } else {  // the coefficients of a linear function are its only vector
    node.ignore("support_vectors");
    count = 1;
    vectors = matrix_of(node, "coefficients", 1);
    coefficients = Tensor::from({1.0F}, {1});
  }
  node.require(
      coefficients.size() == count,
      fmt::format("it has {} coefficients for {} support vectors", coefficients.size(), count));
  const auto rho = list_of(node, "rho");
  node.require(rho.size() >= 1, "it has no rho");
  node.ignore("post_transform");  // onnxruntime does not apply it
  attributes.set("one_class", node.integer("one_class", 0) != 0);
  const auto constant = Tensor::from({rho.values<float>()[0]}, {1});
  node.output(node.add("tenon.svm_regressor",
                       std::vector{rows_of(node), node.constant(vectors),
                                   node.constant(coefficients), node.constant(constant)},
                       attributes));
}

void svm_classifier(NodeImport& node) {
  const ClassLabels labels(node, "classlabels_ints");
  const auto classes = labels.elements().size();
  const auto* per_class = integers_of(node, "vectors_per_class");
  std::int64_t count = 0;
  if (per_class != nullptr)
    for (const auto number : *per_class) {
      node.require(number >= 0 && number <= INT32_MAX,
                   fmt::format("its vectors_per_class has the number {}", number));
      count += number;
    }
  const auto rho = list_of(node, "rho");
  const auto transform = transform_of(node);
  auto attributes = kernel_of(node);
  if (count == 0) {  // liblinear: a linear function per class
    node.require(classes > 2 && rho.size() >= 1,
                 "it has no support vectors, which is supported for three or more classes only");
    for (const auto* unused : {"support_vectors", "prob_a", "prob_b"}) node.ignore(unused);
    const auto bias = std::vector<float>(static_cast<std::size_t>(classes), rho.values<float>()[0]);
    return classified(node,
                      linear(node, rows_of(node), matrix_of(node, "coefficients", classes),
                             Tensor::from(bias, {classes})),
                      labels, transform);
  }
  const auto pairs = classes * (classes - 1) / 2;
  node.require(
      classes >= 2 && classes < 65536 &&
          per_class->size() == labels.elements().values<std::int64_t>().size(),
      fmt::format("it has {} labels and vectors of {} classes", classes, per_class->size()));
  const auto coefficients = matrix_of(node, "coefficients", classes - 1);
  node.require(coefficients.shape()[1] == count && rho.size() >= pairs,
               fmt::format("its coefficients or rho do not match {} classes and {} support vectors",
                           classes, count));
  const auto a = list_of(node, "prob_a"), b = list_of(node, "prob_b");
  node.require(a.size() == b.size() && (a.size() == 0 || a.size() == pairs),
               "its prob_a and prob_b do not match its classes");
  const auto first = rho.values<float>();
  const std::vector<float> constants(first.begin(),
                                     first.begin() + static_cast<std::ptrdiff_t>(pairs));
  Importer::Named inputs{{"x", rows_of(node)},
                         {"vectors", node.constant(matrix_of(node, "support_vectors", count))},
                         {"coefficients", node.constant(coefficients)},
                         {"rho", node.constant(Tensor::from(constants, {pairs}))},
                         {"vectors_per_class", node.constant(tensor_of(*per_class))},
                         {"classes", node.constant(labels.elements())}};
  if (a.size() > 0) {
    inputs.emplace_back("prob_a", node.constant(a));
    inputs.emplace_back("prob_b", node.constant(b));
  }
  attributes.set("post_transform", transform);
  const auto made = node.importer().call("tenon.svm_classifier", inputs, attributes, node.name());
  labels.output(node, made[0]);
  node.output(1, made[1]);
}

/// A list that has one number, or one for each column of x.
Operand per_column(NodeImport& node, const char* name, const Tensor& list, const Operand& x) {
  const auto columns = node.shape(x)[-1];
  node.require(
      list.size() == 1 || columns == unknown || list.size() == columns,
      fmt::format("its attribute '{}' has {} numbers for {} columns", name, list.size(), columns));
  return node.constant(node.converted(list, node.dtype(x)));
}

/// x, whose columns must be as many as `count`. If their number is unknown, a reshape that changes
/// nothing fails in the run for others: elementwise operators would broadcast a single column.
Operand with_columns(NodeImport& node, const Operand& x, std::int64_t count) {
  if (count <= 1 || node.shape(x)[-1] != unknown) return x;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(node.rank(x)));
  sizes.back() = count;
  return node.add("tenon.reshape", std::vector{x}, {{"shape", sizes}, {"copy_zeros", true}});
}

void scaler(NodeImport& node) {
  auto x = node.input(0);
  const auto rank = node.rank(x);
  node.require(rank == 1 || rank == 2,
               fmt::format("its input 0 has {} dimensions, but needs rows and columns", rank));
  if (node.dtype(x) != f64) x = node.cast(x, f32);
  const auto offset = list_of(node, "offset"), scale = list_of(node, "scale");
  x = with_columns(node, x, std::max(offset.size(), scale.size()));
  if (offset.size() > 0)
    x = node.add("tenon.sub", std::vector{x, per_column(node, "offset", offset, x)});
  if (scale.size() > 0)
    x = node.add("tenon.mul", std::vector{x, per_column(node, "scale", scale, x)});
  node.output(node.cast(x, f32));
}

void normalizer(NodeImport& node) {
  constexpr std::pair<const char*, const char*> names[] = {
      {"MAX", "max"}, {"L1", "l1"}, {"L2", "l2"}};
  const auto found = node.text("norm", "MAX");
  for (const auto& [theirs, ours] : names)
    if (found == theirs)
      return node.output(node.add("tenon.normalizer", std::vector{node.cast(node.input(0), f32)},
                                  {{"norm", ours}}));
  node.refuse(fmt::format("its norm '{}' is unknown", found));
}

void imputer(NodeImport& node) {
  const auto x = node.input(0);
  node.require(node.rank(x) >= 1, "its input 0 is a scalar");
  const bool is_real = allows(floating.mask, node.dtype(x));
  const auto floats = list_of(node, "imputed_value_floats");
  const auto* integers = integers_of(node, "imputed_value_int64s");
  const auto real = node.real("replaced_value_float", 0);
  const auto integer = node.integer("replaced_value_int64", 0);
  auto values = is_real ? floats : integers == nullptr ? Tensor() : tensor_of(*integers);
  node.require(values && values.size() > 0,
               fmt::format("it has no values to replace {}", name_of(node.dtype(x))));
  const auto columns = node.shape(x)[-1];
  node.require(values.size() == 1 || columns != unknown,
               "the number of columns of its input 0 is unknown");
  // onnxruntime uses the first of a wrong number of values
  if (values.size() != columns) {
    auto first = Tensor::empty(values.dtype(), {1});
    std::memcpy(first.data(), values.data(), size_of(values.dtype()));
    values = first;
  }
  const auto missing = [&] {
    if (is_real && std::isnan(real)) return node.add("tenon.is_nan", std::vector{x});
    if (is_real) return node.add("tenon.equal", std::vector{x, node.scalar(real, x)});
    const auto same = node.cast(x, i64);  // as double, large integers would be rounded
    return node.add("tenon.equal", std::vector{same, node.constant({integer})});
  };
  node.output(
      node.add("tenon.where",
               std::vector{missing(), node.constant(node.converted(values, node.dtype(x))), x}));
}

/// Cuts or pads the columns of each input to its size, and joins them.
void feature_vectorizer(NodeImport& node) {
  const auto* sizes = integers_of(node, "inputdimensions");
  node.require(sizes != nullptr && sizes->size() == node.inputs(),
               "its inputdimensions do not match its inputs");
  std::vector<Operand> columns;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    auto x = node.cast(node.input(i), f32);
    const auto rank = node.rank(x);
    node.require(rank == 1 || rank == 2, fmt::format("its input {} is not a table", i));
    if (rank == 1) x = node.add("tenon.expand_dims", std::vector{x}, {{"axis", {0}}});
    const auto found = node.shape(x)[1], needed = (*sizes)[i];
    node.require_known(found != unknown,
                       fmt::format("the number of columns of its input {} is unknown", i));
    node.require(needed >= 0 && needed <= 1 << 24,
                 fmt::format("its inputdimensions has the size {}", needed));
    if (found > needed)
      x = node.add("tenon.slice", std::vector{x},
                   {{"begin", {0}}, {"end", {needed}}, {"axes", {1}}});
    if (found < needed)
      x = node.add("tenon.pad", std::vector{x},
                   {{"before", {0}}, {"after", {needed - found}}, {"axes", {1}}});
    columns.push_back(x);
  }
  node.output(node.add("tenon.concat", columns, {{"axis", 1}}));
}

void binarizer(NodeImport& node) {
  const auto x = node.input(0);
  const auto wide = node.cast(x, f64);
  node.output(node.cast(
      node.add("tenon.greater", std::vector{wide, node.scalar(node.real("threshold", 0), wide)}),
      node.dtype(x)));
}

// Selects columns by index; a vector counts as one row.
/// The indices of a feature extractor, which do not count from the end, unlike those of a gather.
Operand extracted(NodeImport& node, std::int64_t columns) {
  const auto indices = node.add("tenon.reshape", std::vector{node.input(1)}, {{"shape", {-1}}});
  node.require(node.dtype(indices) == i64, "its input 1 is not int64");
  if (!indices.known()) {  // a gather refuses what is beyond all columns
    const auto is_negative = node.add("tenon.less", std::vector{indices, node.scalar(0, indices)});
    const auto beyond = node.constant(Tensor::from<std::int64_t>({INT64_MAX}, {1}));
    return node.add("tenon.where", std::vector{is_negative, beyond, indices});
  }
  for (const auto index : indices.elements.values<std::int64_t>())
    node.require(index >= 0 && (columns == unknown || index < columns),
                 fmt::format("its index {} is not from 0 to below the number of columns{}", index,
                             columns == unknown ? "" : fmt::format(", {}", columns)));
  return indices;
}

void feature_extractor(NodeImport& node) {
  auto x = node.input(0);
  if (node.rank(x) == 1) x = node.add("tenon.expand_dims", std::vector{x}, {{"axis", {0}}});
  const auto indices = extracted(node, node.shape(x)[-1]);
  node.output(node.add("tenon.gather", std::vector{x, indices}, {{"axis", -1}}));
}

/// A sequence of maps from labels to probabilities: the matrix, with a column for each label.
void zip_map(NodeImport& node) {
  node.ignore("classlabels_int64s"), node.ignore("classlabels_strings");
  node.importer().note(
      fmt::format("'{}' is a matrix with a column for each class, not a sequence of maps",
                  node.node().outputs.empty() ? "" : node.node().outputs[0]));
  node.output(node.input(0));
}

const Composition traditional_models_read[] = {
    {"ArrayFeatureExtractor", feature_extractor, 1, ml_domain},
    {"Binarizer", binarizer, 1, ml_domain},
    {"FeatureVectorizer", feature_vectorizer, 1, ml_domain},
    {"Imputer", imputer, 1, ml_domain},
    {"LinearClassifier", linear_classifier, 1, ml_domain},
    {"LinearRegressor", linear_regressor, 1, ml_domain},
    {"Normalizer", normalizer, 1, ml_domain},
    {"SVMClassifier", svm_classifier, 1, ml_domain},
    {"SVMRegressor", svm_regressor, 1, ml_domain},
    {"Scaler", scaler, 1, ml_domain},
    {"ZipMap", zip_map, 1, ml_domain}};

}  // namespace
}  // namespace tenon::onnx
