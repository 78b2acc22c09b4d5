# site.py COMPILER BUILD: generates a site of the bundled plugins and the examples. Checks that all
# links work, that nothing external is needed, that every bundled operator except those of graphs
# shows an example, and that each example runs: graphs with `tenon run`, C++ programs compiled as
# one, and Python programs as far as Python's compiler.
import concurrent.futures
import html.parser
import os
import pathlib
import subprocess
import sys
import tempfile

compiler, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
source = pathlib.Path(__file__).resolve().parent.parent.parent
examples = build / "tests" / "examples"
# Operators with graph parameters; fail always fails.
without_example = {"if", "while", "scan", "branch", "loop", "onnx_node", "fail"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.links, self.sources, self.text = [], {}, ""
        self.heading, self.inside = "", []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src", "action"):
                self.links.append(value)
            if name == "id" and tag == "h3":
                self.heading = value
        if tag == "pre":
            self.inside.append(tag)
            self.sources[self.heading] = ""

    def handle_endtag(self, tag):
        if tag == "pre":
            self.inside.pop()

    def handle_data(self, data):
        self.text += data
        if self.inside:
            self.sources[self.heading] += data


def program_of_all(programs):
    lines = sorted(
        {
            line
            for text in programs.values()
            for line in text.splitlines()
            if line.startswith("#include")
        }
    )
    lines.append("#include <cstring>")
    for i, text in enumerate(programs.values()):
        body = "\n".join("" if line.startswith("#include") else line for line in text.splitlines())
        lines.append(
            f"namespace example_{i} {{\n{body.replace('int main() {', 'void run() {')}\n}}"
        )
    lines.append("int main(int, char** arguments) {")
    for i, name in enumerate(programs):
        lines.append(f'  if (std::strcmp(arguments[1], "{name}") == 0) example_{i}::run();')
    return "\n".join([*lines, "}", ""])


faults = []
with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}

    def run(*command):
        return subprocess.run(
            command, cwd=examples, env=environment, capture_output=True, text=True, timeout=120
        )

    site = work / "site"
    made = run(build / "tenon", "--plugins", examples, "docs", "-o", site)
    if made.returncode != 0:
        sys.exit(f"tenon docs fails: {made.stderr}")
    pages = {path.stem: Page(path) for path in sorted(site.glob("*.html"))}
    for name, page in pages.items():
        for link in page.links:
            if not (site / link).is_file():
                faults.append(f"{name}.html: broken link {link}")
    for path in sorted(site.iterdir()):
        if "://" in path.read_text():
            faults.append(f"{path.name}: refers to another site")

    operators = {name: page for name, page in pages.items() if name != "index"}
    shown = {
        name: page.sources
        for name, page in operators.items()
        if "#include" in page.sources.get("C++", "")
    }
    if len(operators) < 95:
        faults.append(f"{len(operators)} pages of operators, fewer than 95")
    for name in sorted(operators.keys() - shown.keys()):
        if (
            "Full nametenon." in " ".join(operators[name].text.split("\n"))
            and name not in without_example
        ):
            faults.append(f"{name}.html: has no example")

    def run_graph(name):
        graph = work / f"{name}.json"
        graph.write_text(shown[name]["graph.json"])
        command = (
            operators[name]
            .text.split("save it as graph.json: tenon ")[1]
            .split("run graph.json")[0]
        )
        return name, run(build / "tenon", *command.split(), "run", graph)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for name, result in threads.map(run_graph, shown):
            if result.returncode != 0 or not result.stdout:
                faults.append(f"{name}.html: its graph.json fails: {result.stderr}")

    (work / "all.cc").write_text(
        program_of_all({name: sources["C++"] for name, sources in shown.items()})
    )
    includes = [f"-I{source}/sdk/include", f"-I{source}/host/include"]
    compiled = run(compiler, "-std=c++20", "-Wall", "-Wextra", *includes, work / "all.cc",
                   "-o", work / "all", f"-L{build}", "-ltenon",
                   f"-Wl,-rpath,{build}")  # fmt: skip
    if compiled.returncode != 0:
        faults.append(f"the C++ programs do not compile: {compiled.stderr[:4000]}")
    for name, sources in shown.items() if compiled.returncode == 0 else []:
        result = run(work / "all", name)
        if result.returncode != 0 or not result.stdout:
            faults.append(f"{name}.html: its C++ program fails: {result.stderr}")
        try:
            compile(sources["Python"], name, "exec")
        except SyntaxError as error:
            faults.append(f"{name}.html: its Python program does not compile: {error}")

for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
