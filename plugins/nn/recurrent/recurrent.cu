// lstm, gru and rnn on CUDA: the products of all steps with weight at once, then for each step the
// product with the states and the cells.
#include "../../shared/device_gemm.hpp"
#include "steps_on_device.hpp"

namespace recurrent {

/// Segments of scratch memory, one after the other; `count` is the total number of elements.
struct Scratch {
  std::int64_t count = 0;
  std::int64_t take(std::int64_t size) { return std::exchange(count, count + size); }
};

/// Offsets of the segments of a call's scratch memory.
struct ScratchOffsets : Scratch {
  std::int64_t x, weight, recurrent, bias, extra, weight_sums, recurrent_sums, product, reset, h, c;
  std::int64_t saved_h = 0, saved_c = 0, saved_sums = 0, saved_reset = 0, now = 0, dproduct = 0,
               all = 0, all_recurrent = 0, dreset = 0, dh = 0, dc = 0, dextra = 0, dx = 0,
               dmatrix = 0;

  template <class Cell>
  static ScratchOffsets of(const LayerSizes& at, bool backward) {
    ScratchOffsets made;
    const auto rows = at.steps * at.batch, states = at.batch * at.hidden;
    made.x = made.take(rows * at.features);
    made.weight = made.take(at.rows * at.features);
    made.recurrent = made.take(at.rows * at.hidden);
    made.bias = made.take(2 * at.rows);
    made.extra = made.take(3 * at.hidden);
    made.weight_sums = made.take(rows * at.rows);
    made.recurrent_sums = made.take(Cell::plain_gates * states);
    made.product = made.take(states);
    made.reset = made.take(states);
    made.h = made.take(states);
    made.c = made.take(states);
    if (!backward) return made;
    made.saved_h = made.take(rows * at.hidden);
    made.saved_c = made.take(rows * at.hidden);
    made.saved_sums = made.take(Cell::saved * rows * at.hidden);
    made.saved_reset = made.take(rows * at.hidden);
    made.now = made.take(at.batch * at.rows);
    made.dproduct = made.take(states);
    made.all = made.take(rows * at.rows);
    made.all_recurrent = made.take(rows * at.rows);
    made.dreset = made.take(states);
    made.dh = made.take(states);
    made.dc = made.take(states);
    made.dextra = made.take(3 * states);
    made.dx = made.take(rows * at.features);
    made.dmatrix = made.take(at.rows * std::max(at.features, at.hidden));
    return made;
  }
};

/// One direction of a call. Cell: one of cells.hpp.
template <class T, class Cell>
class DirectionOnDevice {
 public:
  using W = Wide<T>;

  DirectionOnDevice(const tenon::Call& call, const SequenceLayout& at, Cell cell, const char* extra,
                    bool backward)
      : call_(call), at_(at), cell_(cell), offsets_(ScratchOffsets::of<Cell>(at, backward)) {
    const auto bytes =
        device_gemm::workspace_bytes + sizeof(W) * static_cast<std::size_t>(offsets_.count);
    memory_ = reinterpret_cast<W*>(call.workspace<std::byte>(bytes) + device_gemm::workspace_bytes);
    widen(call.input<T>(0).data(), offsets_.x, data_rows() * at.features);
    widen(input_of_direction("weight", at.rows * at.features), offsets_.weight,
          at.rows * at.features);
    widen(input_of_direction("recurrent", at.rows * at.hidden), offsets_.recurrent,
          at.rows * at.hidden);
    if (call.has_input("bias"))
      widen(input_of_direction("bias", 2 * at.rows), offsets_.bias, 2 * at.rows);
    if constexpr (Cell::has_cell) {
      cell_.peepholes = nullptr;
      if (call.has_input(extra)) {
        widen(input_of_direction(extra, 3 * at.hidden), offsets_.extra, 3 * at.hidden);
        cell_.peepholes = memory(offsets_.extra);
      }
    }
  }

  void forward(T* output, T* last_h, T* last_c) {
    go(output, {});
    put_states(offsets_.h, last_h);
    if (Cell::has_cell) put_states(offsets_.c, last_c);
  }

