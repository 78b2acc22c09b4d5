// A time limit for calls that cannot be interrupted.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

/// Ends the process if the calls in its scope take longer: MPI and NCCL start, finalize and abort
/// without a timeout of their own.
class Deadline {
 public:
  Deadline(double seconds, int status, std::string what)
      : thread_([this, seconds, status, what = std::move(what)] {
          std::unique_lock lock(changing_);
          constexpr double longest = 1e9;  // clocks count 64-bit nanoseconds
          if (changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, longest)),
                                [this] { return done_; }))
            return;
          if (!what.empty()) std::fprintf(stderr, "tenon: %s\n", what.c_str());
          std::fflush(nullptr);
          _exit(status);
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(changing_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex changing_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  // last member: it uses the others
};
