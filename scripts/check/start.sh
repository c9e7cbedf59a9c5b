# Sourced by the scripts beside it: answers --help with the comment at the top of the script, then goes to the checkout and reads scripts/setup.sh.

script=$(readlink -f "$0")
[ "${1-}" != --help ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"; exit; }
cd "$(dirname "$script")/../.."
. scripts/setup.sh
