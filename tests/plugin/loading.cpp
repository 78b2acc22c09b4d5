// Loading plugins: each fault gets its status, and the host survives.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"
#include "plugin/manifest_source.hpp"

using namespace tenon;

namespace {

// the traits of plain's table, as in its source
constexpr std::uint64_t file_mark = 0x1122334455667700;

std::string marked(std::string bytes, std::uint64_t mark) {
  const std::string old(reinterpret_cast<const char*>(&file_mark), sizeof file_mark);
  const auto at = bytes.find(old);
  REQUIRE(at != std::string::npos);
  REQUIRE(bytes.find(old, at + 1) == std::string::npos);
  std::memcpy(bytes.data() + at, &mark, sizeof mark);
  return bytes;
}

}  // namespace

TEST_CASE("loading: an operator is loaded on first use") {
  PluginFolder folder;
  folder.put("plain");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  CHECK(file_of(set, "plain.so").status == PluginStatus::indexed);
  const LoadedOperator& op = set.load("plain");
  CHECK(file_of(set, "plain.so").status == PluginStatus::loaded);
  CHECK(op.info->name == "plain");
  CHECK(op.file == 0);
  REQUIRE(op.table);
  CHECK(op.table->traits == file_mark);
  CHECK(op.kernel(TENON_CPU) == op.table);
  CHECK(op.kernel(TENON_CUDA) == nullptr);
  CHECK(op.kernel_error == "");
  CHECK(&set.load("plain") == &op);
  CHECK(set.content_hash(0) != 0);
  CHECK(set.content_hash(0) == file_of(set, "plain.so").content_hash);
}

TEST_CASE("loading: hosts of one process share a plugin's code while its file is unchanged") {
  PluginFolder folder;
  folder.put("plain");
  const auto table_in = [&] {
    PluginSet set(folder.options(), idle_host());
    set.scan(folder.plugins());
    return set.load("plain").table;
  };
  const auto* const first = table_in();
  CHECK(table_in() == first);
  write_bytes(folder.plugins() / "plain.so", marked(plain(), 1));
  CHECK(table_in() != first);
}

TEST_CASE("loading: PluginOptions::cuda is called once, before the first operator is loaded") {
  for (const bool confirmed : {false, true}) {
    PluginFolder folder;
    folder.put("split_operator");
    folder.put("split_cuda_kernel");
    folder.put("plain");
    PluginOptions options = folder.options();
    int asked = 0;
    options.cuda = [&] {
      ++asked;
      return confirmed;
    };
    PluginSet set(options, idle_host());
    set.scan(folder.plugins());
    CHECK(set.catalog().find("split") != nullptr);
    CHECK(asked == 0);
    CHECK((set.load("split").kernel(TENON_CUDA) != nullptr) == confirmed);
    set.load("plain");
    CHECK(asked == 1);
  }
}

TEST_CASE("probe: the child process has no descriptors of the host") {
  PluginFolder folder;
  folder.put("wants_no_descriptor");
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(dup2(opened, 77) == 77);  // without O_CLOEXEC, so it stays open unless closed explicitly
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  const auto failure = failure_of([&] { set.load("wants_no_descriptor"); });
  close(opened);
  close(77);
  CHECK(failure.message == "");
  CHECK(file_of(set, "wants_no_descriptor.so").status == PluginStatus::loaded);
}

TEST_CASE(
    "loading: each fault has its status and reason, and is reported at once the second time") {
  struct Case {
    const char* fault;
    PluginStatus status;
    std::string reason;
    bool quarantined;
  };
  const Case cases[] = {
      {"crash_at_load", PluginStatus::crashed,
       "crashed with SIGSEGV while being loaded in a child process", true},
      {"crash_in_get", PluginStatus::crashed,
       "crashed with SIGILL while being loaded in a child process", true},
      {"crash_leaving_child", PluginStatus::crashed,
       "crashed with SIGABRT while being loaded in a child process", true},
      {"exit_at_load", PluginStatus::crashed,
       "ended the process with exit code 0 while being loaded in a child process", true},
      {"hang_at_load", PluginStatus::hung,
       "hung: loading it in a child process took more than 300 ms", true},
      {"undefined_symbol", PluginStatus::unresolved_symbol,
       "uses the symbol a_function_that_nobody_has, which neither it nor its libraries define: "
       "link the library that defines it",
       false},
      {"null_table", PluginStatus::broken_manifest,
       "is broken: the table returned by tenon_get_v1__null_table is missing (null)", false},
      {"short_table", PluginStatus::broken_manifest,
       "is broken: the table returned by tenon_get_v1__short_table is too small for ABI 1", false},
      {"incomplete_table", PluginStatus::broken_manifest,
       "is broken: the table returned by tenon_get_v1__incomplete_table lacks create or destroy",
       false},
      {"other_major_table", PluginStatus::broken_manifest,
       "is broken: the table returned by tenon_get_v1__other_major_table has a different ABI major "
       "version",
       false},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.fault));
    PluginFolder folder;
    const auto path = folder.put(c.fault);
    PluginOptions options = folder.options();
    options.probe_timeout_ms = c.status == PluginStatus::hung ? 300 : 20000;
    PluginSet set(options, idle_host());
    set.scan(folder.plugins());
    const std::string message =
        "operator '" + std::string(c.fault) + "' cannot be used: " + path.string() + " " + c.reason;
    for (int time = 0; time < 2; ++time) {
      const FailureText failure = failure_of([&] { set.load(c.fault); });
      CHECK(failure.kind == 3);
      CHECK(failure.message == message);
      CHECK(failure.hint != "");
    }
    const PluginFile file = set.catalog().files()[0];
    CHECK(name_of(file.status) == name_of(c.status));
    CHECK(file.reason == c.reason);

    PluginSet next(options, idle_host());  // as a new process would
    next.scan(folder.plugins());
    const PluginFile later = next.catalog().files()[0];
    CHECK(later.status == (c.quarantined ? PluginStatus::quarantined : PluginStatus::indexed));
    CHECK(later.reason == (c.quarantined ? "is quarantined: it " + c.reason : ""));
  }
}

