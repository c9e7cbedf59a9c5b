#!/usr/bin/env bash
# Checks the program on this machine's GPU, keeps the logs, goes on after a failure, and ends with a list of what held and what did not.
# GPU support is untested: no part of it has run on a GPU yet.
#   scripts/check_gpu.sh [options]                  every part below, in order
#   scripts/check_gpu.sh [options] PART [CONFIG…]   one part alone, in less than ten minutes (but for a first build):
#     build     everything, against a CUDA build of LibTorch: the one found here, else the wheel (4.6 GB are fetched)
#     tests     every [cuda] test
#     train     trains each CONFIG (default: default gpu nanogpt-gpu), repeats and resumes it to the same bits; samples, evaluates and goes on on the CPU
#     losses    the first steps' losses of each CONFIG beside the CPU's
#     refused   a GPU that is not there, and a batch too large for its memory: one line, the right exit status, nothing written
#     speed     milliseconds of a step of each CONFIG beside PyTorch's, eager and compiled (scripts/measure/bench_pytorch.py)
#     seeds     the whole-split losses of five seeds of each CONFIG (default: gpu; it takes as long as five runs)
#   --max_iters N     train: so many steps in place of the config's own number
#   --device cuda:N   another GPU; cpu: a rehearsal of this script with tiny models, on the program that is built already
#   --build FOLDER    the build to check (default: build, or build-cuda where build/ has no CUDA); --logs FOLDER (default: runs/check-gpu-<time>)
# Exit status: 0 everything held, 1 something did not, 2 usage, 69 no GPU.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

device=cuda
folder=
logs=runs/check-gpu-$(date +%Y%m%d-%H%M%S)
max_iters=
words=()
while [ $# -gt 0 ]; do
  case $1 in
    --device | --build | --logs | --max_iters) [ $# -gt 1 ] || { say "$1 needs a value"; exit 2; } ;;&
    --device) device=$2; shift ;;
    --build) folder=$2; shift ;;
    --logs) logs=$2; shift ;;
    --max_iters) max_iters=$2; shift ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \?//p}' scripts/check_gpu.sh; exit 0 ;;
    -*) say "unknown option $1; scripts/check_gpu.sh --help"; exit 2 ;;
    *) words+=("$1") ;;
  esac
  shift
