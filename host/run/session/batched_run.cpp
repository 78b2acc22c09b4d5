#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/batched_run.hpp>
#include <tenon/host/failure.hpp>

#include "io/counted.hpp"
#include "run/session/renamed_run.hpp"
#include "run/session/run_transaction.hpp"
#include "run/session/session_impl.hpp"
#include "tensor/backing_files.hpp"
#include "tensor/exact_cast.hpp"
#include "tensor/sparse/rows.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) {
  throw Failure(FailureKind::usage, what, hint);
}

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.set(0, rows);
  return shape;
}

/// Separates the inputs that are split by rows from the others.
struct Rows {
  Rows(const Session::Impl& session, const NamedTensors& inputs, const RunOptions& options)
      : whole(inputs) {
    const auto& model = session.model();
    for (const auto id : needed_inputs(model, options.outputs, session.options.training)) {
      const std::string name(model.strings[model.values[id].name]);
      const auto found = inputs.find(name);
      if (found == inputs.end() || !found->second) continue;  // Session::run refuses missing inputs
      files.add(found->second);
      const auto& type = model.values[id].type;
      auto& own = types[id] = type_of(found->second);
      if (type.dtype != TENON_DTYPE_UNKNOWN &&
          widens(found->second.dtype(), static_cast<DType>(type.dtype)))
        own.dtype = type.dtype;
      if (type.rank == 0 || (type.rank > 0 && type.dims[0] != unknown) ||
          found->second.shape().rank() == 0) {
        whole[name] = widened(found->second, static_cast<DType>(own.dtype));
        continue;
      }
      add(id, name, found->second);
    }
    if (sliced.empty())
      refuse(
          "the graph cannot be run in batches: none of its needed inputs has an unknown first "
          "dimension",
          "inputs whose first dimension is -1 are split into batches");
  }

  void add(ValueId id, const std::string& name, const Tensor& tensor) {
    if (tensor.storage() == Storage::row_sparse)
      refuse(
          fmt::format(
              "input '{}' is row_sparse, but only dense and csr inputs can be split into batches",
              name),
          "cast_storage(tensor, Storage::dense) converts it");
    const auto count = tensor.shape()[0];
    if (!sliced.empty() && count != rows)
      refuse(fmt::format("input '{}' has {} but '{}' has {}", sliced.begin()->first,
                         counted(rows, "row"), name, count),
             "all inputs whose first dimension is -1 need the same number of rows");
    rows = count;
    sliced[name] = tensor.to("cpu").make_contiguous();
    dtypes[name] = static_cast<DType>(types.at(id).dtype);
    ids.push_back(id);
  }

  NamedTensors between(std::int64_t begin, std::int64_t end) const {
    auto batch_inputs = whole;
    for (const auto& [name, tensor] : sliced)
      batch_inputs[name] = widened(row_range(tensor, begin, end), dtypes.at(name));
    files.require_unchanged();
    return batch_inputs;
  }

  /// Keeps the rows of the shard, and returns the number of batches before them.
  std::int64_t restrict_to(const Shard& shard, std::int64_t batch) {
    if (shard.count < 1 || shard.index < 0 || shard.index >= shard.count)
      refuse(fmt::format("there is no shard {} of {}: shards are numbered from 0", shard.index,
                         shard.count));
    const auto batches = rows == 0 ? 0 : (rows - 1) / batch + 1, each = batches / shard.count,
               more = batches % shard.count;
    const auto first = shard.index * each + std::min(shard.index, more),
               end = first + each + (shard.index < more ? 1 : 0);
    const auto begin_row = std::min(first * batch, rows),
               end_row = end == batches ? rows : end * batch;
    for (auto& [name, tensor] : sliced) tensor = row_range(tensor, begin_row, end_row);
    rows = end_row - begin_row;
    return first;
  }

  NamedTensors whole, sliced;
  BackingFiles files;                   // of the caller's tensors
  std::map<std::string, DType> dtypes;  // of the batches of each sliced input
  std::map<ValueId, tenon_type> types;
  std::vector<ValueId> ids;  // of the inputs in `sliced`
  std::int64_t rows = 0;
  NamedTensors outputs;  // of a shard without rows
};

