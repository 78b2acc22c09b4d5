// The all-reduce of the comm plugin, with threads as ranks and texts as elements: equal texts mean
// equal sums in any arithmetic.
#include "../../plugins/comm/tree.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using Elements = std::vector<std::string>;

/// Messages in flight between ranks.
struct Mail {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<int, int>, std::vector<Elements>> between;  // sender and receiver
  std::int64_t sent = 0;                                         // elements

  void send(int from, int to, Elements texts) {
    const std::lock_guard lock(mutex);
    sent += static_cast<std::int64_t>(texts.size());
    between[{from, to}].push_back(std::move(texts));
    arrived.notify_all();
  }
  Elements receive(int to, int from) {
    std::unique_lock lock(mutex);
    auto& letters = between[{from, to}];
    arrived.wait(lock, [&] { return !letters.empty(); });
    auto first = std::move(letters.front());
    letters.erase(letters.begin());
    return first;
  }
};

std::string sum(const std::string& left, const std::string& right) {
  return '(' + left + '+' + right + ')';
}

/// Directly computes the sum of the micro-batches [begin, begin + count).
std::string tree_of(std::int64_t begin, std::int64_t count) {
  if (count == 1) return std::to_string(begin);
  std::int64_t left = 1;
  while (left * 2 < count) left *= 2;
  return sum(tree_of(begin, left), tree_of(begin + left, count - left));
}

enum class Algorithm { segments, whole, own_chunk };

/// Returns each rank's result for `count` elements, each of which is the micro-batch's number.
std::vector<Elements> reduced(std::int64_t micro_batches, int ranks, std::int64_t count,
                              Algorithm algorithm, Mail& mail) {
  std::vector<Elements> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  const int adding = static_cast<int>(std::min<std::int64_t>(micro_batches, ranks));
  const auto owners = tenon::MicroBatchOwners::even(micro_batches, adding);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto& own = results[static_cast<std::size_t>(rank)];
      Elements scratch(static_cast<std::size_t>(count));
      const auto at = [](Elements& texts, std::int64_t begin) { return texts.begin() + begin; };
      const auto exchange = [&](const std::vector<comm::Message>& messages) {
        for (const auto& message : messages)
          if (message.send_count > 0)
            mail.send(rank, message.peer,
                      {at(own, message.send), at(own, message.send + message.send_count)});
        for (const auto& message : messages) {
          if (message.receive_count == 0) continue;
          const auto letter = mail.receive(rank, message.peer);
          REQUIRE(static_cast<std::int64_t>(letter.size()) == message.receive_count);
          std::copy(letter.begin(), letter.end(),
                    at(message.into_scratch ? scratch : own, message.receive));
        }
      };
      if (rank < adding) {
        const auto begin = owners.first(rank),
                   end = rank + 1 < adding ? owners.first(rank + 1) : micro_batches;
        own.assign(static_cast<std::size_t>(count), tree_of(begin, end - begin));
        const comm::TreePlan plan(owners, micro_batches, rank, count);
        const auto add = [&](std::int64_t to, std::int64_t from, std::int64_t n, bool is_left) {
          for (std::int64_t i = 0; i < n; ++i) {
            auto &local = own[static_cast<std::size_t>(to + i)],
                 &remote = scratch[static_cast<std::size_t>(from + i)];
            local = is_left ? sum(local, remote) : sum(remote, local);
          }
        };
        if (algorithm == Algorithm::segments)
          comm::all_reduce_segments(plan, exchange, add);
        else if (algorithm == Algorithm::own_chunk)
          comm::reduce_scatter_chunks(plan, rank, ranks, count, exchange, add);
        else
          comm::all_reduce_whole(plan, rank, count, exchange, add);
      } else {
        own.assign(static_cast<std::size_t>(count), "nothing");
      }
      exchange(comm::to_idle(rank, adding, ranks, count));
    });
  for (auto& thread : threads) thread.join();
  return results;
}

void check_sums(std::int64_t micro_batches, int ranks, std::int64_t count) {
  CAPTURE(micro_batches);
  CAPTURE(ranks);
  CAPTURE(count);
  for (const auto algorithm : {Algorithm::segments, Algorithm::whole}) {
    Mail mail;
    const Elements expected(static_cast<std::size_t>(count), tree_of(0, micro_batches));
    for (const auto& result : reduced(micro_batches, ranks, count, algorithm, mail))
      CHECK(result == expected);
  }
}

}  // namespace

TEST_CASE("comm tree: every rank gets the sum of all micro-batches, in tree order") {
  for (std::int64_t micro_batches = 1; micro_batches <= 13; ++micro_batches)
    for (int ranks = 1; ranks <= 7; ++ranks)
      for (const std::int64_t count : {0, 1, 5}) check_sums(micro_batches, ranks, count);
  check_sums(37, 37, 3);
  check_sums(40, 9, 2000);  // whole cache lines
}

TEST_CASE(
    "comm tree: long vectors cost each rank about twice their length, for any number of ranks") {
  for (const int ranks : {2, 3, 4, 6, 8, 13}) {
    CAPTURE(ranks);
    Mail mail;
    constexpr std::int64_t count = 6400;
    reduced(ranks, ranks, count, Algorithm::segments, mail);
    CHECK(mail.sent <= 2 * count * ranks);
  }
}

TEST_CASE(
    "comm tree: reduce-scatter gives each rank its chunk of the sum, at the cost of about the "
    "vector's length") {
  for (const int ranks : {1, 2, 3, 4, 6, 7, 8, 13}) {
    for (const std::int64_t chunk_size : {1, 5, 640}) {
      CAPTURE(ranks);
      CAPTURE(chunk_size);
      Mail mail;
      const Elements expected(static_cast<std::size_t>(chunk_size), tree_of(0, ranks));
      const auto results = reduced(ranks, ranks, chunk_size * ranks, Algorithm::own_chunk, mail);
      for (int rank = 0; rank < ranks; ++rank) {
        const auto begin = results[static_cast<std::size_t>(rank)].begin() + rank * chunk_size;
        CHECK(Elements(begin, begin + chunk_size) == expected);
      }
      CHECK(mail.sent <= chunk_size * ranks * ranks);
    }
  }
}

TEST_CASE("comm tree: all-gather gives every rank the elements of all ranks, in order") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    CAPTURE(ranks);
    Mail mail;
    std::vector<Elements> results(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        auto& own = results[static_cast<std::size_t>(rank)];
        own.resize(static_cast<std::size_t>(2 * ranks));
        own[static_cast<std::size_t>(2 * rank)] = std::to_string(rank);
        own[static_cast<std::size_t>(2 * rank + 1)] = "next";
        const auto owners = tenon::MicroBatchOwners::even(ranks, ranks);
        comm::gather(comm::TreePlan(owners, ranks, rank, 0), rank, 2,
                     [&](const std::vector<comm::Message>& messages) {
                       for (const auto& message : messages)
                         if (message.send_count > 0)
                           mail.send(rank, message.peer,
                                     {own.begin() + message.send,
                                      own.begin() + message.send + message.send_count});
                       for (const auto& message : messages) {
                         if (message.receive_count == 0) continue;
                         const auto letter = mail.receive(rank, message.peer);
                         std::copy(letter.begin(), letter.end(), own.begin() + message.receive);
                       }
                     });
      });
    for (auto& thread : threads) thread.join();
    Elements expected;
    for (int rank = 0; rank < ranks; ++rank)
      expected.insert(expected.end(), {std::to_string(rank), "next"});
    for (const auto& result : results) CHECK(result == expected);
  }
}
