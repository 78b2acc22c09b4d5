#include <doctest/doctest.h>

#include <string>
#include <tenon/detail/host_error.hpp>
#include <vector>

#include "check_says.hpp"
#include "device/threads.hpp"
#include "failure_of.hpp"
#include "graph/inference/type.hpp"
#include "isolate/isolated_plugin.hpp"
#include "lying_worker.hpp"
#include "plugin/folder_of_faults.hpp"
#include "run/host_impl.hpp"
#include "tensor/call_context.hpp"

using namespace tenon;

namespace {

int nodes_added = 0;  // by gradients

/// An object whose functions are answered by a lying worker.
class Object {
 public:
  explicit Object(const std::string& lie)
      : worker_(lie),
        table_(worker_.plugin()->table("tenon_get_v1__lies")),
        object_(create_isolated(table_, {})) {}
  ~Object() { table_->functions().destroy(object_); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// Returns the error message; empty on success.
  std::string infer() {
    auto input = type_of(f32, {2}), output = unknown_type();
    tenon_infer io{sizeof io, error_.raw(), 1, 1, 0, 0, &input, &output, nullptr, nullptr, nullptr};
    return text(table_->functions().infer(object_, &io));
  }
  std::string infer_storage() {
    const std::uint8_t input = TENON_CSR;
    std::uint8_t output = TENON_DENSE;
    tenon_infer_storage io{sizeof io, error_.raw(),  1, 1, &input, &output,
                           TENON_CPU, TENON_FORWARD, 0, 0, nullptr};
    return text(table_->functions().infer_storage(object_, &io));
  }
  std::string gradient() {
    tenon_gradient io{};
    io.size = sizeof io;
    io.error = error_.raw();
    io.input_count = io.output_count = 1;
    io.add_all = [](tenon_gradient*, const char*, const tenon_value*, std::uint32_t,
                    const tenon_attribute*, std::uint32_t, tenon_value*, std::uint32_t,
                    std::uint32_t*) { return ++nodes_added > 100 ? 1 : 0; };
    io.set_input_grad = [](tenon_gradient* self, std::uint32_t, tenon_value) {
      write_error(self->error, ErrorKind::failed, "there is no such value");
      return 1;
    };
    return text(table_->functions().gradient(object_, &io));
  }
  /// For an output of that shape.
  std::string forward(const Shape& shape = {2, 3}) {
    auto type = type_of(f32, shape);
    auto output = tensor_of(type, TENON_CSR);
    output.dense.device_type = TENON_CPU;
    tenon_tensor* const outputs[] = {&output};
    const std::uint8_t write = TENON_WRITE_TO;
    Threads threads(1);
    SparseMemory sparse;
    CallContext context{.threads = threads, .memory = &sparse};
    tenon_call call{};
    call.size = sizeof call;
    call.host = &host_table();
    call.context = &context;
    call.error = error_.raw();
    call.output_count = 1;
    call.outputs = outputs;
    call.writes = &write;
    call.dispatch = TENON_FORWARD_SPARSE;
    auto said = text(table_->functions().forward_sparse(object_, &call));
    stored_ = output.stored;
    return said;
  }
  std::int64_t stored() const { return stored_; }  ///< by the last output

 private:
  std::string text(std::int32_t failed) const { return failed == 0 ? "" : error_.raw()->text; }

  LyingWorker worker_;
  std::shared_ptr<const IsolatedTable> table_;
  void* object_;
  std::int64_t stored_ = 0;
  mutable HostError error_;
};

const std::string broke = "its worker process violated the protocol (";
const std::string ended = ") and was ended (lies.so)";

}  // namespace

TEST_CASE("protocol: a worker that sends invalid answers is ended") {
  CHECK(Object("a turn that there is not").infer() == broke + "it set an invalid turn" + ended);
  CHECK(Object("its end").infer() == broke + "it claims to have ended" + ended);
  CHECK(Object("a callback").infer() ==
        broke + "it made a callback that is not allowed here" + ended);
  CHECK(Object("a long reply").infer() == broke + "a reply exceeds its buffer" + ended);
  for (const std::string lie : {"a short reply", "no reply"}) {
    CHECK(Object(lie).infer() == broke + "a message is truncated" + ended);
    if (lie == "no reply")
      CHECK(Object(lie).infer_storage() == broke + "a message is truncated" + ended);
  }
}

TEST_CASE("protocol: a worker that sends no table is ended") {
  CHECK(failure_of([] { Object("no table"); }).message == broke + "a message is truncated" + ended);
}

TEST_CASE("protocol: callbacks of a worker are validated before they are executed") {
  for (const std::string lie :
       {"a name without an end", "inputs without number", "attributes without number"})
    CHECK(Object(lie).gradient() == broke + "a message is truncated" + ended);
  CHECK(Object("a value of another graph").gradient() == "there is no such value");
  CHECK(Object("output 9").gradient() ==
        broke + "it made a callback that is not allowed while building a graph" + ended);
  CHECK(Object("output 9").forward() == "there is no output 9 to allocate");
  check_says(Object("output 0").forward(),
             {"output 0: 9223372036854775807 values", "csr [2, 3] holds at most 6"});
  CHECK(Object("a value of another graph").forward() ==
        broke + "it made a callback that kernels may not make" + ended);
  CHECK(Object("a long question").forward() == broke + "a reply exceeds its buffer" + ended);
  CHECK(Object("a dense output").forward().find("output 0 has its memory already") == 0);
  CHECK(Object("no dense output").forward() == "there is no output 4000000000 to allocate");
}

TEST_CASE("protocol: a gradient may add a limited number of nodes") {
  CHECK(Object("nodes without end").gradient() ==
        "it adds more nodes than isolated operators are allowed to");
  CHECK(nodes_added == 15);  // each a little over 64 KiB: 1 MiB in total
}

TEST_CASE(
    "protocol: nothing is copied to an output's earlier allocation after a larger one failed") {
  Object twice("an output twice");
  CHECK(twice.forward({2, std::int64_t{1} << 46}).empty());
  CHECK(twice.stored() == -1);
}

TEST_CASE("protocol: an error text is truncated to its buffer") {
  CHECK(Object("an error without an end").infer() == std::string(1023, 'x'));
}

TEST_CASE("protocol: a program that is not a worker is reported") {
  const LyingWorker worker("nonsense");
  CHECK_THROWS_AS(worker.plugin(), WorkerStartError);
}

TEST_CASE("protocol: a worker of another version is refused") {
  const LyingWorker worker("another version");
  check_says(failure_of([&] { worker.plugin(); }).message,
             {"cannot start a worker process", "/proc/self/exe has a different version"});
}

TEST_CASE("protocol: a reply with arrays of another length is refused") {
  CHECK(Object("a longer array").infer_storage() ==
        broke + "an array of a reply has the wrong length" + ended);
}

TEST_CASE("protocol: a worker holds as many conversations as a machine runs threads") {
  const PluginFolder folder;
  auto options = folder.options();
  options.isolation.program = std::filesystem::path(TENON_TEST_BUILD) / "tenon-worker";
  options.isolation.all = true;
  PluginSet set(options, idle_host());
  set.add_file(folder.put("plain"));
  const auto worker = set.load("plain").isolated.at(0)->plugin().worker();
  std::vector<std::unique_ptr<tenon::Conversation>> conversations;
  for (int i = 0; i < 300; ++i) {
    conversations.push_back(std::make_unique<tenon::Conversation>(worker));
    CHECK(conversations.back()->exchange(tenon::isolate::Operation::destroy, 0, {}, 0).status == 0);
  }
}
