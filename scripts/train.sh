#!/usr/bin/env bash
# Builds the program, gets the text (tinyshakespeare) and trains the default preset; the end shows the validation loss beside its
# baselines, and a sample. Arguments go to `chargpt train`:
#   scripts/train.sh                          a minute of training on two cores
#   scripts/train.sh nanogpt-cpu              another preset, or a config file
#   scripts/train.sh --minutes 5              the preset that five minutes suffice for
#   scripts/train.sh --text mine.txt --seed 2 your own text, any option of `chargpt train`
# Paths are relative to the checkout, and that is where runs/ appears.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh

# Whether an argument, or a config file among them, says which text.
names_text() {
  local argument
  for argument in "$@"; do
    [[ $argument =~ ^--(text|init[-_]from)(=|$)|data\.text= ]] && return
    [ -f "$argument" ] && grep -q '"text"' "$argument" && return
  done
  return 1
}

build programs
text=()
if ! names_text "$@" && ! get_text; then
  say "training on data/sample.txt instead, a small text: expect less; your own: scripts/train.sh --text FILE"
  text=(--text=data/sample.txt)
fi
# what came before is no part of the training's seconds
CHARGPT_LAUNCHED=$EPOCHREALTIME exec build/chargpt train "$@" "${text[@]}"
