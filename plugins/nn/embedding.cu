// embedding on CUDA.
#include "embedding.hpp"
#include "sorted_places.hpp"
#include "store.hpp"
#include "team.hpp"

namespace {

template <class T>
struct LookUp {
  IndexReader indices;
  tenon::gpu::Fault fault;
  std::int64_t rows, columns;
  const T* weight;
  T* output;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto row = indices[i / columns];
    if (fault.fits(row, rows)) store(write, output[i], Wide<T>(weight[row * columns + i % columns]));
  }
};

/// Row i of a gradient, or that of row_ids[i] where there are ids: the sum over the places that name it, in their order.
template <class T>
struct SumOfUses {
  sorted_places::Rows rows;
  const std::int64_t *places, *row_ids;
  std::int64_t count, columns;
  const T* dy;
  T* dw;
  tenon::Write write;

  template <class Team>
  TENON_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const auto row = row_ids ? row_ids[i] : i, begin = first_of(row), end = first_of(row + 1);
    for (std::int64_t j = team.thread(); j < columns; j += team_size<Team>) {
      Wide<T> sum = 0;
      for (auto use = begin; use < end; ++use) sum += Wide<T>(dy[places[use] * columns + j]);
      store(write, dw[i * columns + j], sum);
    }
  }

 private:
  /// The first of the sorted places whose row is not below `row`.
  TENON_DEVICE std::int64_t first_of(std::int64_t row) const {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (rows[places[middle]] < row)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// The places at which a row is named for the first time, of those that a thread takes.
struct FirstUses {
  sorted_places::Rows rows;
  const std::int64_t* places;
  std::int64_t count;

  /// body(row) for each, in their order.
  template <class Body>
  TENON_DEVICE void for_each(const tenon::gpu::Block& block, std::int64_t tile, Body&& body) const {
    const auto begin = tile * sorted_places::tile + block.thread() * sorted_places::places_of_thread;
    for (auto i = begin; i < begin + sorted_places::places_of_thread && i < count; ++i) {
      const auto row = rows[places[i]];
      if (row < rows.limit && (i == 0 || rows[places[i - 1]] != row)) body(row);
    }
  }
  TENON_DEVICE std::int64_t found(const tenon::gpu::Block& block, std::int64_t tile) const {
    std::int64_t found = 0;
    for_each(block, tile, [&](std::int64_t) { ++found; });
    return found;
  }
};

struct CountRows {
  FirstUses uses;
  std::int64_t* counters;
  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t tile) const {
    const auto found = block.sum(uses.found(block, tile));
    if (block.thread() == 0) counters[tile] = found;
  }
};

struct PutRows {
  FirstUses uses;
  const std::int64_t* counters;
  std::int64_t* row_ids;
  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t tile) const {
    std::int64_t all = 0;
    auto next = counters[tile] + block.sum_before(uses.found(block, tile), all);
    uses.for_each(block, tile, [&](std::int64_t row) { row_ids[next++] = row; });
  }
};

/// A number that the device writes where the host can read it.
class NumberOfDevice {
 public:
  NumberOfDevice() = default;
  NumberOfDevice(const NumberOfDevice&) = delete;
  NumberOfDevice& operator=(const NumberOfDevice&) = delete;
  ~NumberOfDevice() {
    if (memory_) cudaFreeHost(memory_);
  }

  /// Waits for all work on the call's stream.
  std::int64_t read(const tenon::Call& call, const std::int64_t* from) {
    if (!memory_) tenon::gpu::require(cudaHostAlloc(&memory_, sizeof *from, cudaHostAllocDefault));
    const auto stream = tenon::gpu::stream_of(call);
    tenon::gpu::require(cudaMemcpyAsync(memory_, from, sizeof *from, cudaMemcpyDeviceToHost, stream));
    tenon::gpu::require(cudaStreamSynchronize(stream));
    return *static_cast<const std::int64_t*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

}  // namespace

/// Not capturable, for how many rows a row_sparse gradient has is known on the device alone, and its memory is asked for by the host.
struct EmbeddingCuda : Embedding {
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return sorted_places::scratch(io.input("indices").shape.size()) * sizeof(std::int64_t);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const auto output = call.output<T>(0);
      const LookUp<T> body{IndexReader::of(call, 0),       tenon::gpu::Fault(call), input_dim,    output_dim,
                           call.input<T>("weight").data(), output.data(),           call.write(0)};
      tenon::gpu::for_each(call, output.size(), body);
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(1) == tenon::Write::none) return;
    const auto places = sorted(call).places;
    tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
      T* const dw = call.input_grad<T>("weight").data();
      for_each_team(call, input_dim, output_dim, false, sum_of_uses<T>(call, places, nullptr, dw, call.write(1)));
    });
  }

  void backward_sparse(const tenon::Call& call) {
    if (call.write(1) == tenon::Write::none) return;
    const auto order = sorted(call);
    const auto tiles = sorted_places::tiles_of(places_of(call));
    const FirstUses uses{rows(call), order.places, places_of(call)};
    tenon::gpu::for_each_block(call, tiles, CountRows{uses, order.counters});
    tenon::gpu::for_each_block(call, 1, sorted_places::SumBefore{order.counters, tiles});
    const auto used = rows_.read(call, order.counters + tiles);
    tenon::visit<tenon::floating>(call.input_type(1).dtype, [&]<class T>() {
      const auto out = call.allocate_row_sparse<T>(1, used);
      tenon::gpu::for_each_block(call, tiles, PutRows{uses, order.counters, out.row_ids});
      for_each_team(call, used, output_dim, false, sum_of_uses<T>(call, order.places, out.row_ids, out.values, tenon::Write::to));
    });
  }

 private:
  static std::int64_t places_of(const tenon::Call& call) { return call.input_type(0).shape.size(); }
  sorted_places::Rows rows(const tenon::Call& call) const { return {IndexReader::of(call, 0), input_dim}; }

  sorted_places::Sorted sorted(const tenon::Call& call) const {
    const auto count = places_of(call);
    return sorted_places::sort(call, rows(call), count, call.workspace<std::int64_t>(sorted_places::scratch(count)));
  }

  template <class T>
  SumOfUses<T> sum_of_uses(const tenon::Call& call, const std::int64_t* places, const std::int64_t* row_ids, T* to,
                           tenon::Write write) const {
    return {rows(call), places, row_ids, places_of(call), output_dim, call.output_grad<T>(0).data(), to, write};
  }

  NumberOfDevice rows_;
};
TENON_KERNEL(embedding, cuda, EmbeddingCuda)
