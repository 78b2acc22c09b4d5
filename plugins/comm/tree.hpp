// All-reduce by the same tree that adds the micro-batches of a training step: the bits do not
// depend on which rank has which micro-batches. Each rank contributes the sum of its micro-batches.
// This header uses only the standard library, so that every transport, and a test with a thousand
// ranks, runs the same code.
//
// Two groups of ranks that have the sums of neighbouring micro-batches join. Each element is on one
// rank of the left group and on one of the right group; the two ranks split the elements that they
// share, exchange the halves that they give up, and add. Every rank ends with about 1/N of the
// elements (reduce-scatter). The joints are then undone in reverse order: each rank sends its sums
// in return for those that it gave up (all-gather). Short vectors are sent whole, which takes half
// as many messages and gives the same sums.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tenon/detail/micro_batches.hpp>
#include <vector>

namespace comm {

/// Two neighbouring groups of ranks, [begin, split) and [split, end), that join.
struct Joint {
  int begin, split, end;
};

/// Elements [begin, end) that this rank and `peer` reduce when their groups join: this rank reduces
/// [own_begin, own_end) and sends the rest to the peer.
struct Share {
  int peer;
  std::int64_t begin, end, own_begin, own_end;

  std::int64_t own_count() const { return own_end - own_begin; }
  std::int64_t sent_count() const { return end - begin - own_count(); }
  std::int64_t sent_begin() const {
    return own_begin == begin ? own_end : begin;
  }  ///< first element that it sends
};

/// The steps of one rank in an all-reduce.
class TreePlan {
 public:
  /// `count`: number of elements of the vector.
  TreePlan(const tenon::MicroBatchOwners& owners, std::int64_t micro_batches, int rank,
           std::int64_t count)
      : owners_(owners), rank_(rank), count_(count), summed_(join(0, micro_batches)) {}

  /// The segment of elements on `rank`, from the end of the previous segment to `end`.
  struct Segment {
    std::int64_t end;
    int rank;
  };

  /// The joints of this rank, from its own sum to that of all micro-batches.
  const std::vector<Joint>& joints() const { return joints_; }
  /// The shares of each joint.
  const std::vector<std::vector<Share>>& shares() const { return shares_; }
  /// The rank of each segment of the total after the last joint; the same on every rank.
  const std::vector<Segment>& summed() const { return summed_; }
  /// Whether this rank is in the joint's left group.
  bool is_left(const Joint& joint) const { return rank_ < joint.split; }

 private:
  /// Returns the locations of the sum of these micro-batches.
  std::vector<Segment> join(std::int64_t begin, std::int64_t micro_batches) {
    const int first = owners_.owner(begin), last = owners_.owner(begin + micro_batches - 1);
    if (first == last) return {{count_, first}};
    const auto left_count = tenon::left_micro_batches(micro_batches);
    const int split = owners_.owner(begin + left_count);
    const auto left = join(begin, left_count),
               right = join(begin + left_count, micro_batches - left_count);
    const bool own = rank_ >= first && rank_ <= last;
    if (own) joints_.push_back({first, split, last + 1}), shares_.emplace_back();
    std::vector<Segment> joined;
    joined.reserve(left.size() + right.size());
    std::int64_t at = 0;
    for (std::size_t l = 0, r = 0; at < count_;) {
      const auto end = left[l].end < right[r].end ? left[l].end : right[r].end;
      const auto cut = at + fraction(end - at, split - first, last + 1 - first);
      if (own && left[l].rank == rank_) shares_.back().push_back({right[r].rank, at, end, at, cut});
      if (own && right[r].rank == rank_)
        shares_.back().push_back({left[l].rank, at, end, cut, end});
      if (cut > at) joined.push_back({cut, left[l].rank});
      if (end > cut) joined.push_back({end, right[r].rank});
      at = end;
      if (left[l].end == at) ++l;
      if (right[r].end == at) ++r;
    }
    return joined;
  }

  // Rounds down to whole cache lines if there are many elements.
  static std::int64_t fraction(std::int64_t count, int some, int all) {
    const auto exact = count / all * some + count % all * some / all;
    return count >= 1024 ? exact / 64 * 64 : exact;
  }

