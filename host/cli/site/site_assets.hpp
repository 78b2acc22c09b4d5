// The site's style sheet, and the constant part of its script.
#pragma once
#include <string_view>

namespace tenon::cli {

/// The look of the documentation site, which is that of mkdocs-material: its fonts, sizes (1rem is
/// 20 px), colours (indigo; slate in the dark), header bar, tables and code.
inline constexpr std::string_view site_style = R"css(
:root {
  color-scheme: light dark;
  --page: #fff; --text: #000000de; --quiet: #0000008a; --line: #0000001f; --row: #00000009;
  --code: #36464e; --code-page: #f5f5f5; --link: #4051b5;
  --bar: #4051b5; --accent: #526cfe; --footer: #151515;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: hsl(225 15% 14%); --text: hsl(225 15% 90% / .82); --quiet: hsl(225 15% 90% / .56);
    --line: hsl(225 15% 95% / .12); --row: hsl(225 15% 95% / .035);
    --code: hsl(225 18% 86% / .82); --code-page: hsl(225 15% 18%); --link: #5488e8;
    --footer: hsl(225 15% 8%);
  }
}
* { box-sizing: border-box; }
html { font-size: 125%; }
body { display: flex; flex-direction: column; min-height: 100vh; margin: 0; background: var(--page);
  color: var(--text);
  font: .8rem/1.6 -apple-system, BlinkMacSystemFont, Helvetica, Arial, sans-serif;
  -webkit-font-smoothing: antialiased; }
header, footer { display: flex; align-items: center; gap: .8rem; padding: 0 max(.8rem, 50% - 30rem);
  color: #fff; }
header { position: sticky; top: 0; z-index: 1; min-height: 2.4rem; background: var(--bar);
  box-shadow: 0 0 .2rem #0000001a, 0 .2rem .4rem #0003; }
header a { flex: 1; color: inherit; font-size: .9rem; font-weight: 700; white-space: nowrap; }
form { position: relative; flex: 0 1 11.7rem; height: 1.8rem; border-radius: .1rem;
  background: #00000042; }
form:hover { background: #ffffff1f; }
form svg { position: absolute; top: .4rem; left: .5rem; width: 1rem; fill: none;
  stroke: currentColor; stroke-width: 2; pointer-events: none; }
input { width: 100%; height: 100%; padding: 0 .4rem 0 2rem; border: 0; border-radius: .1rem;
  background: none; color: inherit; font: inherit; color-scheme: dark; }
input::placeholder { color: #ffffffb3; opacity: 1; }
main { flex: 1; width: 100%; max-width: 44rem; margin: 0 auto; padding: 2.4rem .8rem 1.2rem;
  overflow-wrap: anywhere; }
footer { min-height: 2.4rem; background: var(--footer); color: #ffffffb3; font-size: .64rem; }
a { color: var(--link); text-decoration: none; }
main a:hover, main a:focus { color: var(--accent); }
h1, h2 { font-weight: 300; letter-spacing: -.01em; scroll-margin-top: 3rem; }
h1 { margin: 0 0 1.25em; color: var(--quiet); font-size: 2em; line-height: 1.3; }
h2 { margin: 1.6em 0 .64em; font-size: 1.5625em; line-height: 1.4; }
h3 { margin: 1.6em 0 .8em; font-size: 1.25em; font-weight: 400; line-height: 1.5;
  letter-spacing: -.01em; scroll-margin-top: 3rem; }
h2 + h3 { margin-top: .8em; }
code { padding: 0 .2941em; border-radius: .1rem; background: var(--code-page); color: var(--code);
  font: .85em SFMono-Regular, Consolas, Menlo, monospace; }
a code { color: inherit; }
pre { margin: 1em 0; line-height: 1.4; overflow-wrap: normal; }
pre code { display: block; padding: .7721em 1.1765em; overflow: auto; line-height: inherit;
  scrollbar-width: thin; }
dl, table { border: .05rem solid var(--line); border-radius: .1rem; font-size: .64rem; }
dl { display: grid; grid-template-columns: max-content 1fr; margin: 1em 0; }
dt, th { font-weight: 700; }
dt, dd { margin: 0; padding: .6em 1.25em; }
dd ~ dt, dd ~ dd { border-top: .05rem solid var(--line); }
table { display: block; width: fit-content; max-width: 100%; margin: 1em 0; border-spacing: 0;
  overflow: auto; overflow-wrap: normal; }
th, td { padding: .9375em 1.25em; text-align: left; vertical-align: top; }
td { border-top: .05rem solid var(--line); }
tr:hover td { background: var(--row); }
ul.operators, #results { margin: 1em 0; padding: 0; list-style: none; }
ul.operators li, #results li { padding: .3rem 0; border-bottom: .05rem solid var(--line); }
@media (max-width: 30rem) { dl { display: block; } dt + dd { padding-top: 0; border-top: 0; } }
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
    if (name === query) return 0;
    if (name.startsWith(query)) return 1;
    if (name.includes(query)) return 2;
    return op.more.toLowerCase().includes(query) ? 3 : 4;
  }

  function line(op) {
    const item = document.createElement("li");
    const link = document.createElement("a"), name = document.createElement("code");
    name.textContent = op.name;
    link.href = op.page;
    link.append(name);
    item.append(link, " " + op.doc);
    return item;
  }

  function show() {
    const query = box.value.trim().toLowerCase();
    const found = operators.map(function (op) { return [rank(op, query), op]; })
      .filter(function (pair) { return pair[0] >= 0; });
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