  /// `first`: whether no other direction has written its contribution to data's gradient yet.
  void backward(bool first, const char* extra) {
    const SavedValues<W> saved{memory(offsets_.saved_h), memory(offsets_.saved_c),
                               memory(offsets_.saved_sums), memory(offsets_.saved_reset)};
    // Steps after a sample's last one contribute nothing.
    for (const auto offset : {offsets_.saved_h, offsets_.saved_reset})
      clear(offset, data_rows() * at_.hidden);
    for (const auto offset : {offsets_.all, offsets_.all_recurrent})
      clear(offset, data_rows() * at_.rows);
    go(nullptr, saved);
    start_gradients();
    const SumGradients<W> gradients{memory(offsets_.now), memory(offsets_.dproduct),
                                    memory(offsets_.all), memory(offsets_.all_recurrent)};
    W* const dextra = Cell::has_cell ? memory(offsets_.dextra) : nullptr;
    const T* const dy = call_.has_output_grad(0) ? call_.output_grad<T>(0).data() : nullptr;
    for (auto step = at_.steps; step-- > 0;) {
      each_unit(BackwardStep<T, Cell>{at_, cell_, step, saved, dy, memory(offsets_.dh),
                                      memory(offsets_.dc), gradients, dextra});
      if constexpr (Cell::plain_gates < Cell::gates) {
        multiply({gradients.product, at_.hidden, false}, {last_rows(), at_.hidden, false},
                 offsets_.dreset, at_.batch, at_.hidden, at_.hidden);
        each_unit(BackwardReset<W, Cell>{at_, cell_, step, saved, memory(offsets_.dreset),
                                         memory(offsets_.dh), gradients});
      }
      multiply({gradients.now, at_.rows, false}, {memory(offsets_.recurrent), at_.hidden, false},
               offsets_.dh, at_.batch, at_.hidden, plain_rows(), true);
    }
    put_gradients(first, extra);
  }

  void put_data_gradient() const {
    if (is_requested("data", 0))
      each(data_rows() * at_.features,
           StoreEach<T>{memory(offsets_.dx), call_.input_grad<T>(0).data(), call_.write(0)});
  }

 private:
  std::int64_t data_rows() const { return at_.steps * at_.batch; }
  std::int64_t plain_rows() const { return Cell::plain_gates * at_.hidden; }
  W* memory(std::int64_t offset) const { return memory_ + offset; }
  const W* last_rows() const { return memory(offsets_.recurrent) + plain_rows() * at_.hidden; }
  bool is_requested(const char* name, int input) const {
    return call_.has_input(name) && call_.write(input) != tenon::Write::none;
  }
  /// This direction's slice of an input.
  const T* input_of_direction(const char* name, std::int64_t size) const {
    return call_.input<T>(name).data() + at_.direction_index * size;
  }

  template <class Body>
  void each(std::int64_t count, const Body& body) const {
    tenon::gpu::for_each(call_, count, body);
  }
  template <class Body>
  void each_unit(const Body& body) const {
    each(at_.batch * at_.hidden, body);
  }
  void widen(const T* from, std::int64_t offset, std::int64_t count) const {
    each(count, ConvertEach<T, W>{from, memory(offset)});
  }
  void clear(std::int64_t offset, std::int64_t count) const {
    tenon::gpu::clear(call_, memory(offset), static_cast<std::size_t>(count) * sizeof(W));
  }
  void put_states(std::int64_t offset, T* to) const {
    if (to) each_unit(PutStates<T>{at_, memory(offset), to});
  }

  struct Factor {
    const W* data;
    std::int64_t row_size;
    bool transposed;
  };
  void multiply(const Factor& left, const Factor& right, std::int64_t result, std::int64_t rows,
                std::int64_t columns, std::int64_t depth, bool add = false) const {
    device_gemm::multiply<W>(call_, {{left.data, left.row_size, 0, left.transposed},
                                     {right.data, right.row_size, 0, right.transposed},
                                     memory(result),
                                     0,
                                     1,
                                     rows,
                                     columns,
                                     depth,
                                     add});
  }