  const tenon::MicroBatchOwners& owners_;
  int rank_;
  std::int64_t count_;
  std::vector<Joint> joints_;
  std::vector<std::vector<Share>> shares_;
  std::vector<Segment> summed_;  // last member: it is computed from the others
};

/// A transfer to and from one rank: counts in elements, offsets into the vector or the scratch
/// memory.
struct Message {
  int peer;
  std::int64_t send, send_count;
  bool into_scratch;
  std::int64_t receive, receive_count;
};

/// Adds the ranks' vectors; each rank ends with the segments of plan.summed(). exchange(messages)
/// sends and receives. add(to, from, count, is_left) adds scratch to the vector at these offsets,
/// where `is_left` says that the vector is the left operand: the same order everywhere gives all
/// ranks the same zeros and NaNs. The scratch memory has as many elements as the vector.
template <class Exchange, class Add>
void reduce_scatter_segments(const TreePlan& plan, Exchange&& exchange, Add&& add) {
  std::vector<Message> messages;
  for (std::size_t joint = 0; joint < plan.joints().size(); ++joint) {
    const auto& shares = plan.shares()[joint];
    messages.clear();
    std::int64_t at = 0;
    for (const auto& share : shares) {
      messages.push_back(
          {share.peer, share.sent_begin(), share.sent_count(), true, at, share.own_count()});
      at += share.own_count();
    }
    exchange(messages);
    at = 0;
    for (const auto& share : shares) {
      add(share.own_begin, at, share.own_count(), plan.is_left(plan.joints()[joint]));
      at += share.own_count();
    }
  }
}

/// Like reduce_scatter_segments(), but each rank ends with the whole sum.
template <class Exchange, class Add>
void all_reduce_segments(const TreePlan& plan, Exchange&& exchange, Add&& add) {
  reduce_scatter_segments(plan, exchange, add);
  std::vector<Message> messages;
  for (auto shares = plan.shares().rbegin(); shares != plan.shares().rend(); ++shares) {
    messages.clear();
    for (const auto& share : *shares)
      messages.push_back({share.peer, share.own_begin, share.own_count(), false, share.sent_begin(),
                          share.sent_count()});
    exchange(messages);
  }
}

/// Like reduce_scatter_segments(), but rank r of `size` ends with chunk r of the sum, of equal
/// chunks, in place.
template <class Exchange, class Add>
void reduce_scatter_chunks(const TreePlan& plan, int rank, int size, std::int64_t count,
                           Exchange&& exchange, Add&& add) {
  reduce_scatter_segments(plan, exchange, add);
  const auto chunk = count / size;
  std::vector<Message> messages;
  std::int64_t begin = 0;
  for (const auto& segment : plan.summed())
    for (; begin < segment.end;) {
      const int target = static_cast<int>(begin / chunk);
      const auto end = std::min(segment.end, (target + 1) * chunk);
      if (segment.rank != target && segment.rank == rank)
        messages.push_back({target, begin, end - begin, false, 0, 0});
      if (segment.rank != target && target == rank)
        messages.push_back({segment.rank, 0, 0, false, begin, end - begin});
      begin = end;
    }
  exchange(messages);
}

/// Returns the messages by which each rank of a group gets what every rank of the other group has.
/// Calls message(peer, sends, receives) for each peer that this rank sends to, receives from, or
/// both.
template <class MakeMessage>
std::vector<Message> swapped(const Joint& joint, int rank, const MakeMessage& message) {
  std::vector<Message> messages;
  const int left = joint.split - joint.begin, right = joint.end - joint.split;
  const bool in_left = rank < joint.split;
  const int self = in_left ? rank - joint.begin : rank - joint.split;
  const int own = in_left ? left : right, others = in_left ? right : left,
            others_begin = in_left ? joint.split : joint.begin;
  const int from = self % others;
  for (int other = 0; other < others; ++other) {
    const bool sends = other % own == self, receives = other == from;
    if (sends || receives) messages.push_back(message(others_begin + other, sends, receives));
  }
  return messages;
}

/// Gives the same sums as all_reduce_segments(), with whole vectors; faster for short ones.
template <class Exchange, class Add>
void all_reduce_whole(const TreePlan& plan, int rank, std::int64_t count, Exchange&& exchange,
                      Add&& add) {
  for (const auto& joint : plan.joints()) {
    exchange(swapped(joint, rank, [&](int peer, bool sends, bool receives) {
      return Message{peer, 0, sends ? count : 0, true, 0, receives ? count : 0};
    }));
    add(0, 0, count, plan.is_left(joint));
  }
}

/// Returns the messages that carry the result from ranks [0, adding) to the others, which
/// contributed nothing.
inline std::vector<Message> to_idle(int rank, int adding, int size, std::int64_t count) {
  std::vector<Message> messages;
  if (rank >= adding) messages.push_back({rank % adding, 0, 0, false, 0, count});
  for (int idle = adding; idle < size && rank < adding; ++idle)
    if (idle % adding == rank) messages.push_back({idle, 0, count, false, 0, 0});
  return messages;
}

/// All-gather of each rank's `count` elements at offset rank * count.
template <class Exchange>
void gather(const TreePlan& plan, int rank, std::int64_t count, Exchange&& exchange) {
  for (const auto& joint : plan.joints()) {
    const auto left = joint.begin * count, split = joint.split * count, end = joint.end * count;
    const bool in_left = rank < joint.split;
    const auto own = in_left ? left : split, own_end = in_left ? split : end;
    const auto other = in_left ? split : left, other_end = in_left ? end : split;
    exchange(swapped(joint, rank, [&](int peer, bool sends, bool receives) {
      return Message{peer,  own,   sends ? own_end - own : 0,
                     false, other, receives ? other_end - other : 0};
    }));
  }
}

}  // namespace comm