std::vector<tenon_type> types_with(const Session::Impl& session, const Rows& inputs,
                                   std::int64_t rows, const RequestedOutputs* requested) {
  auto types = inputs.types;
  for (const auto id : inputs.ids) types[id].dims[0] = rows;
  auto tensors = session.graphs.last().tensors;  // the original graph's values come first
  tensors.resize(session.model().values.size());
  try {
    return infer_with(session.model(), session.binding(), tensors, types, requested).types;
  } catch (const Failure& failure) {
    refuse(fmt::format("the graph cannot be run in batches of {}: {}", rows, failure.what()),
           failure.hint());
  }
}

bool has_rows(const tenon_type& type, std::int64_t rows) {
  return is_known(type) && type.rank > 0 && type.dims[0] == rows;
}

/// An output has the batch axis if its shapes for two numbers of rows begin with these numbers and
/// are equal otherwise. Returns the outputs for zero rows; empty if any is not dense.
NamedTensors check_outputs(const Session::Impl& session, const Rows& inputs,
                           std::pair<std::int64_t, std::int64_t> rows, const RunOptions& options) {
  const auto& model = session.model();
  const auto requested =
      options.outputs.empty()
          ? std::nullopt
          : std::make_optional<RequestedOutputs>(model, options.outputs, session.options.training);
  const auto some = types_with(session, inputs, rows.first, requested ? &*requested : nullptr);
  const auto others = types_with(session, inputs, rows.second, requested ? &*requested : nullptr);
  NamedTensors without_rows;
  bool dense = true;
  for (const auto& [name, value] : requested ? requested->outputs : model.outputs) {
    const auto &one = some[value], &other = others[value];
    if (has_rows(one, rows.first) && has_rows(other, rows.second) &&
        with_rows(shape_of(one), 0) == with_rows(shape_of(other), 0)) {
      dense = dense && one.storage == TENON_DENSE;
      if (dense)
        without_rows[std::string(model.strings[name])] =
            Tensor::empty(static_cast<DType>(one.dtype), with_rows(shape_of(one), 0));
      continue;
    }
    refuse(fmt::format(
               "output '{}' cannot be joined from batches: it is {} for {} of input and {} for {}",
               model.strings[name], to_string(one), counted(rows.first, "row"), to_string(other),
               rows.second),
           "only outputs with one row per input row can be joined; name the other outputs to omit "
           "this one");
  }
  return dense ? without_rows : NamedTensors();
}

/// Outputs being assembled. The runs write dense outputs to their final memory.
class Joined {
 public:
  Joined(const NamedTensors& first, std::int64_t rows) {
    for (const auto& [name, tensor] : first) {
      if (tensor.storage() != Storage::dense) {
        pieces_[name].push_back(tensor.to("cpu"));
        continue;
      }
      auto& whole = outputs_[name] = Tensor::empty(tensor.dtype(), with_rows(tensor.shape(), rows));
      const Tensor here = tensor.to("cpu").make_contiguous();
      std::copy_n(static_cast<const std::byte*>(here.data()), here.bytes(),
                  static_cast<std::byte*>(whole.data()));
    }
  }

  Destinations between(std::int64_t begin, std::int64_t end) const {
    Destinations destinations;
    for (const auto& [name, tensor] : outputs_)
      destinations[name] = {row_range(tensor, begin, end), Write::to};
    return destinations;
  }

  void add(const NamedTensors& outputs) {
    for (auto& [name, pieces] : pieces_) pieces.push_back(outputs.at(name).to("cpu"));
  }

  NamedTensors take() {
    for (auto& [name, pieces] : pieces_) outputs_[name] = join_sparse_rows(std::move(pieces));
    return std::move(outputs_);
  }

 private:
  NamedTensors outputs_;
  std::map<std::string, std::vector<Tensor>>
      pieces_;  // sparse outputs, whose sizes are known only after each run
};

