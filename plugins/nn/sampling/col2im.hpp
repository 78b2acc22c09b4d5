// col2im: assembles blocks into an image, and adds overlapping elements.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/fits.hpp"
#include "shared/store.hpp"

/// The positions of blocks in an image.
struct BlocksOfImage {
  static constexpr int max_axes = 6;
  int axes;
  std::int64_t image[max_axes], block[max_axes], block_counts[max_axes], stride[max_axes],
      pad[max_axes], dilate[max_axes];
  std::int64_t image_size, elements, blocks;  ///< total numbers of each

  TENON_FN std::int64_t columns() const { return elements * blocks; }

  /// Index in the image of element `e` of block `b`; negative if that is padding.
  TENON_FN std::int64_t image_index(std::int64_t e, std::int64_t b) const {
    std::int64_t at = 0, step = 1;
    for (int i = axes - 1; i >= 0; --i) {
      const auto x = b % block_counts[i] * stride[i] - pad[i] + e % block[i] * dilate[i];
      if (x < 0 || x >= image[i]) return -1;
      e /= block[i], b /= block_counts[i];
      at += x * step, step *= image[i];
    }
    return at;
  }
  /// The block whose element `e` has index `pixel` in the image; negative if there is none.
  TENON_FN std::int64_t block_at(std::int64_t e, std::int64_t pixel) const {
    std::int64_t b = 0, step = 1;
    for (int i = axes - 1; i >= 0; --i) {
      const auto distance = pixel % image[i] + pad[i] - e % block[i] * dilate[i];
      if (distance < 0 || distance % stride[i] != 0 || distance / stride[i] >= block_counts[i])
        return -1;
      e /= block[i], pixel /= image[i];
      b += distance / stride[i] * step, step *= block_counts[i];
    }
    return b;
  }
};

struct Col2im : tenon::Operator {
  tenon::Ints size, kernel, stride, pad, pad_end, dilate;

