# sort of generated lines.
. "$(dirname "$0")/../lib.sh"
awk -v n="$(full 1000000 20000)" 'BEGIN { srand(7); for (i = 0; i < n; i++) print int(rand() * 1e9), "line", i }' >data
whole sort --parallel=1 data
whole sort --parallel=1 -n -k 3 -r data
