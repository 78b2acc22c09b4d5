// Joins what the processes computed of one step: gradients, states, and what there is to tell of its batches.
#pragma once
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>
#include <tenon/lanes.hpp>
#include <vector>

#include "train/gradient_buckets.hpp"
#include "train/kept_states.hpp"
#include "train/processes.hpp"
#include "train/training_graphs.hpp"

namespace tenon {

/// What the batches of neighbouring lanes gave.
struct LaneSum {
  NamedTensors gradients;
  std::vector<Tensor> states;       // sums of floating ones, on the CPU; none where a process has the only lane of the step
  std::vector<Evaluation> batches;  // in the order of the step
};

/// Of a step that has several lanes, some of which other processes have. All objects outlive it. Threads: one at a time, the same calls in
/// all processes.
class StepExchange {
 public:
  StepExchange(Processes& processes, Host& host, const std::vector<TrainedVariable>& trained, const Graph& forward,
               const KeptStates& states, std::string device);

  /// Where dense gradients are added on the CPU, from the second step on: what a process computes there is not copied. None before, and
  /// on a GPU.
  const NamedTensors& places() const { return places_; }
  /// Of a process whose gradients of a step are what the run computes that is next: places() whose gradient is complete may be added from
  /// now on, while the run goes on. Threads of ready(): any.
  void begin(std::int64_t lanes) { buckets_.begin(lanes); }
  void ready(const std::string& name) { buckets_.ready(name); }

  /// The lanes that this process has: [begin, end).
  struct Lanes {
    std::int64_t begin, end;
  };
  Lanes own(std::int64_t lanes) const;

  /// The sum of all lanes in all processes. `own`: of this one's; nothing where it has none, or where `failure` is why. Throws what the
  /// first process of those that failed threw, in all of them.
  LaneSum join(std::optional<LaneSum> own, std::exception_ptr failure, std::int64_t lanes);

  /// The text of the first process that has one, in all of them.
  std::string first_of(const std::string& own);

  bool wants_to_stop = false;  ///< told to the others by the next join()
  bool stops = false;          ///< whether one of them wanted to at the last one

 private:
  struct Gradient {
    Storage storage = Storage::dense;
    std::int64_t stored = 0;
  };
  /// What one process tells the others before they add.
  struct Account {
    bool has_lanes = false, stops = false;
    std::vector<Evaluation> batches;
    std::vector<Gradient> gradients;  // in the order of their names
  };

  std::string write(const LaneSum* own, const std::exception_ptr& failure) const;
  static Account read(const std::string& text, int rank);
  void require_alike(const std::vector<Account>& accounts, const NamedTensors& gradients) const;
  std::exception_ptr other_storages(const NamedTensors& gradients) const;
  LaneSum nothing(const std::vector<Gradient>& like) const;
  void lay_out(const NamedTensors& gradients);
  void add_dense(NamedTensors& gradients, std::int64_t lanes);
  Tensor add_rows(const Tensor& own, const std::vector<std::int64_t>& rows, const LaneOwners& owners, std::int64_t lanes);
  void add_states(std::vector<Tensor>& states, std::int64_t lanes, bool own);

  Processes& processes_;
  Host& host_;
  const Graph& forward_;
  const KeptStates& states_;
  std::string device_;                            // where gradients lie that this process does not compute
  std::map<std::string, std::string> variables_;  // one of those that have the gradient, by its name
  std::vector<std::string> order_;                // names of gradients, as backward computes them
  GradientBuckets buckets_;
  NamedTensors places_;
};

}  // namespace tenon
