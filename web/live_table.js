// SPDX-License-Identifier: Apache-2.0
// The table of processes: sorted, filtered, walked with the keyboard, and changed cell by cell as updates come.
import { formatBytes, formatDuration } from "./numbers.js";

const RESORT_MS = 3000;
const SOON_S = 600;
const SIGNALS = { 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
  11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM" };

function stateWords(row) {
  if (row.end === "running") return { text: "running", look: "" };
  if (row.end === "oom_killed") return { text: "OOM-killed", look: "bad" };
  if (row.end === "exited") return { text: `exit ${row.status ?? "?"}`, look: row.status ? "bad" : "done" };
  if (row.end === "signaled") return { text: SIGNALS[row.signal] || `signal ${row.signal}`, look: "bad" };
  return { text: "end unseen", look: "done" };
}

function bytesOrDash(value) {
  return value === null || value === undefined ? "\u2013" : formatBytes(value);
}

function growthWords(row) {
  const growth = row.growth_bytes_per_s;
  if (row.end !== "running" || growth === null || growth === undefined) return "\u2013";
  if (Math.abs(growth) < 1024) return "steady";
  return `${growth > 0 ? "+" : "\u2212"}${formatBytes(Math.abs(growth))}/s`;
}

function leftWords(row) {
  const left = row.seconds_to_limit;
  if (row.end !== "running" || left === null || left === undefined) return "\u2013";
  return left > 30 * 86400 ? "> 30 d" : formatDuration(Math.max(left, 0) * 1000);
}

const SORT_KEYS = {
  shown: (row, isOn) => (isOn ? 1 : 0), name: (row) => row.name, pid: (row) => row.pid, state: (row) => stateWords(row).text,
  rss: (row) => row.rss_bytes ?? -1, peak: (row) => row.peak_rss_bytes ?? -1, growth: (row) => (row.end === "running" ? row.growth_bytes_per_s ?? -Infinity : -Infinity),
  left: (row) => -(row.end === "running" ? row.seconds_to_limit ?? Infinity : Infinity), swap: (row) => row.swap_bytes ?? -1, oom: (row) => row.oom_score ?? -1,
};

class ProcessTable {
  // isShown(id), colorOf(id): what the chart does; toggle(id): the user wants it otherwise.
  constructor(element, { isShown, colorOf, toggle }) {
    Object.assign(this, { element, isShown, colorOf, toggle, body: element.tBodies[0], lines: new Map(), sort: "peak", isDown: true, filter: "", sorted: 0 });
    for (const header of element.tHead.rows[0].cells) {
      header.tabIndex = 0;
      header.addEventListener("click", () => this.sortBy(header.dataset.key));
      header.addEventListener("keydown", (event) => { if (event.key === "Enter") this.sortBy(header.dataset.key); });
    }
    this.markHeader();
    this.body.addEventListener("click", (event) => {
      const line = event.target.closest("tr");
      if (line && !String(getSelection())) this.toggle(Number(line.dataset.id));
    });
    this.body.addEventListener("keydown", (event) => this.onKey(event));
  }

  clear() {
    this.lines.clear();
    this.body.replaceChildren();
    this.sorted = 0;
  }

  sortBy(key) {
    this.isDown = this.sort === key ? !this.isDown : key !== "name" && key !== "pid";
    this.sort = key;
    this.markHeader();
    this.order(true);
  }

  markHeader() {
    for (const header of this.element.tHead.rows[0].cells) {
      if (header.dataset.key === this.sort) header.setAttribute("aria-sort", this.isDown ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    }
  }

  onKey(event) {
    const line = event.target.closest("tr");
    if (!line) return;
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (step) {
      let other = line[step];
      while (other && other.hidden) other = other[step];
      if (other) this.focusOn(other);
    } else if (event.key === "Enter") {
      this.toggle(Number(line.dataset.id));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // One row of the table is in the order of the Tab key, the arrows move it.
  focusOn(line) {
    this.body.querySelectorAll("tr[tabindex='0']").forEach((other) => { other.tabIndex = -1; });
    line.tabIndex = 0;
    line.focus();
  }

  makeLine(row) {
    const line = document.createElement("tr");
    line.dataset.id = row.id;
    line.tabIndex = this.lines.size ? -1 : 0;
    for (const look of ["tick", "name", "number pid", "state", "number", "number", "number", "number", "number swap", "number oom"]) {
      line.insertCell().className = look;
    }
    this.lines.set(row.id, line);
    this.body.append(line);
    return line;
  }

  fill(line, row) {
    const state = stateWords(row);
    const texts = [null, row.name || "(no name)", String(row.pid), state.text, bytesOrDash(row.end === "running" ? row.rss_bytes : null),
      bytesOrDash(row.peak_rss_bytes), growthWords(row), leftWords(row), bytesOrDash(row.swap_bytes || null), row.oom_score ?? "\u2013"];
    texts.forEach((text, at) => {
      if (text !== null && line.cells[at].textContent !== String(text)) line.cells[at].textContent = text;
    });
    line.cells[3].className = `state ${state.look}`;
    line.cells[7].classList.toggle("bad", row.end === "running" && row.seconds_to_limit !== null && row.seconds_to_limit < SOON_S);
    const isGrowing = row.end === "running" && row.growth_bytes_per_s >= 1024;
    line.cells[6].classList.toggle("growing", isGrowing);
    line.cells[7].title = row.seconds_to_limit === null ? "" : `${formatBytes(row.room_bytes)} left of ${row.room_of === "host" ? "the host's memory" : row.room_of}`;
    line.cells[1].title = row.cmdline || "";
    const isOn = this.isShown(row.id);
    line.classList.toggle("shown", isOn);
    line.classList.toggle("over", row.end !== "running");
    line.setAttribute("aria-selected", String(isOn));
    line.cells[0].style.setProperty("--series", isOn ? this.colorOf(row.id) : "transparent");
    line.hidden = !this.matches(row);
  }

  matches(row) {
    return !this.filter || `${row.name} ${row.pid} ${row.cmdline || ""}`.toLowerCase().includes(this.filter);
  }

  update(rows) {
    this.rows = rows;
    for (const row of rows.values()) this.fill(this.lines.get(row.id) || this.makeLine(row), row);
    this.order(false);
  }

  // Rows keep their place while somebody points at them.
  order(isNow) {
    const isBusy = this.body.matches(":hover") || this.body.contains(document.activeElement);
    if (!isNow && this.sorted && (isBusy || performance.now() - this.sorted < RESORT_MS) && this.count === this.rows.size) return;
    this.sorted = performance.now();
    this.count = this.rows.size;
    const key = SORT_KEYS[this.sort];
    const value = (row) => key(row, this.isShown(row.id));
    const sorted = Array.from(this.rows.values()).sort((left, right) => {
      const [a, b] = [value(left), value(right)];
      const order = typeof a === "number" ? a - b || 0 : String(a).localeCompare(String(b));
      return (this.isDown ? -order : order) || this.isShown(right.id) - this.isShown(left.id) || left.id - right.id;
    });
    const focused = document.activeElement;
    this.body.append(...sorted.map((row) => this.lines.get(row.id)));
    if (focused && this.body.contains(focused)) focused.focus({ preventScroll: true });
  }
}

export { ProcessTable, stateWords };
