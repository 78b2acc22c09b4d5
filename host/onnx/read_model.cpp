// Reads a whole model file.
#include <algorithm>

#include "onnx/fields.hpp"
#include "onnx/model.hpp"
#include "onnx/reader.hpp"

namespace tenon::onnx {
namespace {

constexpr std::int64_t oldest_ir = 3, newest_ir = 14, oldest_opset = 7, newest_opset = 28;

// Detects files that users often have instead of a model.
void refuse_other_files(const std::filesystem::path& path, std::string_view text) {
  if (text.empty()) refuse_file(path, "the file is empty, not an ONNX model");
  const auto refuse = [&](const char* what, const char* hint) {
    throw Failure(FailureKind::file,
                  fmt::format("{}: the file is {}, not an ONNX model", path.string(), what), hint);
  };
  if (text.starts_with("version https://git-lfs.github.com/"))
    refuse("a Git LFS pointer",
           "run `git lfs pull` in its repository, or download the model itself");
  const auto start =
      text.substr(std::min(text.find_first_not_of(" \t\r\n\xef\xbb\xbf"), text.size()), 16);
  std::string lower(start);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const auto* tag : {"<!doctype", "<html", "<head", "<?xml"})
    if (lower.starts_with(tag))
      refuse("a web page",
             "the download is a page about the model or an error page; download the model itself");
}

void check_opsets(const Model& model, List<proto::OpsetImport> opsets, const std::string& owner) {
  constexpr std::size_t max_opsets = 100;  // each is compared with all others
  if (opsets.size() > max_opsets)
    refuse_file(model.path, "{} imports {} opsets; at most {} are allowed", owner, opsets.size(),
                max_opsets);
  for (const auto& opset : opsets) {
    for (const auto* other = opsets.begin(); other != &opset; ++other)
      if (other->domain == opset.domain && other->version != opset.version)
        refuse_file(model.path, "{} imports both opset {} and opset {} of domain '{}'", owner,
                    other->version, opset.version, shown(opset.domain));
    if (opset.domain.empty() && (opset.version < oldest_opset || opset.version > newest_opset))
      throw Failure(
          FailureKind::file,
          fmt::format("{}: {} uses ONNX opset {}, but this version of Tenon reads opsets {} to {}",
                      model.path.string(), owner, opset.version, oldest_opset, newest_opset),
          "re-export the model for one of these opsets, or convert it with onnx.version_converter");
  }
}

void check(const Model& model) {
  if (model.ir_version < oldest_ir || model.ir_version > newest_ir)
    throw Failure(
        FailureKind::file,
        fmt::format(
            "{}: the model has ONNX IR version {}, but this version of Tenon reads {} to {}",
            model.path.string(), model.ir_version, oldest_ir, newest_ir),
        model.ir_version > newest_ir
            ? "re-export the model with an older version of ONNX, or use a newer version of Tenon"
            : "re-export the model with a newer version of ONNX");
  check_opsets(model, model.opset_imports, "the model");
  for (const auto& function : model.functions)
    check_opsets(model, function.opset_imports, fmt::format("function '{}'", shown(function.name)));
}

void read_fields(Wire wire, Model& model) {
  MessageReader reader(*model.arena);
  const FieldCounts counts(wire);
  const auto require = [&](std::uint32_t number, const char* what) {
    if (counts[number] == 0)
      throw Failure(
          FailureKind::file,
          fmt::format("{}: the model has no {}: the file is truncated or not an ONNX model",
                      model.path.string(), what),
          "download or export the file again");
  };
  require(field::model::ir_version, "ir_version");
  require(field::model::graph, "graph");
  require(field::model::opset_import, "opset_import");
  if (counts[field::model::graph] > 1)
    wire.refuse("it has {} graphs instead of one", counts[field::model::graph]);
  auto opsets =
      reader.fill<proto::OpsetImport>(wire, counts[field::model::opset_import], "opset imports");
  auto metadata =
      reader.fill<proto::Metadata>(wire, counts[field::model::metadata_props], "metadata entries");
  auto functions = reader.fill<proto::Function>(wire, counts[field::model::functions], "functions");
  while (wire.next()) {
    switch (wire.field()) {
      case field::model::ir_version:
        model.ir_version = wire.integer("ir_version");
        break;
      case field::model::opset_import:
        reader.read(wire.message("opset_import", "an opset import"), opsets.next());
        break;
      case field::model::producer_name:
        model.producer_name = wire.text("producer_name");
        break;
      case field::model::producer_version:
        model.producer_version = wire.text("producer_version");
        break;
      case field::model::domain:
        model.domain = wire.text("domain");
        break;
      case field::model::model_version:
        model.model_version = wire.integer("model_version");
        break;
      case field::model::graph:
        reader.read(wire.message("graph", "the graph"), model.graph);
        break;
      case field::model::metadata_props:
        reader.read(wire.message("metadata_props", "an entry of the metadata"), metadata.next());
        break;
      case field::model::training_info:
        model.has_training = true;
        break;
      case field::model::functions:
        reader.read(wire.message("functions", "a function"), functions.next());
        break;
      default:
        break;
    }
  }
  model.opset_imports = opsets, model.metadata = metadata, model.functions = functions;
}

}  // namespace

void MessageReader::read(Wire wire, proto::OpsetImport& opset) {
  while (wire.next()) {
    if (wire.field() == field::opset::domain) opset.domain = plain_domain(wire.text("domain"));
    if (wire.field() == field::opset::version) opset.version = wire.integer("version");
  }
}

void MessageReader::read(Wire wire, proto::Metadata& entry) {
  while (wire.next()) {
    if (wire.field() == field::entry::key) entry.key = wire.text("key");
    if (wire.field() == field::entry::value) entry.value = wire.text("value");
  }
}

std::int64_t Model::opset(std::string_view domain_name) const {
  const auto* const found =
      std::find_if(opset_imports.begin(), opset_imports.end(),
                   [&](const auto& opset) { return opset.domain == domain_name; });
  return found == opset_imports.end() ? 0 : found->version;
}

Model read_model(const FileBytes& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  refuse_other_files(file.path, text);
  Model model;
  model.path = file.path;
  model.owner = file.owner;
  model.arena = std::make_shared<Arena>(Budget::for_file(file.path, text.size()));
  model.may_change = file.may_change;
  model.bytes = text;
  const WireFile wire_file{file.path, text.data()};
  read_fields(Wire(wire_file, text, "the model"), model);
  check(model);
  index_functions(model);
  refuse_cycles(model);
  return model;
}

Model read_model(const std::filesystem::path& path, std::uint64_t map_above) {
  const auto file = FileMemory::open(path, map_above);
  try {
    auto model = read_model({path, {file->data(), file->bytes().size()}, file, file->mapped()});
    file->require_unchanged();
    return model;
  } catch (const Failure&) {
    file->require_unchanged();  // reports the change as the cause
    throw;
  }
}

}  // namespace tenon::onnx
