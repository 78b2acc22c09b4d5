#include "cli/repository/row_test.hpp"

#include <fmt/format.h>

#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor_functions.hpp>

namespace tenon::cli {
namespace {

constexpr std::int64_t tried_rows = 3, open_size = 8;

/// Creates inputs that most graphs accept. Integers may be indices, for which 0 is usually valid.
NamedTensors test_inputs(const serve::Signature& signature, bool zero_integers) {
  NamedTensors inputs;
  std::uint64_t stream = 0;
  for (const auto& input : signature.inputs) {
    auto shape = input.shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (axis == 0 || shape[axis] == unknown) shape.set(axis, axis == 0 ? tried_rows : open_size);
    const bool zero = zero_integers && input.dtype != f16 && input.dtype != bf16 &&
                      input.dtype != f32 && input.dtype != f64;
    inputs[input.name] = zero ? Tensor::zeros(input.dtype, shape)
                              : random_tensor(input.dtype, shape, {.stream = stream++});
  }
  return inputs;
}

NamedTensors row_of(const NamedTensors& inputs, std::int64_t row) {
  NamedTensors one;
  for (const auto& [name, tensor] : inputs) one[name] = rows(tensor, row, row + 1);
  return one;
}

std::string difference(const std::string& name, const Tensor& all, const Tensor& single,
                       std::int64_t row) {
  if (all.shape().rank() == 0 || all.shape()[0] != tried_rows)
    return fmt::format("output '{}' has shape {} for {} input rows", name, to_string(all.shape()),
                       tried_rows);
  const auto same = all_close(single, rows(all, row, row + 1));
  return same ? ""
              : fmt::format("a row of output '{}' depends on the other rows: run separately, {}",
                            name, same.text);
}

RowTest compare(Session& session, const serve::Signature& signature, const NamedTensors& inputs) {
  RunOptions options;
  for (const auto& output : signature.outputs) options.outputs.push_back(output.name);
  const auto all = session.run(inputs, options);
  for (std::int64_t row = 0; row < tried_rows; ++row)
    for (const auto& [name, single] : session.run(row_of(inputs, row), options))
      if (auto found = difference(name, cast_storage(all.at(name), Storage::dense),
                                  cast_storage(single, Storage::dense), row);
          !found.empty())
        return {std::move(found), {}};
  return {};
}

}  // namespace

RowTest try_rows(Session& session, const serve::Signature& signature) {
  for (const bool zero_integers : {false, true}) {
    try {
      return compare(session, signature, test_inputs(signature, zero_integers));
    } catch (const Failure& failure) {
      if (zero_integers) return {{}, failure.what()};
    }
  }
  return {};
}

}  // namespace tenon::cli