  static constexpr void describe(auto& op) {
    op.doc(
        "image assembled from blocks, the inverse of im2col; overlapping elements are added "
        "(torch.nn.functional.fold)");
    op.input("data", "[batch, channels * product of `kernel`, blocks]");
    op.input("sizes", "[spatial axes]; replaces the parameter `size`")
        .optional()
        .on_cpu()
        .types({tenon::i64});
    op.input("kernels", "[spatial axes]; replaces the parameter `kernel`")
        .optional()
        .on_cpu()
        .types({tenon::i64});
    op.output("output", "[batch, channels, size ...]");
    op.param("size", &Col2im::size,
             "size of the image along each spatial axis; required without the input sizes")
        .at_least(1)
        .at_most(1 << 20);
    op.param("kernel", &Col2im::kernel,
             "size of a block along each spatial axis; required without the input kernels")
        .at_least(1)
        .at_most(65535);
    op.param("stride", &Col2im::stride,
             "distance between blocks along each axis; one value applies to all axes; default: 1")
        .at_least(1)
        .at_most(65535);
    op.param("pad", &Col2im::pad,
             "padding on both sides of each axis of the image; one value applies to all axes; "
             "default: 0")
        .at_least(0)
        .at_most(65535);
    op.param("pad_end", &Col2im::pad_end,
             "padding after each axis; one value applies to all axes; default: same as `pad`")
        .at_least(0)
        .at_most(65535);
    op.param("dilate", &Col2im::dilate,
             "distance between block elements along each axis; one value applies to all axes; "
             "default: 1")
        .at_least(1)
        .at_most(65535);
    op.backward_reads("sizes", "kernels");
    op.linear("data");
    op.example({{"data", {1, 8, 6}}}, {{"size", {3, 4}}, {"kernel", {2, 2}}});
    op.example({{"data", {2, 6, 4}}},
               {{"size", {6}}, {"kernel", {2}}, {"stride", {2}}, {"pad", {1}}});
    op.onnx("", "Col2Im")
        .since(18)
        .inputs("data", "sizes", "kernels")
        .attribute("strides", "stride")
        .attribute("dilations", "dilate")
        .halves("pads", "pad", "pad_end");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    for (const char* name : {"sizes", "kernels"}) {
      if (io.has_input(name)) io.set_input(name, {tenon::unknown});
      const bool has_parameter = name[0] == 's' ? size.size() > 0 : kernel.size() > 0;
      io.require(has_parameter != io.has_input(name), "needs either the input ", name,
                 " or the parameter ", name[0] == 's' ? "size" : "kernel");
    }
    io.require(!data.has_rank() || data.rank() == 3, "data is ", data,
               " but needs three dimensions");
    const auto sizes =
        io.has_input("sizes") ? io.values<std::int64_t>("sizes") : tenon::Known<std::int64_t>();
    const auto kernels =
        io.has_input("kernels") ? io.values<std::int64_t>("kernels") : tenon::Known<std::int64_t>();
    if ((io.has_input("sizes") && !sizes) || (io.has_input("kernels") && !kernels)) return;
    const auto image = sizes ? list(sizes.begin(), sizes.size()) : size,
               block = kernels ? list(kernels.begin(), kernels.size()) : kernel;
    io.require(image.size() >= 1 && image.size() <= 6 && block.size() == image.size(), "size has ",
               image.size(), " values and kernel has ", block.size(),
               ": needs one for each spatial axis, 1 to 6");
    for (const auto* numbers : {&stride, &pad, &pad_end, &dilate})
      io.require(numbers->size() <= 1 || numbers->size() == image.size(), "a parameter has ",
                 numbers->size(), " values, but there are ", image.size(), " axes");
    std::int64_t elements = 1, blocks = 1;
    auto output = tenon::Shape::of_rank(static_cast<int>(image.size()) + 2);
    for (std::size_t i = 0; i < image.size(); ++i) {
      io.require(image[i] > 0 && block[i] > 0 && image[i] <= 1 << 20 && block[i] <= 65535,
                 "an axis of size ", image[i], " with blocks of size ", block[i],
                 " is out of range: needs 1 to 1048576, with blocks of 1 to 65535");
      const auto count = block_count(image, block, i);
      io.require(count > 0, "blocks of ", block[i], " do not fit into the ", image[i],
                 " elements of axis ", i);
      elements *= block[i], blocks *= count;
      io.require(elements < std::int64_t{1} << 40 && blocks < std::int64_t{1} << 40,
                 "the blocks have ", elements, " elements and the image has ", blocks,
                 " blocks: needs fewer than 2^40 of each");
      output.set(static_cast<int>(i) + 2, image[i]);
    }
    io.set_input("data", {tenon::unknown, tenon::unknown, blocks});
    if (data.has_rank()) {
      io.require(data[1] == tenon::unknown || data[1] % elements == 0, "data ", data, " has ",
                 data[1], " rows (axis 1), which is not a multiple of the ", elements,
                 " elements of a block");
      output.set(0, data[0]);
      if (data[1] != tenon::unknown) output.set(1, data[1] / elements);
    }
    io.set_output(0, output);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const data = call.input<T>(0).data();
      T* const output = call.output<T>(0).data();
      const auto geometry = blocks_of(call);
      call.parallel_for(planes_of(call, geometry), 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Wide<T>> sums(static_cast<std::size_t>(geometry.image_size));
        for (auto plane = begin; plane < end; ++plane) {
          std::fill(sums.begin(), sums.end(), Wide<T>(0));
          const T* const from = data + plane * geometry.columns();
          each(geometry, [&](std::int64_t column, std::int64_t at) {
            sums[static_cast<std::size_t>(at)] += static_cast<Wide<T>>(from[column]);
          });
          for (std::int64_t i = 0; i < geometry.image_size; ++i)
            output[plane * geometry.image_size + i] = T(sums[static_cast<std::size_t>(i)]);
        }
      });
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      T* const dx = call.input_grad<T>(0).data();
      const auto geometry = blocks_of(call);
      call.parallel_for(planes_of(call, geometry), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto plane = begin; plane < end; ++plane) {
          std::fill_n(dx + plane * geometry.columns(), geometry.columns(), T(0));
          each(geometry, [&](std::int64_t column, std::int64_t at) {
            dx[plane * geometry.columns() + column] = dy[plane * geometry.image_size + at];
          });
        }
      });
    });
  }

 protected:
  static std::int64_t number(const tenon::Ints& list, std::size_t i, std::int64_t otherwise) {
    return list.size() == 0 ? otherwise : list[list.size() == 1 ? 0 : i];
  }

  static tenon::Ints list(const std::int64_t* from, std::int64_t count) {
    if (count > 6) throw tenon::Error("there are ", count, " sizes: needs at most 6");
    return tenon::Ints(from, static_cast<std::size_t>(count));
  }
  std::int64_t block_count(const tenon::Ints& image, const tenon::Ints& block,
                           std::size_t i) const {
    const auto before = number(pad, i, 0), reach = number(dilate, i, 1) * (block[i] - 1) + 1;
    const auto all = image[i] + before + number(pad_end, i, before);
    return all < reach ? 0 : (all - reach) / number(stride, i, 1) + 1;
  }

  BlocksOfImage blocks_of(const tenon::Call& call) const {
    const auto read = [&](const char* name, const tenon::Ints& otherwise) {
      if (!call.has_input(name)) return otherwise;
      const auto view = call.input<std::int64_t>(name);
      return list(view.data(), view.size());
    };
    const auto image = read("sizes", size), block = read("kernels", kernel);
    BlocksOfImage geometry{static_cast<int>(image.size()), {}, {}, {}, {}, {}, {}, 1, 1, 1};
    for (std::size_t i = 0; i < image.size(); ++i) {
      geometry.image[i] = image[i], geometry.block[i] = block[i],
      geometry.block_counts[i] = block_count(image, block, i);
      geometry.stride[i] = number(stride, i, 1), geometry.pad[i] = number(pad, i, 0),
      geometry.dilate[i] = number(dilate, i, 1);
      geometry.image_size *= image[i], geometry.elements *= block[i],
          geometry.blocks *= geometry.block_counts[i];
    }
    return geometry;
  }

 private:
  /// The number of planes of all samples and channels.
  static std::int64_t planes_of(const tenon::Call& call, const BlocksOfImage& geometry) {
    const auto data = call.input_type(0).shape;
    return data[0] * (data[1] / geometry.elements);
  }

  /// Calls body(index in the columns of one channel, index in the image) for all elements that are
  /// not padding.
  template <class Body>
  static void each(const BlocksOfImage& geometry, const Body& body) {
    for (std::int64_t element = 0; element < geometry.elements; ++element)
      for (std::int64_t block = 0; block < geometry.blocks; ++block)
        if (const auto at = geometry.image_index(element, block); at >= 0)
          body(element * geometry.blocks + block, at);
  }
};
