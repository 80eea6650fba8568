# A mawk script: word counts, regular expressions, arithmetic.
. "$(dirname "$0")/../lib.sh"
need_command mawk
make_data data "$(full 20000000 300000)"
tr -c 'a-zA-Z\n' ' ' <data >text
whole mawk '{ for (i = 1; i <= NF; i++) n[$i]++; if ($0 ~ /[aeiou]+r/) r++; s += length($0) % 7 * 1.5 }
	END { for (w in n) k += n[w] * length(w); print r, s, k, sin(s) }' text
