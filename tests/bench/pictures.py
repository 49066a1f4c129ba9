#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py BUILD_FOLDER [MILLIONS...]: a PNG and a page of a long run from the database, beside a Python process that
reads the same rows from the same file and draws them with matplotlib. The rivals take turns; the best of each counts, for
the speed of a shared machine swings within seconds. Prints times, peak memory and ratios; asserts nothing."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    """Seconds and peak MiB of a command."""
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} failed with status {child.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 1024


def best(results):
    return min(seconds for seconds, _ in results), max(mib for _, mib in results)


def compare(build, folder, millions):
    database = f"{folder}/bench-{millions}.db"
    subprocess.run([f"{build}/tests/bench/bench_store", database, str(millions)], check=True)
    memlog = [f"{build}/memlog", "render", "1", "--db", database]
    rivals = {
        "PNG": memlog + ["--png", f"{folder}/memlog.png"],
        "page": memlog + ["--html", f"{folder}/memlog.html"],
        "matplotlib": [sys.executable, str(HERE / "rival_plot.py"), database, f"{folder}/rival.png"],
    }
    results = {name: [] for name in rivals}
    for turn in range(5):
        for name, command in rivals.items():
            if name != "matplotlib" or turn < (2 if millions > 1 else 3):
                results[name].append(run(command))
    rival_seconds, rival_mib = best(results["matplotlib"])
    for name in ("PNG", "page"):
        seconds, mib = best(results[name])
        print(f"= {name} of {millions} M samples: {seconds * 1000:.0f} ms, {mib:.0f} MiB; matplotlib {rival_seconds:.2f} s, "
              f"{rival_mib:.0f} MiB: {rival_seconds / seconds:.0f} times faster, 1/{rival_mib / mib:.0f} of the memory")
    os.remove(database)


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="memlog-bench-") as folder:
        for millions in [int(word) for word in sys.argv[2:]] or [1, 10]:
            compare(build, folder, millions)


main()
