// Catalogs of a few operators, without files.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "plugin/catalog_builder.hpp"

namespace tenon {

struct Brings {
  std::string op;
  int version = 1;
  std::string doc = "";  // makes manifests differ
  std::vector<std::string> aliases = {};
  bool kernels_elsewhere = false;
  std::string space = "";
};
struct File {
  std::string name;
  std::vector<Brings> operators;
  std::vector<KernelInfo> kernels = {};
  std::string plugin = "";
};

inline OperatorInfo info_of(const Brings& brings) {
  OperatorInfo info;
  info.name = brings.op;
  info.space = brings.space;
  info.version = brings.version;
  info.aliases = brings.aliases;
  info.kernels_elsewhere = brings.kernels_elsewhere;
  for (const char c : brings.op + std::to_string(brings.version) + brings.doc)
    info.manifest.push_back(static_cast<std::byte>(c));
  return info;
}

inline Candidate candidate_of(const File& file) {
  Candidate candidate;
  candidate.file.path = file.name;
  candidate.file.name = file.plugin;
  candidate.file.kernels = file.kernels;
  for (const Brings& brings : file.operators) {
    candidate.file.operators.push_back(brings.op);
    candidate.operators.push_back(std::make_shared<const OperatorInfo>(info_of(brings)));
  }
  return candidate;
}

using Folder = std::vector<File>;

/// A catalog of these files.
struct Built {
  explicit Built(const Folder& files) { call({files}); }
  Built() = default;
  void call(const std::vector<Folder>& folders,
            CatalogBuilder::Layer layer = CatalogBuilder::Layer::latest) {
    std::vector<std::vector<int>> numbers;
    for (const Folder& folder : folders) {
      numbers.emplace_back();
      for (const File& file : folder) {
        numbers.back().push_back(builder.add_file(candidate_of(file)));
        paths.push_back(file.name);
      }
    }
    builder.add_layer(numbers, layer);
    build();
  }
  void own(const Brings& brings) {
    builder.add_application_operator(info_of(brings), {});
    build();
  }
  void build() {
    auto built = builder.build(*index);
    index = std::move(built.index);
    unused = std::move(built.unused);
  }
  std::shared_ptr<const Definition> definition(const std::string& op) const {
    const auto found = index->find(op);
    return found == CatalogIndex::nowhere ? nullptr : index->definitions[found];
  }
  std::string winner(const std::string& op) const {
    const auto found = definition(op);
    return !found ? "nobody" : path(found->file);
  }
  std::string kernel(const std::string& op, const std::string& device) const {
    const KernelChoice choice = definition(op)->kernels[device == "cpu" ? TENON_CPU : TENON_CUDA];
    return choice.source == KernelChoice::Source::none             ? "nobody"
           : choice.source == KernelChoice::Source::operator_table ? "own"
                                                                   : path(choice.file);
  }
  std::string path(int file) const {
    return file < 0 ? "the application" : paths[static_cast<std::size_t>(file)];
  }
  bool notes(const std::string& text) const {
    return std::any_of(index->notes.begin(), index->notes.end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }

  CatalogBuilder builder;
  std::vector<std::string> paths, unused;
  std::shared_ptr<const CatalogIndex> index = std::make_shared<const CatalogIndex>();
};

}  // namespace tenon
