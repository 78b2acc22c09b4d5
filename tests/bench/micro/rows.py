"""The rows of the table: a figure, its floor in the same run, and the goal for their ratio or for
the figure itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Figures = dict[str, Any]  # of one benchmark, as Google Benchmark writes them
Value = Callable[[Figures], float]

LARGE, SMALL = 1 << 24, 1 << 12  # elements, as in elementwise.cpp


def time(unit: str) -> Value:
    """CPU time for work on one thread, which other load does not affect; otherwise real time."""
    factors = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}

    def value(found: Figures) -> float:
        kind = "real_time" if found["run_name"].endswith("/real_time") else "cpu_time"
        return float(found[kind]) * factors[found["time_unit"]] / factors[unit]

    return value


def bandwidth(found: Figures) -> float:
    return float(found["bytes_per_second"]) * 1e-9


def elements_a_ns(count: int) -> Value:
    return lambda found: count / time("ns")(found)


def ns_an_element(count: int) -> Value:
    return lambda found: time("ns")(found) / count


def ns_an_item(found: Figures) -> float:
    return 1e9 / float(found["items_per_second"])


def counter(name: str) -> Value:
    return lambda found: float(found[name])


@dataclass
class Row:
    """`goal` is a lower bound if `least` is set, otherwise an upper bound. It applies to the ratio
    if there is a floor, unless `of_figure` is set."""

    program: str
    name: str
    benchmark: str
    unit: str
    value: Value
    floor: str = ""
    floor_value: Value | None = None
    goal: float | None = None
    least: bool = False
    of_figure: bool = False


def elementwise() -> list[Row]:
    large, small, copy = f"/{LARGE}", f"/{SMALL}", f"copy/{LARGE}"

    def by_copy(name: str, benchmark: str) -> Row:
        return Row("elementwise", name, benchmark, "GB/s", bandwidth, copy, goal=0.9, least=True)

    elements = elements_a_ns(SMALL)
    rows = [Row("elementwise", "copy of 64 MiB", copy, "GB/s", bandwidth)]
    rows += [
        by_copy("a*x*x + b*x + c, 64 MiB", "quadratic/f32" + large),
        by_copy("x + y, 64 MiB each", "add/f32_large"),
    ]
    rows += [by_copy("x + row, 64 MiB", "add/rows"), by_copy("x + column, 64 MiB", "add/columns")]
    cached = Row(
        "elementwise",
        "a*x*x + b*x + c in cache",
        "quadratic/f32" + small,
        "elements/ns",
        elements,
        f"copy{small}",
    )
    cached.goal, cached.least, cached.of_figure = 8, True, True
    rows.append(cached)
    for name, goal in {"exp": 0.3, "log": None, "tanh": None, "erf": None, "sin": None}.items():
        value = ns_an_element(SMALL)
        rows.append(
            Row(
                "elementwise",
                f"{name} in cache",
                f"{name}/f32{small}",
                "ns/element",
                value,
                goal=goal,
            )
        )
    return rows


def dispatch() -> list[Row]:
    bare = "bare loop, one element"
    return [
        Row(
            "dispatch",
            "a node of 1,000 no-ops",
            "session, no-op",
            "ns",
            ns_an_item,
            "bare loop, no-op",
        ),
        Row(
            "dispatch",
            "a node of 1,000, one element",
            "session, one element",
            "ns",
            ns_an_item,
            bare,
        ),
        Row(
            "dispatch",
            "session of one node",
            "session of one node",
            "ns",
            time("ns"),
            bare,
            ns_an_item,
            goal=250,
            of_figure=True,
        ),
        Row(
            "dispatch",
            "session of one node, by index",
            "session of one node, by index",
            "ns",
            time("ns"),
            bare,
            ns_an_item,
        ),
    ]


def eager() -> list[Row]:
    bare = "the bare function, one element"
    one = Row(
        "eager",
        "eager call by name",
        "eager call by name, one element",
        "ns",
        time("ns"),
        bare,
        goal=450,
        of_figure=True,
    )
    two = Row(
        "eager",
        "prepared call",
        "prepared call, one element",
        "ns",
        time("ns"),
        bare,
        goal=300,
        of_figure=True,
    )
    return [
        one,
        two,
        Row(
            "eager",
            "prepared call into memory",
            "prepared call with destination, one element",
            "ns",
            time("ns"),
            bare,
        ),
    ]


def first_result() -> list[Row]:
    rows = []
    for kind in ("chain", "lattice"):
        for nodes, goal in {100_000: 0.15, 1_000_000: 1.5}.items():
            name = f"file to first result, {kind} of {nodes:,}"
            rows.append(
                Row(
                    "first_result",
                    name,
                    f"first_result/{kind}/{nodes}/real_time",
                    "s",
                    time("s"),
                    goal=goal,
                )
            )
    return rows


def others() -> list[Row]:
    rows = [
        Row(
            "train_step",
            f"training step of the perceptron, {threads} threads",
            f"train_step/threads:{threads}/real_time",
            "ms",
            time("ms"),
        )
        for threads in (1, 2)
    ]
    rows.append(
        Row(
            "memory",
            "memory / largest live set, worst",
            "200 random graphs",
            "x",
            counter("worst"),
            goal=1.10,
        )
    )
    rows.append(
        Row(
            "memory",
            "memory / largest live set, mean",
            "200 random graphs",
            "x",
            counter("mean"),
            goal=1.02,
        )
    )
    rows.append(
        Row(
            "lazy_update",
            "100 rows of 10^7, adam",
            "lazy_update/adam/rows:10000000",
            "x",
            counter("ratio"),
            goal=1.5,
        )
    )
    return rows


ROWS = elementwise() + dispatch() + eager() + first_result() + others()
