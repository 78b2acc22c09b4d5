// The tree that adds lanes: which sums it makes, and that they are the same whoever has which lanes.
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "train/lanes.hpp"

using tenon::LaneOwners;
using tenon::LaneTree;

namespace {

/// A sum as text, so that equal texts are equal sums in any arithmetic.
std::string tree_of(std::int64_t lanes) {
  LaneTree<std::string> tree;
  return tree.sum(
      lanes, [](std::int64_t lane, std::size_t) { return std::to_string(lane); },
      [](std::string& left, const std::string& right) { left = '(' + left + '+' + right + ')'; });
}

/// What simulated ranks send each other.
struct Mail {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<int, int>, std::vector<std::string>> between;  // sender and receiver
  int sent = 0;
};

struct MailExchange {
  Mail* mail;
  int self;

  void send(int rank, const std::string& value) {
    const std::lock_guard lock(mail->mutex);
    mail->between[{self, rank}].push_back(value);
    ++mail->sent;
    mail->arrived.notify_all();
  }
  std::string receive(int rank) {
    std::unique_lock lock(mail->mutex);
    auto& letters = mail->between[{rank, self}];
    mail->arrived.wait(lock, [&] { return !letters.empty(); });
    auto first = letters.front();
    letters.erase(letters.begin());
    return first;
  }
};

struct Ranks {
  std::vector<std::string> sums;                // that each has in the end
  std::vector<std::vector<std::int64_t>> made;  // the lanes of each
  int sent = 0;
};

Ranks sums_of(const LaneOwners& owners, std::int64_t lanes) {
  Mail mail;
  const auto count = static_cast<std::size_t>(owners.ranks());
  Ranks ranks{std::vector<std::string>(count), std::vector<std::vector<std::int64_t>>(count)};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < owners.ranks(); ++rank)
    threads.emplace_back([&, rank] {
      LaneTree<std::string, MailExchange> tree(owners, rank, {&mail, rank});
      const auto at = static_cast<std::size_t>(rank);
      ranks.sums[at] = tree.sum(
          lanes, [&](std::int64_t lane, std::size_t) { return ranks.made[at].push_back(lane), std::to_string(lane); },
          [](std::string& left, const std::string& right) { left = '(' + left + '+' + right + ')'; });
    });
  for (auto& thread : threads) thread.join();
  ranks.sent = mail.sent;
  return ranks;
}

void check_ranks(const LaneOwners& owners, std::int64_t lanes) {
  CAPTURE(lanes);
  CAPTURE(owners.ranks());
  const auto expected = tree_of(lanes);
  const auto ranks = sums_of(owners, lanes);
  std::int64_t next = 0;  // each lane is made once, in order
  for (std::size_t rank = 0; rank < ranks.sums.size(); ++rank) {
    CHECK(ranks.sums[rank] == expected);
    for (const auto lane : ranks.made[rank]) CHECK(lane == next++);
  }
  CHECK(next == lanes);
}

}  // namespace

TEST_CASE("lane tree: it splits at the largest power of two below the count") {
  const struct {
    std::int64_t lanes;
    const char* tree;
  } rows[] = {{1, "0"},
              {2, "(0+1)"},
              {3, "((0+1)+2)"},
              {4, "((0+1)+(2+3))"},
              {5, "(((0+1)+(2+3))+4)"},
              {6, "(((0+1)+(2+3))+(4+5))"},
              {7, "(((0+1)+(2+3))+((4+5)+6))"},
              {8, "(((0+1)+(2+3))+((4+5)+(6+7)))"},
              {9, "((((0+1)+(2+3))+((4+5)+(6+7)))+8)"}};
  for (const auto& row : rows) CHECK(tree_of(row.lanes) == row.tree);
}

TEST_CASE("lane tree: ceil(log2(lanes)) + 1 values are kept, each where no other is needed") {
  for (std::int64_t lanes = 1; lanes <= 70; ++lanes) {
    CAPTURE(lanes);
    std::size_t most = 1;
    for (std::int64_t reach = 1; reach < lanes; reach *= 2) ++most;
    std::set<std::size_t> in_use;
    bool overwritten = false, beyond = false;
    LaneTree<std::size_t> tree;
    const auto last = tree.sum(
        lanes,
        [&](std::int64_t, std::size_t place) {
          beyond = beyond || place >= most;
          overwritten = overwritten || !in_use.insert(place).second;
          return place;
        },
        [&](std::size_t&, std::size_t right) { in_use.erase(right); });
    CHECK_FALSE(beyond);
    CHECK_FALSE(overwritten);
    CHECK(in_use == std::set<std::size_t>{last});
    CHECK(last == 0);
  }
}

TEST_CASE("lane tree: the same sum on every rank, whichever neighbouring lanes it has") {
  for (std::int64_t lanes = 1; lanes <= 17; ++lanes)
    for (int ranks = 1; ranks <= 5 && ranks <= lanes; ++ranks) check_ranks(LaneOwners::even(lanes, ranks), lanes);
  std::mt19937 random(1);
  for (int i = 0; i < 150; ++i) {  // ranks in the middle of a sum, and ranks without a lane
    const auto lanes = static_cast<std::int64_t>(1 + random() % 20);
    std::vector<std::int64_t> first(1 + random() % 6);
    for (auto& each : first) each = static_cast<std::int64_t>(random() % static_cast<unsigned>(lanes + 1));
    first[0] = 0;
    std::sort(first.begin(), first.end());
    check_ranks(LaneOwners(first), lanes);
  }
  check_ranks(LaneOwners::even(16, 4), 5);  // the last step of an epoch, which has fewer lanes
  check_ranks(LaneOwners::even(1000, 64), 1000);
}

TEST_CASE("lane tree: ranks get whole sums, none more than twice its share, and send one value for it") {
  for (std::int64_t lanes = 1; lanes <= 64; ++lanes)
    for (int ranks = 1; ranks <= lanes; ++ranks) {
      const auto owners = LaneOwners::even(lanes, ranks);
      REQUIRE(owners.ranks() == ranks);
      std::vector<std::int64_t> count(static_cast<std::size_t>(ranks));
      for (std::int64_t lane = 0; lane < lanes; ++lane) ++count[static_cast<std::size_t>(owners.owner(lane))];
      CAPTURE(lanes);
      CAPTURE(ranks);
      CHECK(*std::max_element(count.begin(), count.end()) * ranks <= 2 * lanes);
      CHECK(*std::min_element(count.begin(), count.end()) >= 1);
    }
  CHECK(sums_of(LaneOwners::even(16, 4), 16).sent == 2 * 3);
  CHECK(sums_of(LaneOwners::even(11, 3), 11).sent == 2 * 2);
}
