// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as words, and the ticks of value axes. Pure functions.

const BINARY_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return "unknown";
  let value = Math.abs(bytes);
  if (value < 1024) return `${bytes} B`;
  let unit = 1;
  value /= 1024;
  while (value >= 999.5 && unit + 1 < BINARY_UNITS.length) {
    value /= 1024;
    unit++;
  }
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${bytes < 0 ? "-" : ""}${value.toFixed(decimals)} ${BINARY_UNITS[unit]}`;
}

function formatDuration(ms) {
  if (ms < 1000) return `${Math.round(ms * 1000) / 1000} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86400)} d ${String(Math.floor(seconds / 3600) % 24).padStart(2, "0")} h`;
}

function formatValue(value, unit) {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "nanoseconds") return `${(value / 1e9).toFixed(1)} s`;
  return String(value);
}

function unitOf(name) {
  if (name.endsWith("_bytes")) return "bytes";
  return name.endsWith("_ns") ? "nanoseconds" : "count";
}

// Plotly reads a few tags in texts: what comes from a recording is shown as it is.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function shorten(text, most) {
  const characters = Array.from(String(text));
  if (characters.length <= most) return String(text);
  const tail = Math.floor(most / 3);
  return `${characters.slice(0, most - tail - 1).join("")}\u2026${characters.slice(characters.length - tail).join("")}`;
}

// Ticks at 1, 2 or 5 times a power of ten of one binary unit.
function linearTicks(low, high, unit, most = 6) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const exponent = unit === "bytes" ? Math.min(6, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10))) : 0;
  const factor = unit === "bytes" ? 1024 ** exponent : unit === "nanoseconds" ? 1e9 : 1;
  const suffix = unit === "bytes" ? ` ${BINARY_UNITS[exponent]}` : unit === "nanoseconds" ? " s" : "";
  const rough = Math.max((high - low) / factor / most, 1e-12);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].find((multiple) => multiple * power >= rough * (1 - 1e-9)) * power;
  if (factor === 1) step = Math.max(step, 1);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = { tickvals: [], ticktext: [] };
  for (let index = Math.ceil(low / factor / step - 1e-9); index * step <= (high / factor) * (1 + 1e-9); index++) {
    ticks.tickvals.push(index * step * factor);
    ticks.ticktext.push(index === 0 ? "0" : (index * step).toFixed(decimals) + suffix);
  }
  return ticks;
}

// Ticks at powers of two (of ten for counts), for a logarithmic axis.
function logTicks(low, high, unit, most = 6) {
  const base = unit === "bytes" ? 2 : 10;
  const first = Math.ceil(Math.log(Math.max(low, 1)) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(Math.max(high, 1)) / Math.log(base) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / most));
  const ticks = { tickvals: [], ticktext: [] };
  for (let exponent = first; exponent <= last; exponent += step) {
    const value = base ** exponent;
    ticks.tickvals.push(value);
    ticks.ticktext.push(unit === "bytes" ? formatBytes(value).replace(/\.0+ /, " ") : formatValue(value, unit));
  }
  return ticks;
}

export { formatBytes, formatDuration, formatValue, linearTicks, logTicks, plain, shorten, unitOf };
