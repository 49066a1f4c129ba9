# SPDX-License-Identifier: Apache-2.0
"""rival_plot.py DATABASE PNG: draws every sample of process 1 as memory_logger.py's users would, with matplotlib."""
import sqlite3
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot
import numpy

database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = database.execute(
    "SELECT time_ns, rss_bytes, swap_bytes, oom_score FROM process_sample WHERE process_id = 1 ORDER BY time_ns")
samples = numpy.fromiter(rows, dtype=[("time", "i8"), ("rss", "i8"), ("swap", "i8"), ("score", "i8")])
seconds = (samples["time"] - samples["time"][0]) / 1e9
figure, panels = plot.subplots(3, sharex=True, figsize=(12, 6.75), dpi=133)
for panel, values, name in zip(panels, (samples["rss"] / 2**20, samples["swap"] / 2**20, samples["score"]),
                               ("RSS, MiB", "swap, MiB", "oom_score")):
    panel.plot(seconds, values, linewidth=0.8)
    panel.set_ylabel(name)
panels[-1].set_xlabel("seconds")
figure.savefig(sys.argv[2])