TEST_CASE("loading: a broken table is also detected without the probe") {
  for (const char* fault : {"null_table", "short_table", "incomplete_table", "undefined_symbol"}) {
    PluginFolder folder;
    folder.put(fault);
    PluginOptions options = folder.options();
    options.probe = false;
    PluginSet set(options, idle_host());
    set.scan(folder.plugins());
    CHECK(failure_of([&] { set.load(fault); }).kind == 3);
  }
}

TEST_CASE("loading: reports a missing library") {
  PluginFolder folder;
  // needs the C library
  std::string bytes = read_bytes(std::filesystem::path(TENON_TEST_FAULTS) / "exit_at_load.so");
  const auto at = bytes.find("libc.so.6");
  REQUIRE(at != std::string::npos);
  const auto path = folder.write("it.so", bytes.replace(at, 9, "libq.so.6"));
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  CHECK(failure_of([&] { set.load("exit_at_load"); }).message ==
        "operator 'exit_at_load' cannot be used: " + path.string() +
            " needs the library libq.so.6, which was not found: install it, or put it next to the "
            "plugin and link with -Wl,-rpath,'$ORIGIN'");
  CHECK(file_of(set, "it.so").status == PluginStatus::not_loadable);
}

TEST_CASE("loading: kernels come from other plugins than the operator") {
  PluginFolder folder;
  folder.put("split_operator");
  const auto kernel = folder.put("split_kernel");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  const LoadedOperator& op = set.load("split");
  REQUIRE(op.kernel(TENON_CPU));
  CHECK(op.kernel(TENON_CPU) != op.table);
  CHECK((op.kernel(TENON_CPU)->forward != nullptr));
  CHECK(op.kernel(TENON_CPU)->traits == file_mark);
  CHECK(file_of(set, "split_kernel.so").status == PluginStatus::loaded);

  folder.put("split_kernel_too");
  PluginSet disputed(folder.options(), idle_host());
  disputed.scan(folder.plugins());
  CHECK(disputed.load("split").kernel(TENON_CPU) == nullptr);
}

TEST_CASE("loading: an operator works without a kernel that cannot be loaded") {
  PluginFolder folder;
  folder.put("split_operator");
  const auto kernel = folder.put("split_kernel");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  std::filesystem::remove(kernel);
  const LoadedOperator& op = set.load("split");
  CHECK(op.table);
  CHECK(op.kernel(TENON_CPU) == nullptr);
  CHECK(op.kernel_error == "the cpu kernel of operator 'split' cannot be used: " + kernel.string() +
                               " cannot be read: No such file or directory");
}

TEST_CASE("loading: a replaced file is a new plugin, and the old code is unaffected") {
  PluginFolder folder;
  folder.write("plain.so", marked(plain(), 0x100));
  PluginSet old(folder.options(), idle_host());
  old.scan(folder.plugins());
  const LoadedOperator& before = old.load("plain");
  CHECK(before.table->traits == 0x100);

  // cp writes into the file, a linker creates a new one
  for (const bool in_place : {true, false}) {
    if (!in_place) std::filesystem::remove(folder / "plain.so");
    folder.write("plain.so", marked(plain(), in_place ? 0x200 : 0x300));
    PluginSet next(folder.options(), idle_host());
    next.scan(folder.plugins());
    CHECK(next.load("plain").table->traits == (in_place ? 0x200 : 0x300));
    CHECK(before.table->traits == 0x100);
    CHECK(before.table->forward(nullptr, nullptr) == 0);
  }
}

