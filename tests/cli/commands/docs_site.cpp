// tenon docs -o: the folder and pages of the site. tests/house/site.py runs the examples,
// site_search.sh the search.
#include <doctest/doctest.h>

#include <filesystem>

#include "cli/workplace.hpp"
#include "file_size_limit.hpp"

namespace {

namespace fs = std::filesystem;

struct SitePlace {
  TemporaryFolder folder;
  ProgramResult run(const Words& arguments) const { return run_tenon(arguments, {folder.path()}); }
  std::string page(const std::string& name) const { return read_bytes(folder / "site" / name); }
};

}  // namespace

TEST_CASE("docs site: has an index, a search and a page for each operator") {
  const SitePlace place;
  const auto result =
      place.run({"--plugins", TENON_TEST_EXAMPLES "/multiples.so", "docs", "-o", "site"});
  CHECK(result.code == 0);
  CHECK(result.out == "");
  CHECK(result.err.starts_with("wrote site: "));
  CHECK(place.folder.names() == Words{"site"});
  const auto index = place.page("index.html");
  for (const char* part :
       {"<h2>tenon_nn</h2>\n", "<h2>Built-in operators</h2>\n", "<h2>example_multiples</h2>\n",
        "<li><a href=\"relu.html\"><code>relu</code></a> "}) {
    CAPTURE(part);
    CHECK(has(index, part));
  }
  const auto page = place.page("batch_norm.html");
  for (const char* part :
       {"<h1 id=\"batch_norm\">batch_norm</h1>\n", "<dt>Full name</dt><dd>tenon.batch_norm</dd>\n",
        "<dt>Plugin</dt><dd>tenon_nn " TENON_VERSION "</dd>\n", "<dt>Devices</dt><dd>cpu",
        "<dt>Dtypes</dt><dd>float16, bfloat16, float32, float64</dd>\n",
        "<dt>Storage</dt><dd>dense; sparse inputs are converted to dense with a warning</dd>\n",
        "<dt>Gradient</dt><dd>its own kernel; it reads data, gamma, mean, inverse_std</dd>\n",
        "<h2 id=\"Inputs\">", "<h2 id=\"Outputs\">", "<h2 id=\"States\">",
        "<tr><td><code>epsilon</code></td><td>float (&gt; 0)</td><td>1e-05</td><td>added to the "
        "variance</td></tr>\n",
        "output = ops.batch_norm(data, gamma, beta)\n",
        "host.call(&quot;batch_norm&quot;, {data, gamma, beta});\n",
        "&quot;op&quot;: &quot;batch_norm&quot;, &quot;inputs&quot;: [&quot;data&quot;, "
        "&quot;gamma&quot;, &quot;beta&quot;]}],\n"}) {
    CAPTURE(part);
    CHECK(has(page, part));
  }
  const auto other = place.page("clipped_sum.html");  // of a plugin that a program must add
  for (const char* part :
       {"tenon.add_plugins(&quot;multiples.so&quot;)\n",
        "host.add_plugins(&quot;multiples.so&quot;);\n",
        "tenon --plugins multiples.so run graph.json", "<li>low is less than high</li>\n"}) {
    CAPTURE(part);
    CHECK(has(other, part));
  }
  // graphs cannot be examples
  CHECK(has(place.page("while.html"), "ops.while_(*data, condition=..., body=...)\n"));
  CHECK(has(place.page("search.js"), "{\"name\": \"relu\", \"page\": \"relu.html\", \"doc\": "));
}

TEST_CASE("docs site: plugins' texts are escaped on every page") {
  const SitePlace place;
  CHECK(place.run({"docs", fault("speaks_markup"), "-o", "site"}).code == 0);
  CHECK(fs::exists(place.folder / "site/lambda.html"));
  for (const auto& name : TemporaryFolder::sorted_names(place.folder / "site")) {
    if (!name.ends_with(".html")) continue;
    CAPTURE(name);
    const auto page = place.page(name);
    CHECK(!has(page, "<script>"));  // ours have a src
    CHECK(!has(page, "<b>"));
    CHECK(!has(page, "<i>"));
    CHECK(has(page,
              "&lt;script&gt;document.title = &#39;forged&#39;&lt;/script&gt; &amp; \\N "
              "&quot;&quot;&quot;") == (name != "tuple.html"));
  }
  const auto page = place.page("lambda.html");
  CHECK(has(page, "ops.lambda_(self, name_=&quot;&lt;/pre&gt;"));
  CHECK(has(page, "<dt>Also called</dt><dd>global</dd>\n"));
}

TEST_CASE("docs site: an incomplete site leaves the earlier one unchanged") {
  const SitePlace place;
  CHECK(place.run({"docs", "relu", "-o", "site"}).code == 0);
  const auto before = place.page("index.html");
  const auto result = [&] {
    const FileSizeLimit limit(3000);  // smaller than the new index
    return place.run({"docs", "-o", "site"});
  }();
  CHECK(result.code == 1);
  CHECK(result.err ==
        "error: cannot write site/index.html: it would exceed the maximum file size\n");
  CHECK(place.folder.names() == Words{"site"});
  CHECK(place.page("index.html") == before);
  CHECK(TemporaryFolder::sorted_names(place.folder / "site") ==
        Words{"index.html", "relu.html", "search.js", "style.css"});
}

TEST_CASE("docs site: replaces an earlier site as a whole, and nothing else") {
  const SitePlace place;
  CHECK(place.run({"docs", "tenon_optim", "-o", "site"}).code == 0);
  CHECK(fs::exists(place.folder / "site/sgd.html"));
  CHECK(place.run({"docs", "relu", "-o", "site/"}).err ==
        "wrote site/: 1 operator; open site/index.html\n");
  CHECK(TemporaryFolder::sorted_names(place.folder / "site") ==
        Words{"index.html", "relu.html", "search.js", "style.css"});
  fs::create_directory(place.folder / "empty");
  CHECK(place.run({"docs", "relu", "-o", "empty"}).code == 0);
  CHECK(fs::exists(place.folder / "empty/relu.html"));
  fs::create_symlink("empty", place.folder / "link");
  CHECK(place.run({"docs", "tanh", "-o", "link"}).code == 0);
  CHECK(fs::is_symlink(place.folder / "link"));
  CHECK(fs::exists(place.folder / "empty/tanh.html"));

  write_bytes(place.folder / "site/mine.html", "<p>mine</p>");
  write_bytes(place.folder / "file", "");
  struct Case {
    std::string folder, error;
    int code;
  };
  const Case cases[] = {
      {"site",
       "error: 'site' contains 'mine.html', which is not part of an earlier site; the site would "
       "replace the whole folder\n",
       2},
      {"file", "error: 'file' is a file, but a folder is needed\n", 2},
      {".", "error: '.' is the current folder, which the site would replace\n", 2},
      {"none/site", "error: cannot write the folder none/site: ", 4},
  };
  const auto before = place.folder.names();
  for (const auto& c : cases) {
    const auto result = place.run({"docs", "-o", c.folder});
    CAPTURE(c.folder);
    CAPTURE(result.err);
    CHECK(result.code == c.code);
    CHECK(result.err.starts_with(c.error));
  }
  CHECK(place.folder.names() == before);
  CHECK(TemporaryFolder::sorted_names(place.folder / "site") ==
        Words{"index.html", "mine.html", "relu.html", "search.js", "style.css"});
}
