#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything from a fresh Debian 12 machine on; without an argument it says what it can do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build_packages=(build-essential cmake ninja-build pkg-config clang bpftool libbpf-dev libelf-dev zlib1g-dev libcli11-dev
  libsqlite3-dev libcpp-httplib-dev libssl-dev libcairo2-dev libgtest-dev libgmock-dev nlohmann-json3-dev libfmt-dev)
test_packages=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev locales strace git chromium openssh-server openssh-client)
bench_packages=(python3-psutil python3-matplotlib sysstat)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Installs those of the named packages that are missing; asks for no password where there are none.
install_packages() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing: ${missing[*]}" >&2
  as_root apt-get -o DPkg::Lock::Timeout=300 update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# npm takes the charting library when memlog is built. Debian's, unless there is one already.
install_build_packages() {
  command -v npm >/dev/null || build_packages+=(nodejs npm)
  install_packages "${build_packages[@]}"
}

configure_and_build() {
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1"
}

case "${1:-help}" in
  deps) install_build_packages ;;
  build)
    install_build_packages
    configure_and_build release
    echo "built: build/release/memlog" >&2
    ;;
  demo)
    install_build_packages
    configure_and_build release >&2
    tests/demo/run.sh build/release
    ;;
  test)
    install_build_packages
    install_packages "${test_packages[@]}"
    tests/run.sh
    ;;
  bench)
    install_build_packages
    install_packages "${bench_packages[@]}"
    configure_and_build release >&2
    tests/bench/run.sh build/release
    ;;
  *)
    cat <<'END'
./build.sh deps     installs the packages that a build needs and that are missing (Debian 12 or newer)
./build.sh build    the same, and builds build/release/memlog
./build.sh demo     the same, and records a demonstration workload
./build.sh test     installs what the tests need and passes all of them
./build.sh bench    measures memlog beside its rivals and prints the ratios
END
    ;;
esac
