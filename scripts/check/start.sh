# Sourced by the scripts beside it: answers --help with the comment at the top of the script, then goes to the checkout and reads scripts/setup.sh.

[ "${1-}" != --help ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit; }
cd "$(dirname "$(readlink -f "$0")")/../.."
. scripts/setup.sh
