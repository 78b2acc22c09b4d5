// The site's style sheet, and the constant part of its script.
#pragma once
#include <string_view>

namespace tenon::cli {

inline constexpr std::string_view site_style = R"css(
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f6f8fa; --link: #0a58ca; --quiet: #57606a; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --soft: #1c2128; --link: #79b8ff; --quiet: #9da7b3; } }
* { box-sizing: border-box; }
body { font: 1rem/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 0 1rem 3rem; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: 1rem 0; border-bottom: 1px solid var(--line); }
header a { font-weight: 600; }
form { flex: 1 1 14rem; }
input { font: inherit; width: 100%; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: .4rem; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
h1 { margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; padding-bottom: .2rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.2rem 0 .4rem; }
code, pre { font: .9em/1.5 ui-monospace, monospace; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem; overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; }
ul.operators, #results { list-style: none; padding: 0; }
ul.operators li, #results li { padding: .3rem 0; border-bottom: 1px solid var(--line); }
footer { margin-top: 3rem; color: var(--quiet); font-size: .9em; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
)css";

/// Follows `const operators = [...]`. Texts become text nodes, never markup.
inline constexpr std::string_view site_script = R"js(
(function () {
  const box = document.querySelector("input[name=q]");
  const results = document.getElementById("results");
  if (!results) return;  // operator pages send searches to the index page
  const everything = document.getElementById("everything");

  // Returns the match's rank, 0 for the best; -1 if a word does not match.
  function rank(op, query) {
    const name = op.name.toLowerCase();
    const text = (op.name + " " + op.more + " " + op.doc).toLowerCase();
    if (!query.split(/\s+/).every(function (word) { return text.includes(word); })) return -1;
    return name === query ? 0 : name.startsWith(query) ? 1 : name.includes(query) ? 2 : op.more.toLowerCase().includes(query) ? 3 : 4;
  }

  function line(op) {
    const item = document.createElement("li"), link = document.createElement("a"), name = document.createElement("code");
    name.textContent = op.name;
    link.href = op.page;
    link.append(name);
    item.append(link, " " + op.doc);
    return item;
  }

  function show() {
    const query = box.value.trim().toLowerCase();
    const found = operators.map(function (op) { return [rank(op, query), op]; }).filter(function (pair) { return pair[0] >= 0; });
    found.sort(function (left, right) { return left[0] - right[0]; });
    results.replaceChildren(...(query ? found.map(function (pair) { return line(pair[1]); }) : []));
    if (query && found.length === 0) results.textContent = "No operators match.";
    everything.hidden = query !== "";
  }

  box.value = new URLSearchParams(location.search).get("q") || "";
  box.addEventListener("input", show);
  show();
})();
)js";

}  // namespace tenon::cli