TEST_CASE("loading: loads the bytes that were checked") {
  PluginFolder folder;
  folder.put("plain");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  folder.put("plain_otherwise", "plain.so");
  CHECK(failure_of([&] { set.load("plain"); }).message ==
        "operator 'plain' cannot be used: " + (folder / "plain.so").string() +
            " has changed since its folder was read: add the folder again (Host::add_plugins), or "
            "restart the program");
  set.scan(folder.plugins());
  CHECK(set.load("plain").info->doc == "otherwise");

  PluginSet same_manifest(folder.options(), idle_host());
  folder.put("plain");
  same_manifest.scan(folder.plugins());
  folder.write("plain.so", marked(plain(), 0x400));
  CHECK(same_manifest.load("plain").table->traits == 0x400);
}

TEST_CASE("probe: the program is needed only for first loads") {
  PluginFolder folder;
  folder.put("plain");
  PluginOptions options = folder.options();
  options.probe_program = folder / "no-program";
  {
    PluginSet set(options, idle_host());
    set.scan(folder.plugins());
    const FailureText failure = failure_of([&] { set.load("plain"); });
    CHECK(failure.kind == 1);
    CHECK(failure.message.find("cannot try a plugin in a child process: ") == 0);
    CHECK(file_of(set, "plain.so").status == PluginStatus::indexed);
  }
  {
    PluginSet set(folder.options(), idle_host());
    set.scan(folder.plugins());
    set.load("plain");
  }
  PluginSet set(options, idle_host());
  set.scan(folder.plugins());
  CHECK(set.load("plain").table);  // this user has loaded it before
}

TEST_CASE("probe: the program is found next to the library") {
  PluginFolder folder;
  folder.put("plain");
  PluginOptions options = folder.options();
  options.probe_program.clear();
  PluginSet set(options, idle_host());
  set.scan(folder.plugins());
  CHECK(set.load("plain").table);
}

TEST_CASE("loading: plugins built with the SDK load and create objects") {
  PluginFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_TEST_EXAMPLES)) {
    if (entry.path().extension() == ".so" &&
        entry.path().filename().string().find('+') == std::string::npos) {
      folder.write(entry.path().filename().string(), read_bytes(entry.path()));
    }
  }
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  CHECK(set.catalog().operators().size() >= 7);
  for (const CatalogOperator& entry : set.catalog().operators()) {
    CAPTURE(entry.info.name);
    const LoadedOperator& op = set.load(entry.info.name);
    CHECK(op.kernel(TENON_CPU) == (op.info->has("compose") ? nullptr : op.table));
    void* instance = nullptr;
    char text[200] = "";
    tenon_error error{sizeof error, 0, 0, text, sizeof text};
    const bool made = op.table->create(nullptr, 0, &instance, &error) == 0;
    const auto& params = op.info->params;
    const bool needs_something = std::any_of(params.begin(), params.end(),
                                             [](const ParamInfo& param) { return param.required; });
    CHECK_MESSAGE(made != needs_something, text);
    if (made) op.table->destroy(instance);
  }
}

TEST_CASE("loading: is thread-safe") {
  PluginFolder folder;
  folder.put("plain");
  folder.put("split_operator");
  folder.put("split_kernel");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  const LoadedOperator* found[8] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { found[i] = &set.load(i % 2 == 0 ? "plain" : "split"); });
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) CHECK(found[i] == found[i % 2]);
  CHECK(found[0] != found[1]);
}

TEST_CASE("loading: operators of the application") {
  PluginSet set(PluginOptions(), idle_host());
  Json json = sound_manifest("mine");
  json["kernels_elsewhere"] = false;
  const auto manifest = as_cbor(json);
  tenon_operator table{};
  table.size = sizeof table;
  table.abi_major = TENON_ABI_MAJOR;
  check_says(failure_of([&] { set.add(manifest, &table); }).message,
             {"operator 'mine' of the application", "table lacks create or destroy"});
  table.create = [](const tenon_attribute*, std::uint64_t, void**, tenon_error*) -> std::int32_t {
    return 0;
  };
  table.destroy = [](void*) {};
  table.infer = [](const void*, tenon_infer*) -> std::int32_t { return 0; };
  table.forward = [](void*, const tenon_call*) -> std::int32_t { return 0; };
  set.add(manifest, &table);
  const LoadedOperator& op = set.load("mine");
  CHECK(op.file == -1);
  CHECK(op.table == &table);
  CHECK(op.kernel(TENON_CPU) == &table);
  CHECK(&set.load("enlarge") == &op);  // an alias
  CHECK(failure_of([&] { set.add(std::span(manifest).first(10), &table); }).kind == 2);
}
