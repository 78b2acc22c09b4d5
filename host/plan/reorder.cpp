#include "plan/reorder.hpp"

#include <algorithm>
#include <cstring>
#include <tenon/operator.hpp>

#include "tensor/strided_copy.hpp"

namespace tenon {
namespace {

/// A plain tensor is a [channels, positions] matrix for each image, and a channels-last one its
/// transpose.
struct Reorder : Operator {
  static constexpr void describe(auto& op) {
    op.doc("the same elements in another layout");
    op.types(storable);
    op.input("data", "[N, C, ...]");
    op.output("output", "the same shape");
    op.takes_strides();
    op.backward_reads();
  }

  void forward(const Call& call) const {
    const auto &data = call.raw().inputs[0]->dense, &output = call.raw().outputs[0]->dense;
    const auto type = call.input_type(0);
    const std::int64_t images = type.shape[0], channels = type.shape[1];
    std::int64_t positions = 1;
    for (int axis = 2; axis < type.shape.rank(); ++axis) positions *= type.shape[axis];
    const bool to_last = call.output_channels_last(0);
    const TransposedCopy first{static_cast<const std::byte*>(data.data) + data.byte_offset,
                               static_cast<std::byte*>(output.data) + output.byte_offset,
                               to_last ? channels : positions, to_last ? positions : channels,
                               size_of(type.dtype)};
    const auto image_bytes = static_cast<std::size_t>(channels * positions) * first.element;
    if (std::min(channels, positions) == 1)
      return copy(call, first, static_cast<std::size_t>(images) * image_bytes);
    // Each task handles a block of columns of some images.
    constexpr std::int64_t max_elements = 64 << 10, line = 64;
    const auto chunk_columns = std::max<std::int64_t>(
        line, max_elements / std::max<std::int64_t>(1, first.rows) / line * line);
    const auto chunks = (first.columns + chunk_columns - 1) / chunk_columns;
    call.parallel_for(images * chunks,
                      std::max<std::int64_t>(
                          1, max_elements / std::max<std::int64_t>(1, first.rows * chunk_columns)),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i) {
                          auto copy = first;
                          copy.from += static_cast<std::size_t>(i / chunks) * image_bytes;
                          copy.to += static_cast<std::size_t>(i / chunks) * image_bytes;
                          const auto column = i % chunks * chunk_columns;
                          copy_transposed(copy, column,
                                          std::min(copy.columns, column + chunk_columns));
                        }
                      });
  }

 private:
  /// For layouts that coincide.
  static void copy(const Call& call, const TransposedCopy& all, std::size_t bytes) {
    call.parallel_for(
        static_cast<std::int64_t>(bytes), 256 << 10, [&](std::int64_t begin, std::int64_t end) {
          std::memcpy(all.to + begin, all.from + begin, static_cast<std::size_t>(end - begin));
        });
  }
};

}  // namespace

const LoadedOperator& reorder_operator() {
  static const auto op = [] {
    const auto manifest = manifest_of<Reorder>("reorder");
    LoadedOperator loaded;
    loaded.info =
        std::make_shared<const OperatorInfo>(read_manifest(std::as_bytes(std::span(manifest))));
    loaded.table = table_of<Reorder>();
    loaded.owner = code_owner("reorder", "");
    loaded.kernels[TENON_CPU] = loaded.table;
    loaded.kernel_owners[TENON_CPU] = loaded.owner;
    loaded.candidates[TENON_CPU].push_back(loaded.table);
    return loaded;
  }();
  return op;
}

}  // namespace tenon
