// Trainings whose kernel fails, crashes, exits or hangs in a step: earlier steps are not lost.
#include <doctest/doctest.h>

#include "cli/training/failing_training.hpp"

namespace {

std::string node_of(const std::string& what) {
  return "[ends_process] node 'a' of " + fault("ends_process") + ' ' + what;
}

}  // namespace

TEST_CASE(
    "train: a kernel that ends the process in a step is reported; checkpoint and metrics have the "
    "steps before") {
  const struct {
    const char *deed, *words;
  } rows[] = {
      {"null", "crashed with SIGSEGV in forward(): it wrote to address 0x0"},
      {"abort", "crashed with SIGABRT in forward()"},
      {"exit", "ended the process with exit code 0 in forward()"},
      {"_exit", "ended the process with exit code 0"},
      {"loop", "did not return from forward() within 500 ms"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.deed);
    const FailingTraining site(row.deed);
    const auto failed = site.train_until(4, {"--checkpoint-every", "1", "--timeout", "0.5"});
    INFO(failed.err);
    CHECK(failed.code == 1);
    CHECK(has(failed.err, "error: " + node_of(row.words)));
    CHECK(site.run({"validate", "c.tenon", "--file-only"}).code == 0);
    CHECK(site.steps_of_metrics() == 4);
    CHECK_FALSE(std::filesystem::exists(site.folder() / "m.tenon"));
    const auto resumed = site.train_until(1000, {"--resume"});
    INFO(resumed.err);
    CHECK(has(resumed.err, "resuming after step 4, in epoch 2\n"));
    CHECK(resumed.code == 0);
    CHECK(site.written() == FailingTraining::undisturbed(row.deed));
  }
}

TEST_CASE(
    "train: a kernel's error loses no earlier steps, and the resumed training ends with the same "
    "bytes") {
  const auto expected = FailingTraining::undisturbed("error");
  for (const bool each_step : {true, false}) {
    const FailingTraining site("error");
    const Words more{"--resume", "--checkpoint-every", each_step ? "1" : "1000"};
    for (int step = 4; step < 12; step += 4) {
      const auto failed = site.train_until(4, more);
      INFO(failed.err);
      CHECK(failed.code == 1);
      const auto where = "failed after step " + std::to_string(step) + ", in epoch " +
                         std::to_string(step / 3 + 1);
      CHECK(has(failed.err,
                where + "; saved c.tenon\nhint: run the same command with --resume to continue\n"));
      CHECK(has(failed.err, "error: [ends_process] node 'a': no more calls"));
      CHECK(site.steps_of_metrics() == step);
    }
    CHECK(site.train_until(4, more).code == 0);
    CHECK(site.written() == expected);
  }
  const FailingTraining site("error");  // there is nothing to save
  CHECK_FALSE(has(site.train_until(0).err, "keeps"));
  CHECK_FALSE(std::filesystem::exists(site.folder() / "c.tenon"));
}

TEST_CASE(
    "train: an update that fails halfway changes nothing, and the steps before it are saved") {
  const LineWorkplace site;
  const auto result =
      // two variables, so the second one in step 6
      site.train_in(failing_update(), {.environment = {{"TENON_FAULT_AFTER", "11"}}});
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(has(result.err, "failed after step 5, in epoch 2; "));
  CHECK(has(result.err, "error: [fails_to_update] node "));
  const auto resumed = site.train(failing_update({"--resume"}));
  CHECK(resumed.code == 0);
  CHECK(has(resumed.err, "resuming after step 5, in epoch 2\n"));
}
