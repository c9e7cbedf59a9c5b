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

# names_text: an option or a config file says which text. may_name_text: the file that a config extends may say it, or the run of --init_from;
# neither is read here.
names_text= may_name_text=
for argument in "$@"; do
  if [[ $argument =~ ^--text(=|$)|data\.text= ]]; then names_text=1; fi
  if [[ $argument =~ ^--init[-_]from(=|$) ]] || [ -f "$argument" ]; then may_name_text=1; fi
  if [ -f "$argument" ] && grep -q '"text"' "$argument"; then names_text=1; fi
done

build chargpt
text=()
if [ -z "$names_text" ] && ! get_text && [ -z "$may_name_text" ]; then
  say "training on data/sample.txt instead, a small text: expect less; your own: scripts/train.sh --text FILE"
  text=(--text=data/sample.txt)
fi
# what came before is no part of the training's seconds
exec build/chargpt train "$@" "${text[@]}"
