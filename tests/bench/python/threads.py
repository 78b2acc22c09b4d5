"""Speedup by two Python threads with large elementwise calls: the GIL is released while kernels
run. threads.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import threading
import time

import numpy as np

import tenon

CALLS, SIZE = 8, 4 << 20


def work(host: tenon.Host, x: np.ndarray, out: np.ndarray) -> None:
    for _ in range(CALLS):
        host.ops.tanh(x)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    host = tenon.Host(threads=1)  # single-threaded kernels: only Python's threads are measured
    data = [(np.full(SIZE, 0.5, np.float32), np.empty(SIZE, np.float32)) for _ in range(2)]
    work(host, *data[0])
    ratios = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for each in data:
            work(host, *each)
        one = time.perf_counter() - begin
        threads = [threading.Thread(target=work, args=(host, *each)) for each in data]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ratios.append(one / (time.perf_counter() - begin))
    print(
        f"speedup by two threads: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to "
        f"{max(ratios):.2f}"
    )


if __name__ == "__main__":
    main()
