#include "train/step_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <tenon/host/failure.hpp>
#include <utility>

#include "tensor/add_elements.hpp"

namespace tenon {
namespace {

/// Serializes integers and texts, for processes on machines of the same type.
class Numbers {
 public:
  void add(std::int64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    text_.append(bytes, sizeof number);
  }
  void add(const std::string& text) {
    add(static_cast<std::int64_t>(text.size()));
    text_ += text;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class NumbersOf {
 public:
  NumbersOf(const std::string& text, int rank) : text_(text), rank_(rank) {}
  std::int64_t next() {
    std::int64_t number = 0;
    std::memcpy(&number, take(sizeof number), sizeof number);
    return number;
  }
  std::string text() {
    const auto size = next();
    return size < 0
               ? take(text_.size() + 1)
               : std::string(take(static_cast<std::size_t>(size)), static_cast<std::size_t>(size));
  }
  /// Reads a count of items that follow, each of at least one number.
  std::size_t count() {
    const auto count = next();
    if (count < 0 || static_cast<std::size_t>(count) > text_.size() / sizeof(std::int64_t))
      take(text_.size() + 1);
    return static_cast<std::size_t>(count);
  }

 private:
  const char* take(std::size_t bytes) {
    if (bytes > text_.size() - at_)
      throw Failure(FailureKind::failed, fmt::format("the message of rank {} about its step is "
                                                     "truncated: it runs another version of Tenon",
                                                     rank_));
    return text_.data() + std::exchange(at_, at_ + bytes);
  }

  const std::string& text_;
  int rank_;
  std::size_t at_ = 0;
};

constexpr std::int64_t failed = 0, idle = 1, worked = 2;

}  // namespace

StepExchange::StepExchange(Processes& processes, Host& host,
                           const std::vector<TrainedVariable>& trained, const Graph& forward,
                           const StepStateBackup& states, std::string device)
    : processes_(processes),
      host_(host),
      forward_(forward),
      states_(states),
      device_(std::move(device)),
      buckets_(processes) {
  for (auto one = trained.rbegin(); one != trained.rend(); ++one)
    if (variables_.emplace(one->gradient, one->variable).second) order_.push_back(one->gradient);
}

StepExchange::Range StepExchange::own(std::int64_t micro_batches) const {
  const auto owners = MicroBatchOwners::even(
      micro_batches, static_cast<int>(std::min<std::int64_t>(micro_batches, processes_.size())));
  const int rank = processes_.rank();
  if (rank >= owners.ranks()) return {0, 0};
  return {owners.first(rank), rank + 1 < owners.ranks() ? owners.first(rank + 1) : micro_batches};
}

std::string StepExchange::write(const MicroBatchSum* own, const std::exception_ptr& failure) const {
  Numbers to;
  if (failure) {
    auto kind = FailureKind::failed;
    std::string what, hint;
    try {
      std::rethrow_exception(failure);
    } catch (const Failure& known) {
      kind = known.kind(), what = known.what(), hint = known.hint();
    } catch (const std::exception& other) {
      what = other.what();
    }
    to.add(failed), to.add(static_cast<std::int64_t>(kind)), to.add(what), to.add(hint);
    return to.take();
  }
  to.add(own != nullptr ? worked : idle), to.add(std::int64_t{requests_stop});
  if (own == nullptr) return to.take();
  to.add(static_cast<std::int64_t>(own->batches.size()));
  for (const auto& batch : own->batches) {
    to.add(batch.examples);
    to.add(batch.loss.has_value()), to.add(std::bit_cast<std::int64_t>(batch.loss.value_or(0)));
    to.add(batch.right.has_value()), to.add(batch.right.value_or(0));
  }
  to.add(static_cast<std::int64_t>(own->gradients.size()));
  for (const auto& [name, gradient] : own->gradients)
    to.add(static_cast<std::int64_t>(gradient.storage())), to.add(gradient.stored());
  return to.take();
}

StepExchange::Account StepExchange::read(const std::string& text, int rank) {
  NumbersOf from(text, rank);
  const auto kind = from.next();
  if (kind == failed) {
    const auto why = static_cast<FailureKind>(std::clamp<std::int64_t>(from.next(), 1, 4));
    const auto what = from.text(), hint = from.text();
    throw SharedFailure(why, fmt::format("rank {}: {}", rank, what), hint);
  }
  Account account;
  account.has_micro_batches = kind == worked;
  account.stops = from.next() != 0;
  if (!account.has_micro_batches) return account;
  account.batches.resize(from.count());
  for (auto& batch : account.batches) {
    batch.examples = from.next();
    const bool has_loss = from.next() != 0;
    const auto loss = std::bit_cast<double>(from.next());
    const bool has_right = from.next() != 0;
    const auto right = from.next();
    if (has_loss) batch.loss = loss;
    if (has_right) batch.right = right;
  }
  account.gradients.resize(from.count());
  for (auto& gradient : account.gradients) {
    gradient.storage = static_cast<Storage>(from.next());
    gradient.stored = from.next();
  }
  return account;
}

// The first step determines which gradients are dense. Later steps add these first, so that the
// exchange overlaps with the computation; if a process fails, all processes discard the sums.
MicroBatchSum StepExchange::join(std::optional<MicroBatchSum> own, std::exception_ptr failure,
                                 std::int64_t micro_batches) {
  const bool works = own.has_value(), adds_first = buckets_.laid_out();
  MicroBatchSum sum;
  if (works) sum = std::move(*own);
  if (works && adds_first && !failure) failure = other_storages(sum.gradients);
  if (adds_first) add_dense(sum.gradients, micro_batches);
  const auto texts = processes_.gather(write(works ? &sum : nullptr, failure));
  std::vector<Account> accounts;
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    accounts.push_back(read(texts[rank], static_cast<int>(rank)));
  stops = std::any_of(accounts.begin(), accounts.end(),
                      [](const Account& account) { return account.stops; });
  if (!works) sum = nothing(accounts[0].gradients);
  require_alike(accounts, sum.gradients);
  if (!adds_first) lay_out(sum.gradients), add_dense(sum.gradients, micro_batches);
  if (!works)
    for (const auto& [name, view] : buckets_.views()) sum.gradients.at(name) = view;
  std::size_t number = 0;
  const auto owners = MicroBatchOwners::even(
      micro_batches, static_cast<int>(std::min<std::int64_t>(micro_batches, processes_.size())));
  for (auto& [name, gradient] : sum.gradients) {
    const auto at = number++;
    if (gradient.storage() == Storage::dense) continue;
    std::vector<std::int64_t> rows;
    rows.reserve(accounts.size());
    for (const auto& account : accounts)
      rows.push_back(account.has_micro_batches ? account.gradients[at].stored : 0);
    gradient = add_rows(gradient, rows, owners, micro_batches);
  }
  add_states(sum.states, micro_batches, works);
  sum.batches.clear();
  for (const auto& account : accounts)
    sum.batches.insert(sum.batches.end(), account.batches.begin(), account.batches.end());
  return sum;
}

std::string StepExchange::first_of(const std::string& own) {
  for (auto& text : processes_.gather(own))
    if (!text.empty()) return text;
  return {};
}

/// Messages name the variables, because gradients have no names that users know.
void StepExchange::require_alike(const std::vector<Account>& accounts,
                                 const NamedTensors& gradients) const {
  for (std::size_t rank = 0; rank < accounts.size(); ++rank) {
    if (!accounts[rank].has_micro_batches) continue;
    const auto& reported = accounts[rank].gradients;
    std::size_t number = 0;
    for (const auto& [name, gradient] : gradients) {
      const auto storage = number < reported.size() ? reported[number].storage : Storage::dense;
      if (storage == Storage::csr && storage == gradient.storage())
        throw SharedFailure(FailureKind::failed,
                            fmt::format("the gradient of '{}' is csr, but distributed training "
                                        "supports only dense and row_sparse gradients",
                                        variables_.at(name)));
      if (number++ >= reported.size() || storage != gradient.storage())
        throw SharedFailure(FailureKind::failed,
                            fmt::format("the gradient of '{}' is {} in rank {} and {} in rank {}: "
                                        "all processes need the same storage",
                                        variables_.at(name), name_of(storage), rank,
                                        name_of(gradient.storage()), processes_.rank()));
    }
  }
}

/// Returns null if the same gradients are dense as in the first step.
std::exception_ptr StepExchange::other_storages(const NamedTensors& gradients) const {
  for (const auto& [name, gradient] : gradients)
    if ((gradient.storage() == Storage::dense) != buckets_.views().contains(name))
      return std::make_exception_ptr(
          Failure(FailureKind::failed,
                  fmt::format("the gradient of '{}' is {}, but was not in the first step",
                              variables_.at(name), name_of(gradient.storage()))));
  return nullptr;
}

/// The contribution of a process without micro-batches; the sum ignores its values.
MicroBatchSum StepExchange::nothing(const std::vector<Gradient>& like) const {
  MicroBatchSum none;
  std::size_t number = 0;
  for (const auto& [gradient, variable] : variables_) {
    const auto tensor = forward_.tensor(forward_.find(variable));
    const auto storage = number < like.size() ? like[number].storage : Storage::dense;
    ++number;
    if (storage == Storage::dense) {
      none.gradients.emplace(gradient, Tensor::zeros(tensor.dtype(), tensor.shape()).to(device_));
    } else {
      auto rows = tensor.shape();
      rows.set(0, 0);
      none.gradients.emplace(gradient, Tensor::row_sparse(Tensor::zeros(tensor.dtype(), rows),
                                                          Tensor::zeros(i64, {0}), tensor.shape()));
    }
  }
  none.states = states_.copies();
  return none;
}

void StepExchange::lay_out(const NamedTensors& gradients) {
  std::vector<std::pair<std::string, Tensor>> dense;
  std::string device;  // of all dense gradients
  for (const auto& name : order_) {
    const auto& gradient = gradients.at(name);
    if (gradient.storage() != Storage::dense) continue;
    dense.emplace_back(name, gradient);
    device = device.empty() || device == gradient.device() ? gradient.device() : "cpu";
  }
  const bool from_cpu = std::all_of(dense.begin(), dense.end(),
                                    [](const auto& each) { return each.second.device() == "cpu"; });
  buckets_.lay_out(dense, processes_.can_add_on(device.empty() ? "cpu" : device) ? device : "cpu");
  if (from_cpu) destinations_ = buckets_.views();
}

/// Afterwards the gradients share the buckets' memory, if on the same device.
void StepExchange::add_dense(NamedTensors& gradients, std::int64_t micro_batches) {
  for (const auto& [name, view] : buckets_.views())
    if (const auto own = gradients.find(name);
        own != gradients.end() && own->second.data() != view.data())
      copy_elements(own->second, view);
  if (!buckets_.begun()) buckets_.begin(micro_batches);
  buckets_.finish();
  for (const auto& [name, view] : buckets_.views()) {
    const auto own = gradients.find(name);
    if (own == gradients.end()) continue;
    if (own->second.device() == view.device())
      own->second = view;
    else
      copy_elements(view, own->second);
  }
}

/// Gathers the rows of all processes and adds them in the order of the tree. `rows`: the number of
/// rows of each.
Tensor StepExchange::add_rows(const Tensor& own, const std::vector<std::int64_t>& rows,
                              const MicroBatchOwners& owners, std::int64_t micro_batches) {
  const auto max_rows = *std::max_element(rows.begin(), rows.end());
  auto shape = own.shape(), ids_shape = Shape{max_rows};
  shape.set(0, max_rows);
  const auto values = Tensor::zeros(own.dtype(), shape), ids = Tensor::zeros(i64, ids_shape);
  const auto own_values = own.stored_values().to("cpu");
  const auto own_ids = own.row_ids().to("cpu");
  std::memcpy(values.data(), own_values.data(), static_cast<std::size_t>(own_values.bytes()));
  for (std::int64_t row = 0; row < own.stored(); ++row)
    ids.values<std::int64_t>()[row] = own_ids.dtype() == i32 ? own_ids.values<std::int32_t>()[row]
                                                             : own_ids.values<std::int64_t>()[row];
  const auto all_values = processes_.gather(values), all_ids = processes_.gather(ids);
  std::vector<Tensor> contributions;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    auto rank_shape = shape;
    rank_shape.set(0, rows[rank]);
    contributions.push_back(Tensor::row_sparse(
        Tensor::borrow(static_cast<std::byte*>(all_values.data()) +
                           rank * static_cast<std::size_t>(values.bytes()),
                       own.dtype(), rank_shape),
        Tensor::borrow(
            static_cast<std::byte*>(all_ids.data()) + rank * static_cast<std::size_t>(ids.bytes()),
            i64, {rows[rank]}),
        own.shape()));
  }
  const std::function<Tensor(std::int64_t, std::int64_t)> sum = [&](std::int64_t begin,
                                                                    std::int64_t count) {
    const int first = owners.owner(begin);
    if (first == owners.owner(begin + count - 1))
      return contributions[static_cast<std::size_t>(first)];
    const auto left = left_micro_batches(count);
    const auto left_sum = sum(begin, left), right_sum = sum(begin + left, count - left);
    return host_.call("tenon.sum_gradients", {left_sum, right_sum});
  };
  const auto total = sum(0, micro_batches);
  return own.device() == "cpu" ? total.clone() : total.to(own.device());
}

void StepExchange::add_states(std::vector<Tensor>& states, std::int64_t micro_batches, bool own) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (floating.has(states[i].dtype())) {
      processes_.add(states[i], micro_batches);
      continue;
    }
    const auto all = processes_.gather(states[i]);
    const auto working = std::min<std::int64_t>(micro_batches, processes_.size());
    for (std::int64_t rank = 0; rank < working; ++rank) {
      const auto remote =
          Tensor::borrow(static_cast<std::byte*>(all.data()) + rank * states[i].bytes(),
                         states[i].dtype(), states[i].shape());
      if (rank == 0 && !own) copy_elements(remote, states[i]);
      try {
        states_.require_equal(i, states[i], remote);
      } catch (const Failure& failure) {  // every process finds a rank that differs from its own
        throw SharedFailure(failure.kind(), failure.what(), failure.hint());
      }
    }
  }
}

}  // namespace tenon