/// Returns the input rows of the shard; refuses graphs that cannot be run in batches. Sets the
/// session to the step of the shard's first batch.
Rows begin(Session::Impl& session, const NamedTensors& inputs, std::int64_t batch,
           const RunOptions& options, const Shard& shard) {
  if (batch < 1) refuse(fmt::format("batch is {} but must be at least 1", batch));
  if (!options.destinations.empty()) refuse("runs in batches do not accept destinations");
  Rows rows(session, inputs, options);
  session.step += static_cast<std::uint64_t>(rows.restrict_to(shard, batch));
  const auto first = std::max<std::int64_t>(1, std::min(batch, rows.rows)),
             last = rows.rows % first;
  auto outputs = check_outputs(session, rows, {first, last == 0 ? 2 * first : last}, options);
  if (rows.rows == 0 && shard.count > 1)
    rows.outputs = std::move(outputs);  // the graph may not accept zero rows
  return rows;
}

/// The transaction of all batches.
struct BatchTransaction {
  explicit BatchTransaction(Session::Impl& session)
      : backup(session.streams), whole(session.planner, backup, session.step) {}

  StateBackup backup;
  RunTransaction whole;
};

NamedTensors on_cpu(NamedTensors outputs) {
  for (auto& [name, tensor] : outputs) tensor = tensor.to("cpu");
  return outputs;
}

NamedTensors run_all(Session::Impl& session, RunTransaction& whole, const Rows& rows,
                     std::int64_t batch, const RunOptions& options) {
  if (rows.rows <= batch) return on_cpu(session.run(rows.between(0, rows.rows), options, &whole));
  // no callback: outputs are complete, and the caller's, only after the last batch
  RunOptions request{.outputs = options.outputs, .stop = options.stop};
  Joined joined(session.run(rows.between(0, batch), request, &whole), rows.rows);
  for (auto begin = batch; begin < rows.rows; begin += batch) {
    const auto end = std::min(begin + batch, rows.rows);
    request.destinations = joined.between(begin, end);
    joined.add(session.run(rows.between(begin, end), request, &whole));
  }
  return joined.take();
}

NamedTensors run_in_batches(Session::Impl& session, const NamedTensors& inputs, std::int64_t batch,
                            const RunOptions& options, const Shard& shard) {
  BatchTransaction runs(session);
  const Rows rows = begin(session, inputs, batch, options, shard);
  auto outputs =
      rows.outputs.empty() ? run_all(session, runs.whole, rows, batch, options) : rows.outputs;
  runs.whole.commit();
  return outputs;
}

using Take = std::function<void(const NamedTensors& outputs, std::int64_t rows)>;

void run_each_batch(Session::Impl& session, const NamedTensors& inputs, std::int64_t batch,
                    const Take& take, const RunOptions& options, const Shard& shard) {
  BatchTransaction runs(session);
  const Rows rows = begin(session, inputs, batch, options, shard);
  std::int64_t processed = 0;
  if (!rows.outputs.empty())
    take(rows.outputs, 0);
  else
    do {
      const auto end = std::min(processed + batch, rows.rows);
      take(on_cpu(session.run(rows.between(processed, end), options, &runs.whole)), rows.rows);
      processed = end;
    } while (processed < rows.rows);
  runs.whole.commit();
}

}  // namespace

NamedTensors run_in_batches(Session& session, const NamedTensors& inputs, std::int64_t batch,
                            const RunOptions& options, const Shard& shard) {
  const Session::Impl::Use use(session);
  auto& impl = impl_of(session);
  const auto found = RenamedRun::of(impl.model(), inputs, options);
  if (!found) return run_in_batches(impl, inputs, batch, options, shard);
  auto made = run_in_batches(impl, found->inputs, batch, found->request, shard);
  found->name(made);
  return made;
}

void run_each_batch(Session& session, const NamedTensors& inputs, std::int64_t batch,
                    const Take& take, const RunOptions& options, const Shard& shard) {
  const Session::Impl::Use use(session);
  auto& impl = impl_of(session);
  const auto found = RenamedRun::of(impl.model(), inputs, options);
  if (!found) return run_each_batch(impl, inputs, batch, take, options, shard);
  const auto take_named = [&](NamedTensors outputs, std::int64_t rows) {
    found->name(outputs);
    take(outputs, rows);
  };
  run_each_batch(impl, found->inputs, batch, take_named, found->request, shard);
}

}  // namespace tenon