  /// Runs all steps from the initial states.
  void go(T* output, const SavedValues<W>& saved) const {
    start("initial_h", offsets_.h);
    if (Cell::has_cell) start("initial_c", offsets_.c);
    multiply({memory(offsets_.x), at_.features, false},
             {memory(offsets_.weight), at_.features, true}, offsets_.weight_sums, data_rows(),
             at_.rows, at_.features);
    const Products<W> products{memory(offsets_.weight_sums), memory(offsets_.recurrent_sums),
                               memory(offsets_.product),
                               call_.has_input("bias") ? memory(offsets_.bias) : nullptr};
    for (std::int64_t step = 0; step < at_.steps; ++step) {
      multiply({memory(offsets_.h), at_.hidden, false},
               {memory(offsets_.recurrent), at_.hidden, true}, offsets_.recurrent_sums, at_.batch,
               plain_rows(), at_.hidden);
      if constexpr (Cell::plain_gates < Cell::gates) {
        each_unit(Reset<W, Cell>{at_, cell_, step, products, memory(offsets_.h),
                                 memory(offsets_.reset), saved});
        multiply({memory(offsets_.reset), at_.hidden, false}, {last_rows(), at_.hidden, true},
                 offsets_.product, at_.batch, at_.hidden, at_.hidden);
      }
      each_unit(MakeStep<T, Cell>{at_, cell_, step, products, memory(offsets_.h),
                                  memory(offsets_.c), saved, output});
    }
  }

  void start(const char* name, std::int64_t offset) const {
    each_unit(StartStates<T>{at_, call_.has_input(name) ? call_.input<T>(name).data() : nullptr,
                             memory(offset)});
  }

  void start_gradients() const {
    const auto grad_or_null = [&](int output) {
      return call_.has_output_grad(output) ? call_.output_grad<T>(output).data() : nullptr;
    };
    each_unit(StartStates<T>{at_, grad_or_null(1), memory(offsets_.dh)});
    if (!Cell::has_cell) return;
    each_unit(StartStates<T>{at_, grad_or_null(2), memory(offsets_.dc)});
    clear(offsets_.dextra, 3 * at_.batch * at_.hidden);
  }

  /// This direction's slice of an input's gradient; null if it is not requested.
  T* gradient(const char* name, int input, std::int64_t size) const {
    return is_requested(name, input) ? call_.input_grad<T>(name).data() + at_.direction_index * size
                                     : nullptr;
  }

  void put_gradients(bool first, const char* extra) const {
    const auto rows = data_rows();
    const W* const all = memory(offsets_.all);
    const W* const of_recurrent =
        Cell::plain_gates < Cell::gates ? memory(offsets_.all_recurrent) : all;
    if (is_requested("data", 0))
      multiply({all, at_.rows, false}, {memory(offsets_.weight), at_.features, false}, offsets_.dx,
               rows, at_.features, at_.rows, !first);
    if (T* const to = gradient("weight", 1, at_.rows * at_.features)) {
      multiply({all, at_.rows, true}, {memory(offsets_.x), at_.features, false}, offsets_.dmatrix,
               at_.rows, at_.features, rows);
      each(at_.rows * at_.features, StoreEach<T>{memory(offsets_.dmatrix), to, call_.write(1)});
    }
    if (T* const to = gradient("recurrent", 2, at_.rows * at_.hidden)) {
      multiply({of_recurrent, at_.rows, true}, {memory(offsets_.saved_h), at_.hidden, false},
               offsets_.dmatrix, plain_rows(), at_.hidden, rows);
      if (Cell::plain_gates < Cell::gates)
        multiply({of_recurrent + plain_rows(), at_.rows, true},
                 {memory(offsets_.saved_reset), at_.hidden, false},
                 offsets_.dmatrix + plain_rows() * at_.hidden, at_.hidden, at_.hidden, rows);
      each(at_.rows * at_.hidden, StoreEach<T>{memory(offsets_.dmatrix), to, call_.write(2)});
    }
    if (T* const to = gradient("bias", 3, 2 * at_.rows)) {
      each(at_.rows, SumColumn<T>{all, rows, at_.rows, to, call_.write(3)});
      each(at_.rows, SumColumn<T>{of_recurrent, rows, at_.rows, to + at_.rows, call_.write(3)});
    }
    if (is_requested("initial_h", 5))
      each_unit(PutStates<T>{at_, memory(offsets_.dh), call_.input_grad<T>("initial_h").data(),
                             call_.write(5)});
    if (!Cell::has_cell) return;
    if (is_requested("initial_c", 6))
      each_unit(PutStates<T>{at_, memory(offsets_.dc), call_.input_grad<T>("initial_c").data(),
                             call_.write(6)});
    if (T* const to = gradient(extra, 7, 3 * at_.hidden))
      each(3 * at_.hidden,
           SumColumn<T>{memory(offsets_.dextra), at_.batch, 3 * at_.hidden, to, call_.write(7)});
  }

