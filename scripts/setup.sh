# Sourced by the scripts beside it: packages, LibTorch, configuring and building, each done only where it is not done yet.
# Knows nothing of training or tests. The working folder is the checkout.
# Environment: LIBTORCH (a LibTorch to use), CMAKE_BUILD_PARALLEL_LEVEL (compilers at once),
#   CHARGPT_TEXT (where tinyshakespeare is, a path or an address),
#   CHARGPT_LIBTORCH_BUILD=cuda (where LibTorch is fetched: the CUDA build, several GB, instead of the CPU one).

torch_version=2.13.0

say() { echo "$(basename "$0"): $*" >&2; }
fail() { say "error: $*"; exit 1; }

# True where a command, or a header in the usual places or under CMAKE_PREFIX_PATH, is there.
have() {
  case $1 in
    *.h | */*)
      local prefix own=${CMAKE_PREFIX_PATH:-}
      for prefix in /usr /usr/local ${own//[:;]/ }; do
        compgen -G "$prefix/include/$1" >/dev/null && return 0
      done
      return 1 ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# need PACKAGE PROBE…: installs the Debian or Ubuntu packages whose probe fails, all in one go.
need() {
  local missing=()
  while [ $# -gt 0 ]; do
    have "$2" || missing+=("$1")
    shift 2
  done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

# want PROBE PACKAGE…: installs the packages if the probe fails; what they bring can be done without.
want() {
  have "$1" || (install_packages "${@:2}") || say "going on without $2"
}

install_packages() {
  local by_hand="apt-get install $*"
  command -v apt-get >/dev/null || fail "no apt-get here; install what these Debian packages bring, then run this again: $*"
  local as_root=(env)
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; } ||
      fail "packages are missing and this user cannot install them; as root, then run this again: $by_hand"
    as_root=(sudo)
  fi
  say "installing $*"
  local apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >&2 || say "apt-get update failed; trying with the lists that are there"
  "${apt[@]}" install -y --no-install-recommends "$@" >&2 || fail "apt-get stopped (above); by hand, then run this again: $by_hand"
}

# unpack_packages ARCHITECTURE FOLDER PACKAGE…: Debian's or Ubuntu's packages, from where this machine gets its own, into FOLDER: whole or not
# at all. By lists of its own: this machine's architectures and packages stay as they are.
unpack_packages() {
  local architecture=$1 folder=$2 work=$2.incoming package link
  shift 2
  [ ! -e "$folder" ] || return 0
  command -v apt-get >/dev/null || fail "no apt-get here, which fetches libraries for $architecture"
  rm -rf "$work"
  mkdir -p "$work"/{lists,cache/archives,root,debs}/partial
  touch "$work/status"
  local apt=(apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" -o APT::Sandbox::User=root
    -o Acquire::Languages=none -o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache")
  say "fetching libraries for $architecture"
  "${apt[@]}" update >&2 || say "some package lists for $architecture could not be fetched"
  (cd "$work/debs" && "${apt[@]}" download "$@") >&2 || fail "the libraries for $architecture could not be fetched (above)"
  for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/root"; done
  [ ! -e "$work/root/lib" ] || cp -a "$work/root/lib/." "$work/root/usr/lib/"  # where links of the one lead into the other
  find "$work/root/usr/lib" -type l -lname '/*' | while read -r link; do ln -sf "$(basename "$(readlink "$link")")" "$link"; done
  mv "$work/root" "$folder"
  rm -rf "$work"
}

# What building takes.
need_build_packages() {
  need g++ g++ cmake cmake ninja-build ninja python3 python3 libcli11-dev CLI/CLI.hpp libspdlog-dev spdlog/spdlog.h \
    nlohmann-json3-dev nlohmann/json.hpp catch2 'catch2/catch*.hpp' zlib1g-dev zlib.h liblzma-dev lzma.h \
    libarchive-dev archive.h libbz2-dev bzlib.h
}

# Compilers at once: one per core, and 1.5 GB of memory for each.
build_jobs() {
  local bytes=(/sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes) jobs
  bytes=$({ awk '/^MemAvailable/ {printf "%.0f\n", $2 * 1024}' /proc/meminfo; cat "${bytes[@]}" 2>/dev/null || true; } | grep -x '[0-9]\{1,15\}' | sort -n | head -n 1)
  jobs=$({ echo $((bytes / 1500000000)); nproc; } | sort -n | head -n 1)
  echo "${CMAKE_BUILD_PARALLEL_LEVEL:-$((jobs > 0 ? jobs : 1))}"
}

# The folder of a LibTorch that is new enough, as scripts/cmake/LibTorchSearch.cmake chooses; empty where there is none.
find_libtorch() { cmake -P scripts/cmake/LibTorchSearch.cmake; }

# fetch_libtorch [FOLDER [VERSION]]: LibTorch into FOLDER (.libtorch), which appears by one rename: whole or not at all. The CPU build where it can be
# had, from where pip is set up to look, else from PyTorch's own index of CPU builds; else whatever build pip finds.
fetch_libtorch() {
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip ca-certificates
  local folder=${1:-.libtorch} version=${2:-$torch_version}
  say "fetching LibTorch $version into $folder"
  rm -rf "$folder.incoming"
  install_wheel "$folder.incoming" "$version" || fail "LibTorch could not be fetched (above); or set LIBTORCH to the folder of one, 2.11 or newer"
  [ -e "$folder.incoming/torch/lib/libtorch_cpu.so" ] || fail "the wheel of torch $version holds no libtorch_cpu.so; set LIBTORCH to the folder of a LibTorch"
  rm -rf "$folder"
  mv "$folder.incoming" "$folder"
}

install_wheel() {
  export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
  local pip=(python3 -m pip install --target "$1") cpu_index=https://download.pytorch.org/whl/cpu
  [ -t 2 ] || pip+=(--quiet)
  if [ "${CHARGPT_LIBTORCH_BUILD:-cpu}" = cpu ]; then
    "${pip[@]}" "torch==$2+cpu" >&2 2>/dev/null && return 0
    if python3 -c "import urllib.request; urllib.request.urlopen('$cpu_index/torch/', timeout=5)" 2>/dev/null; then
      "${pip[@]}" --index-url $cpu_index "torch==$2" >&2 && return 0
    fi
    say "no CPU build within reach: fetching the one that pip finds, which may be the CUDA build of several GB"
    "${pip[@]}" "torch==$2" >&2
    return
  fi
  "${pip[@]}" "torch===$2" >&2  # === does not take 2.13.0+cpu for 2.13.0, where pip is set up to look among CPU builds too
}

# True where the build files of FOLDER build what training by several processes takes.
knows_mpi() { grep -qF chargpt-mpi.so "$1/build.ninja"; }

# configure FOLDER LIBTORCH: makes build files in FOLDER, again only where the LibTorch is another one, the checkout was moved, or they lack
# MPI and `with_mpi` asks for it. An empty LIBTORCH: without.
configure() {
  if [ -e "$1/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$1/CMakeCache.txt"; then
    rm -rf "$1/CMakeCache.txt" "$1/CMakeFiles" "$1/build.ninja"
  fi
  [ -e "$1/build.ninja" ] && grep -qxF "LibTorch_ROOT:PATH=$2" "$1/CMakeCache.txt" &&
    { [ -z "${with_mpi:-}" ] || knows_mpi "$1"; } && return
  cmake -S "$(pwd -P)" -B "$1" -G Ninja -DLibTorch_ROOT:PATH="$2" -DCHARGPT_TORCH="$([ -n "$2" ] && echo ON || echo OFF)" >&2 ||
    fail "CMake stopped (above)"
}

# build [TARGET…]: all of the above where it is needed, then the targets of build/ (default: all, the test programs too).
build() {
  need_build_packages
  mkdir -p build
  exec 9>build/.lock  # two of these scripts at once: the second waits here, then finds the work done
  flock 9
  local libtorch=
  if [ -z "${without_libtorch:-}" ]; then
    libtorch=$(find_libtorch 2>build/.libtorch_search)
    if [ -z "$libtorch" ]; then
      cat build/.libtorch_search >&2
      fetch_libtorch
      libtorch=$(find_libtorch 2>build/.libtorch_search)
    fi
    say "$(tail -n 1 build/.libtorch_search)"
  fi
  configure build "$libtorch"
  ninja -C build -j "$(build_jobs)" "$@" >&2 || fail "the build stopped (above); if the compiler was killed, memory ran out: CMAKE_BUILD_PARALLEL_LEVEL=1"
  exec 9>&-
}

# get_text: data/tinyshakespeare.txt, fetched once and checked. Ends the script where CHARGPT_TEXT names another text or none.
get_text() {
  local status=0
  bash scripts/get_text.sh >&2 || status=$?
  [ -z "${CHARGPT_TEXT:-}" ] || [[ $status =~ ^(0|69)$ ]] || exit $status
  return $status
}
