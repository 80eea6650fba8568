# The programs of bench/budget, to be sourced with $root set: $TW, a directory of its own to be in, $PROGRAMS, and command_of NAME, which sets `command`.
TW=$(realpath -m "${BUILD:-$root/build}")/trackway
[ -x "$TW" ] || { echo "$0: $TW is not built" >&2; exit 1; }
directory=$(mktemp -d /tmp/tw-bench.XXXXXX)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
PROGRAMS="gzip xz bzip2 perl python3 awk sort cc1 sqlite3 openssl"
SCALE=${SCALE:-1} # how often each does its work
cat /usr/bin/perl /usr/lib/x86_64-linux-gnu/libc.so.6 /usr/share/common-licenses/* 2>/dev/null | head -c $((SCALE * 1000000)) >data
seq $((SCALE * 60000)) | sort -R --random-source=data >lines 2>/dev/null
cat >unit.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *left, *right; int key; };
static struct node *insert(struct node *n, int key)
{
	if (!n) {
		n = calloc(1, sizeof *n);
		n->key = key;
		return n;
	}
	if (key < n->key)
		n->left = insert(n->left, key);
	else
		n->right = insert(n->right, key);
	return n;
}
static int depth(const struct node *n) { int l, r; if (!n) return 0; l = depth(n->left); r = depth(n->right); return 1 + (l > r ? l : r); }
int main(int argc, char **argv)
{
	struct node *root = NULL;
	for (int i = 0; i < 1000; i++)
		root = insert(root, (i * 7919 + argc * (int)strlen(argv[0])) % 10007);
	printf("%d\n", depth(root));
	return 0;
}
END
command_of() {
	case $1 in
	gzip) command=(gzip -9 -c data) ;;
	xz) command=(xz -1 -T1 -c data) ;;
	bzip2) command=(bzip2 -c data) ;;
	perl) command=(perl -e 'my %h; for (1 .. 100000 * $ARGV[0]) { $h{$_ % 1000} += $_ * $_ % 7; push @a, sprintf "%d", $_ if $_ % 50 == 0 } print join(",", sort { $a <=> $b } @a), "\n"' "$SCALE") ;;
	python3) command=(/usr/bin/python3 -S -c 'import sys
d = {}
for i in range(60000 * int(sys.argv[1])): d[i % 1000] = d.get(i % 1000, 0) + i * i % 7
print(sorted(d.items(), key=str)[:5])' "$SCALE") ;;
	awk) command=(awk -v "n=$((SCALE * 150000))" 'BEGIN { for (i = 0; i < n; i++) { a[i % 1000] += i; if (i % 100 == 0) s = s substr("abcdef", i % 6, 2) } print length(s) }') ;;
	sort) command=(sort -n lines) ;;
	cc1) command=("$(gcc -print-prog-name=cc1)" -quiet -O2 unit.c -o unit.s) ;;
	sqlite3) command=(sqlite3 :memory: "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < $((SCALE * 20000))) insert into t select i, i * 7 % 1000 from n; select b, count(*), sum(a) from t group by b order by 3 limit 5") ;;
	openssl) command=(openssl dgst -sha256 data) ;;
	*) echo "$0: no program $1" >&2; exit 2 ;;
	esac
	command -v "${command[0]}" >/dev/null || { echo "$0: there is no ${command[0]}" >&2; exit 1; }
}