  const tenon::Call& call_;
  const SequenceLayout at_;
  Cell cell_;
  const ScratchOffsets offsets_;
  W* memory_;
};

/// Op: the device-independent operator. Cells: its cell for each direction.
template <class Op, template <class> class Cell>
struct OnDevice : Op {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const { return bytes(io, false); }
  std::size_t backward_workspace(const tenon::Infer& io) const { return bytes(io, true); }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto output = [&](int i) {
        return i < call.outputs() && call.write(i) != tenon::Write::none ? call.output<T>(i).data()
                                                                         : nullptr;
      };
      if (output(0) && call.has_input("lengths"))  // zeros for steps after a sample's last one
        tenon::gpu::clear(call, output(0),
                          static_cast<std::size_t>(call.output_type(0).shape.size()) * sizeof(T));
      for (std::int64_t direction_index = 0; direction_index < this->directions();
           ++direction_index)
        DirectionOnDevice<T, Cell<Wide<T>>>(call, layout(call, direction_index),
                                            cell<Wide<T>>(call, direction_index), "peepholes",
                                            false)
            .forward(output(0), output(1), output(2));
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      for (std::int64_t direction_index = 0; direction_index < this->directions();
           ++direction_index) {
        DirectionOnDevice<T, Cell<Wide<T>>> one(call, layout(call, direction_index),
                                                cell<Wide<T>>(call, direction_index), "peepholes",
                                                true);
        one.backward(direction_index == 0, "peepholes");
        if (direction_index + 1 == this->directions()) one.put_data_gradient();
      }
    });
  }

 private:
  template <class W>
  Cell<W> cell(const tenon::Call& call, std::int64_t direction_index) const {
    if constexpr (Cell<W>::has_cell)
      return {this->unit_of(direction_index), nullptr, call.input_type(2).shape[2]};
    else
      return {this->unit_of(direction_index)};
  }

  LayerSizes sizes_of(const tenon::Shape& data, const tenon::Shape& recurrent) const {
    const auto hidden = recurrent[2];
    return {data[this->batch_first ? 1 : 0], data[this->batch_first ? 0 : 1], data[2], hidden,
            Cell<float>::gates * hidden};
  }
  SequenceLayout layout(const tenon::Call& call, std::int64_t direction_index) const {
    return {sizes_of(call.input_type(0).shape, call.input_type(2).shape),
            this->directions(),
            direction_index,
            this->batch_first,
            this->direction == Direction::reverse || direction_index == 1,
            call.has_input("lengths") ? call.input<std::int32_t>("lengths").data() : nullptr,
            tenon::gpu::Fault(call)};
  }

  std::size_t bytes(const tenon::Infer& io, bool backward) const {
    const auto data = io.input(0).shape, recurrent = io.input(2).shape;
    if (!data.known() || !recurrent.known()) return device_gemm::workspace_bytes;
    const std::size_t each = io.input(0).dtype == tenon::f64 ? sizeof(double) : sizeof(float);
    return device_gemm::workspace_bytes +
           each * static_cast<std::size_t>(
                      ScratchOffsets::of<Cell<float>>(sizes_of(data, recurrent), backward).count);
  }
};

}  // namespace recurrent

using RnnCuda = recurrent::OnDevice<RnnLayer, recurrent::RnnCell>;
TENON_KERNEL(rnn, cuda, RnnCuda)
using LstmCuda = recurrent::OnDevice<LstmLayer, recurrent::LstmCell>;
TENON_KERNEL(lstm, cuda, LstmCuda)
using GruCuda = recurrent::OnDevice<GruLayer, recurrent::GruCell>;
TENON_KERNEL(gru, cuda, GruCuda)
