# The programs of bench/budget, to be sourced with $root set: $TW, a directory of its own to be in, $PROGRAMS, and command_of NAME, which sets `command`.
TW=$(realpath -m "${BUILD:-$root/build}")/trackway
[ -x "$TW" ] || { echo "$0: $TW is not built" >&2; exit 1; }
directory=$(mktemp -d /tmp/tw-bench.XXXXXX)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
PROGRAMS="gzip xz bzip2 perl python3 awk sort cc1 sqlite3 openssl"
PAPER="povray xslt speech md lbm mcf" # what Debian, and bench/budget/codes, have of the paper's programs: a ray tracer, XSLT, a recogniser, molecular dynamics, lattice Boltzmann, minimum-cost flow
SCALE=${SCALE:-1} # how often each does its work
while cat /usr/bin/perl /usr/lib/x86_64-linux-gnu/libc.so.6 /usr/share/common-licenses/*; do :; done 2>/dev/null | head -c $((SCALE * 1000000)) >data
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
compiled() { # compiled NAME ARGUMENT: a program of bench/budget/codes
	[ -x "./$1" ] || ${CC:-cc} -O2 -o "$1" "$root/bench/budget/codes/$1.c" -lm || exit 1
	command=("./$1" "$2")
}
make_scene() {
	printf 'camera { location <0, 2, -6> look_at <0, 1, 0> } light_source { <4, 8, -6> rgb 1 } plane { y, 0 pigment { checker rgb 1 rgb .2 } finish { reflection .2 } }\n'
	printf 'difference { sphere { <0, 1, 0>, 1 } box { <-.5, 0, -2>, <.5, 2, .2> } texture { pigment { marble turbulence .6 } finish { phong .8 } } }\n'
	printf 'isosurface { function { sqrt(x*x + z*z) - .4 - .1 * sin(9 * y) } contained_by { box { <-1, 0, -1>, <1, 2, 1> } } translate x * 2 texture { pigment { rgbt <.6, .8, 1, .5> } } interior { ior 1.4 } }\n'
}
make_sheet() {
	printf '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="html"/><xsl:key name="by" match="item" use="@group"/>'
	printf '<xsl:template match="/"><table><xsl:for-each select="//item[generate-id() = generate-id(key(\047by\047, @group)[1])]"><xsl:sort select="@group"/><tr><td><xsl:value-of select="@group"/></td><td><xsl:value-of select="sum(key(\047by\047, @group)/@n)"/></td><td><xsl:apply-templates select="key(\047by\047, @group)[position() &lt; 4]"/></td></tr></xsl:for-each></table></xsl:template>'
	printf '<xsl:template match="item"><xsl:choose><xsl:when test="contains(., \0477\047)"><b><xsl:value-of select="translate(., \047abc\047, \047ABC\047)"/></b></xsl:when><xsl:otherwise><xsl:value-of select="substring-after(., \047 \047)"/></xsl:otherwise></xsl:choose></xsl:template></xsl:stylesheet>\n'
}
command_of() {
	case $1 in
	povray) make_scene >scene.pov && command=(povray +Iscene.pov -O/dev/null "+W$((SCALE * 300))" +H600 -D +WT1) ;;
	xslt)
		make_sheet >sheet.xsl
		awk -v n="$((SCALE * 9000))" 'BEGIN { print "<list>"; for (i = 0; i < n; i++) printf "<item group=\"g%d\" n=\"%d\">a%d cab</item>\n", i * 7919 % 97, i % 13, i; print "</list>" }' >list.xml
		command=(xsltproc sheet.xsl list.xml)
		;;
	speech) compiled speech $((SCALE * 30000)) ;;
	md) compiled md $((SCALE * 30)) ;;
	lbm) compiled lbm $((SCALE * 300)) ;;
	mcf) compiled mcf $((SCALE * 10000)) ;;
	gzip) command=(gzip -9 -c data) ;;
	pigz) command=(pigz -p2 -c data) ;; # as many threads as there are processors
	xz) command=(xz -1 -T1 -c data) ;;
	bzip2) command=(bzip2 -c data) ;;
	perl) command=(perl -e 'my %h; for (1 .. 100000 * $ARGV[0]) { $h{$_ % 1000} += $_ * $_ % 7; push @a, sprintf "%d", $_ if $_ % 50 == 0 } print join(",", sort { $a <=> $b } @a), "\n"' "$SCALE") ;;
	python3) command=(/usr/bin/python3 -S -c 'import sys
d = {}
for i in range(60000 * int(sys.argv[1])): d[i % 1000] = d.get(i % 1000, 0) + i * i % 7
print(sorted(d.items(), key=str)[:5])' "$SCALE") ;;
	awk) command=(awk -v "n=$((SCALE * 150000))" 'BEGIN { for (i = 0; i < n; i++) { a[i % 1000] += i; if (i % 100 == 0) s = s substr("abcdef", i % 6, 2) } print length(s) }') ;;
	sort) seq $((SCALE * 60000)) | sort -R --random-source=data >lines 2>/dev/null; command=(sort -n lines) ;;
	cc1) command=("$(gcc -print-prog-name=cc1)" -quiet -O2 unit.c -o unit.s) ;;
	sqlite3) command=(sqlite3 :memory: "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < $((SCALE * 20000))) insert into t select i, i * 7 % 1000 from n; select b, count(*), sum(a) from t group by b order by 3 limit 5") ;;
	openssl) command=(openssl dgst -sha256 data) ;;
	*) echo "$0: no program $1" >&2; exit 2 ;;
	esac
	command -v "${command[0]}" >/dev/null || { echo "$0: there is no ${command[0]}" >&2; exit 1; }
}