done
parts=(build tests train losses refused speed seeds)
configs=(default gpu nanogpt-gpu)
[ ${#words[@]} -eq 0 ] || parts=("${words[0]}")
[ ${#words[@]} -le 1 ] || configs=("${words[@]:1}")
case ${parts[0]} in build | tests | train | losses | refused | speed | seeds) ;; *) say "${parts[0]} is none of build, tests, train, losses, refused, speed, seeds"; exit 2 ;; esac

rehearsal=
engine=()
shape=()           # of a model small enough for a rehearsal
text=data/tinyshakespeare.txt
if [ "$device" = cpu ]; then
  rehearsal=yes
  shape=(--n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4)
  engine=(--engine libtorch)  # the one that a GPU has
  text=data/sample.txt
  max_iters=${max_iters:-6}
elif ! compgen -G '/dev/nvidia[0-9]*' >/dev/null && ! [ -e /dev/dxg ]; then
  say "no GPU here (no /dev/nvidia0): nothing was checked; scripts/check_gpu.sh --device cpu rehearses"
  exit 69
fi
mkdir -p "$logs"
results=()
failures=0

# note VERDICT SECONDS NAME DETAIL: one line of the list.
note() {
  results+=("$(printf '%-8s %6.1f s  %s' "$1" "$2" "$3")${4:+: $4}")
  say "${results[-1]}"
  [ "$1" = held ] || [ "$1" = "left out" ] || failures=$((failures + 1))
}

# check NAME command…: the command's output goes to a log; its last line on standard output, if it begins with "= ", is what the list tells.
check() {
  local name=$1 begin=$EPOCHREALTIME log status=0 seconds detail
  shift
  log=$logs/${name//[ \/]/-}.log
  echo "\$ $*" >"$log"
  timeout --kill-after=20 "${limit:-540}" "$@" >>"$log" 2>&1 9>&- || status=$?
  seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}')
  detail=$(sed -n 's/^= //p' "$log" | tail -n 1)
  if [ $status -eq 0 ]; then
    note held "$seconds" "$name" "$detail"
  else
    [ $status -ne 124 ] || detail="still running after ${limit:-540} s"
    note FAILED "$seconds" "$name" "${detail:-$(grep -v '^ *$' "$log" | tail -n 1 | cut -c 1-200)} (exit $status, $log)"
    return 1
  fi
}

# is_cuda FOLDER: a build of this program against a CUDA LibTorch.
is_cuda() { [ -e "$1/CMakeCache.txt" ] && is_cuda_build "$(sed -n 's/^LibTorch_ROOT:PATH=//p' "$1/CMakeCache.txt")"; }

choose_build() {
  if [ -z "$folder" ]; then
    folder=build
    [ -n "$rehearsal" ] || is_cuda build || ! is_cuda build-cuda || folder=build-cuda
  fi
  chargpt=$folder/chargpt
  [ -x "$chargpt" ] || { note FAILED 0 "$1" "there is no $chargpt; scripts/check_gpu.sh build makes it"; return 1; }
}

# ---- parts; each goes on after what fails

part_build() {
  if [ -n "$rehearsal" ]; then
    note "left out" 0 build "a rehearsal takes the program that is there"
    return
  fi
  limit=7200 check build bash scripts/check/cuda_build.sh --build || true
}

part_tests() {
  choose_build tests || return 0
  if [ -n "$rehearsal" ]; then
    note "left out" 0 tests "[cuda] cases need a GPU"
    return
  fi
  local program
  for program in training torch; do  # those that have [cuda] cases
    check "tests of $program" python3 scripts/check/gpu.py tests "$folder/tests/test_$program" || true
  done
}

part_train() {
  choose_build train || return 0
  local config
  for config in "${configs[@]}"; do train_one "$config"; done
}

train_one() {
  local config=$1 run=$logs/$1 lengths=()
  [ -z "$max_iters" ] || lengths=(--max_iters "$max_iters" --eval_interval $(((max_iters + 1) / 2)) --warmup_iters 1)
  local options=(--text "$text" "${shape[@]}" --device "$device" "${engine[@]}")
  local few=("${options[@]}" --max_iters 20 --eval_interval 10 --warmup_iters 2 --eval_iters 1 --sample_tokens 0 --quiet)
  rm -rf "$run" "$run"-*
  check "train $config" python3 scripts/check/gpu.py train "$chargpt" "$config" "$run" "$device" "${options[@]}" "${lengths[@]}" --keep 2 || return 0
  check "repeat $config" python3 scripts/check/gpu.py repeat "$chargpt" "$config" "$run" "${few[@]}" || true
  check "resume $config" python3 scripts/check/gpu.py resume "$chargpt" "$run" "$device" "${engine[@]}" || true
  check "sample $config" python3 scripts/check/gpu.py sample "$chargpt" "$run" || true
  check "evaluate $config" python3 scripts/check/gpu.py evaluate "$chargpt" "$run" || true
  check "go on on the cpu $config" python3 scripts/check/gpu.py go_on "$chargpt" "$run" || true
}

part_losses() {
  choose_build losses || return 0
  local config
  for config in "${configs[@]}"; do
    check "losses $config" python3 scripts/check/gpu.py losses "$chargpt" "$config" "$logs/$config" "$device" --text "$text" "${shape[@]}" || true
  done
}

part_speed() {
  choose_build speed || return 0
  local config dtype way site sets=() option
  site=$(dirname "$(sed -n 's/^LibTorch_ROOT:PATH=//p' "$folder/CMakeCache.txt" 2>/dev/null)")
  for ((option = 0; option < ${#shape[@]}; option += 2)); do sets+=("--set" "${shape[option]#--}=${shape[option + 1]}"); done
  local steps=(--pairs 2 --steps 100) ways=("" --compile) types=(float32 bfloat16)
  if [ -n "$rehearsal" ]; then
    steps=(--pairs 1 --steps 2 --warmup 1)
    ways=("")
    types=(float32)
  elif ! env PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}" python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1; then
    note "not run" 0 speed "python3 has no torch that sees the GPU"
    return
  fi
  for config in "${configs[@]}"; do
    for dtype in "${types[@]}"; do
      for way in "${ways[@]}"; do
        check "speed $config $dtype ${way:+compiled}${way:-eager}" env PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}" python3 scripts/check/gpu.py speed \
          "$config" --against "$chargpt" --device "$device" --dtype "$dtype" --text "$text" "${steps[@]}" "${sets[@]}" $way || true
      done
    done
  done
}

part_refused() {
  choose_build refused || return 0
  [ -n "$rehearsal" ] || check "no such gpu" python3 scripts/check/gpu.py refused "$chargpt" "$logs/refused" 69 --device cuda:99 --text "$text" || true
  check "memory too small" python3 scripts/check/gpu.py refused "$chargpt" "$logs/refused" 81 --device "$device" --text "$text" --engine libtorch \
    --n_layer 48 --n_head 32 --n_embd 4096 --batch_size 4096 || true
}

part_seeds() {
  choose_build seeds || return 0
  local config lengths=()
  [ ${#words[@]} -gt 1 ] || configs=(gpu)
  [ -z "$max_iters" ] || lengths=(--max_iters "$max_iters" --eval_interval "$max_iters" --warmup_iters 1)
  for config in "${configs[@]}"; do
    limit=3600 check "seeds $config" python3 scripts/check/gpu.py seeds "$chargpt" "$config" "$logs/$config-seeds" --text "$text" "${shape[@]}" \
      --device "$device" "${engine[@]}" "${lengths[@]}" || true
  done
}

for part in "${parts[@]}"; do "part_$part"; done
{
  printf '%s\n' "${results[@]}"
  if [ -n "$rehearsal" ]; then echo "a rehearsal on the CPU: nothing of this ran on a GPU"; fi
  [ -z "$rehearsal" ] && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true
  [ -x "${chargpt:-}" ] && "$chargpt" --version 2>/dev/null || true
  echo "$failures of ${#results[@]} did not hold; logs in $logs"
} | tee "$logs/list.txt"
[ "$failures" -eq 0 ]
