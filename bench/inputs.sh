# Programs to measure and their inputs, the same on every machine with the same packages; bench/run and bench/evaluation/run read this. They set $work, a directory, before.
# Sizes: large (a native run takes half a second or more), quick (some hundredths), small.

make_data() { # make_data FILE BYTES
	local f
	: >"$1"
	while [ "$(stat -c %s "$1")" -lt "$2" ]; do
		for f in /usr/share/common-licenses/GPL-3 /usr/bin/perl /usr/share/perl/5.*/perl5db.pl /usr/lib/x86_64-linux-gnu/libc.so.6 /usr/bin/git; do
			[ -f "$f" ] && cat "$f" >>"$1"
		done
	done
	truncate -s "$2" "$1"
}

make_scripts() {
	local n size x group
	cat >"$work/script.pl" <<'END'
my ($n, $x, %h, @l) = ($ARGV[0], 42);
for (1 .. $n) {
	$x = ($x * 1103515245 + 12345) % 2147483648;
	push @l, $x;
	$h{sprintf "%x", $x % 5000} .= chr(97 + $x % 26);
}
my $m = 0;
for (values %h) { $m++ while /[aeiou][^aeiou]{2}/g }
@l = sort { $a <=> $b } @l;
print "$m $l[0] $l[-1]\n";
END
	cat >"$work/script.py" <<'END'
import sys, json, re
n, x, words = int(sys.argv[1]), 1, {}
class Node:
    def __init__(self, v): self.v, self.kids = v, {}
root = Node(0)
for i in range(n):
    x = (x * 1103515245 + 12345) & 0x7fffffff
    w = '%x' % (x >> 12)
    words[w] = words.get(w, 0) + 1
    node = root
    for c in w:
        node = node.kids.setdefault(c, Node(node.v + 1))
text = json.dumps(words, sort_keys=True)
print(len(text), len(re.findall(r'"[0-9a-f]*a[0-9]*"', text)), sorted(words)[0])
END
	cat >"$work/script.lua" <<'END'
local n, x, t, s = tonumber(arg[1]), 1, {}, {}
for i = 1, n do
	x = (x * 1103515245 + 12345) & 0x7fffffff
	t[i] = x
	s[#s + 1] = string.char(97 + x % 26)
end
table.sort(t)
print(t[1], t[#t], #table.concat(s):gsub("[aeiou]+", "-"))
local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end
print(fib(n > 10000 and 27 or 10))
END
	cat >"$work/query.sql" <<'END'
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT, v REAL);
WITH RECURSIVE c(i, x) AS (SELECT 1, 1 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) & 2147483647 FROM c WHERE i < :n)
	INSERT INTO t SELECT i, x % 100, 'name' || (x % 977), x / 7.0 FROM c;
CREATE INDEX k ON t(k, name);
SELECT k, count(*), round(avg(v), 3), min(name) FROM t GROUP BY k ORDER BY 2 DESC, 1 LIMIT 5;
SELECT count(*) FROM t a JOIN t b ON a.k = b.k AND a.name < b.name WHERE a.id < 50;
UPDATE t SET v = v * 2 WHERE k BETWEEN 10 AND 20;
DELETE FROM t WHERE name LIKE '%7%';
SELECT count(*), total(length(name)) FROM t;
END
	sed 's/:n/200000/' "$work/query.sql" >"$work/large.sql"
	sed 's/:n/15000/' "$work/query.sql" >"$work/quick.sql"
	sed 's/:n/300/' "$work/query.sql" >"$work/small.sql"
	cat >"$work/style.xsl" <<'END'
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>
<xsl:key name="kind" match="item" use="@kind"/>
<xsl:template match="/list"><xsl:for-each select="item[generate-id() = generate-id(key('kind', @kind)[1])]"><xsl:sort select="@kind" data-type="number"/>
<xsl:value-of select="@kind"/>: <xsl:value-of select="count(key('kind', @kind))"/>, <xsl:value-of select="sum(key('kind', @kind)/@size)"/><xsl:text>
</xsl:text><xsl:for-each select="key('kind', @kind)"><xsl:sort select="name"/><xsl:if test="contains(name, '77')"><xsl:value-of select="translate(name, 'aeiou', 'AEIOU')"/>
<xsl:text> </xsl:text></xsl:if></xsl:for-each></xsl:for-each></xsl:template></xsl:stylesheet>
END
	for n in large:12000 quick:2000 small:200; do
		awk -v n="${n#*:}" 'BEGIN { print "<list>"; for (x = i = 1; i <= n; i++) { x = (x * 16807) % 2147483647
			printf "<item kind=\"%d\" size=\"%d\"><name>some name %d</name></item>\n", x % 50, x % 1000, x } print "</list>" }' >"$work/${n%:*}.xml"
	done
	for n in large:4000000:9 quick:20000:7 small:500:5; do # of a number and a group
		IFS=: read -r size x group <<<"$n"
		printf 'G := SymmetricGroup(%d);; Print(Size(DerivedSubgroup(G)), " ", Length(ConjugacyClasses(G)), "\\n");;\nPrint(Sum([1 .. %d], Phi), "\\n");;\nQUIT;\n' \
			"$group" "$x" >"$work/$size.g"
	done
	for n in large:150 quick:6 small:1; do
		for _ in $(seq "${n#*:}"); do printf '%s\n' 'The quick brown fox jumps over the lazy dog.' 'What the program did last was not what we had hoped for when we wrote it.'; done >"$work/${n%:*}.sentences"
	done
	cat >"$work/scene.pov" <<'END'
camera { location <0, 2, -5> look_at <0, 1, 2> }
light_source { <2, 4, -3> color rgb 1 }
plane { y, 0 pigment { checker color rgb 1, color rgb 0.3 } finish { reflection 0.2 } }
#declare i = 0; #while (i < 9) sphere { <mod(i, 3) - 1, 0.5 + div(i, 3) * 0.6, 1>, 0.4 texture { pigment { color rgb <i / 9, 0.5, 1 - i / 9> } finish { phong 0.9 reflection 0.3 } } }
#declare i = i + 1; #end
END
	cat >"$work/script.js" <<'END'
const n = Number(process.argv[2]);
let x = 42, words = new Map();
for (let i = 0; i < n; i++) {
	x = (x * 1103515245 + 12345) % 2147483648;
	const w = (x % 5000).toString(36);
	words.set(w, (words.get(w) || 0) + 1);
}
console.log(words.size, [...words.keys()].sort()[0]);
END
	cat >"$work/Words.java" <<'END'
import java.util.*;
public class Words {
	public static void main(String[] args) {
		long n = Long.parseLong(args[0]), x = 42;
		Map<String, Integer> words = new HashMap<>();
		for (long i = 0; i < n; i++) {
			x = (x * 1103515245L + 12345) % 2147483648L;
			words.merge(Long.toString(x % 5000, 36), 1, Integer::sum);
		}
		System.out.println(words.size() + " " + new TreeSet<>(words.keySet()).first());
	}
}
END
	echo '#include <xxhash.h>' >"$work/file.c"
	gcc -E -DXXH_STATIC_LINKING_ONLY -DXXH_IMPLEMENTATION "$work/file.c" -o "$work/marked.i"
	grep -v '^#' "$work/marked.i" >"$work/large.i"
	for n in 2 3 4; do # the same again under other names
		awk '/^# [0-9]+ "/ { here = $3 ~ /xxhash\.h"/ } here && !/^#/' "$work/marked.i" | sed "s/XXH/XXH${n}_/g" >>"$work/large.i"
	done
	echo 'unsigned f(unsigned *p, int n) { unsigned s = 0; for (int i = 0; i < n; i++) s = s * 31 + p[i]; return s; }' >"$work/small.i"
	gcc -E -DXXH_NO_XXH3 -DXXH_STATIC_LINKING_ONLY -DXXH_IMPLEMENTATION "$work/file.c" | grep -v '^#' >"$work/quick.i"
	CC1=$(gcc -print-prog-name=cc1)
}

of() { case $1 in large) echo "$2" ;; quick) echo "$3" ;; *) echo "$4" ;; esac; } # of SIZE LARGE QUICK SMALL

# command_of PROGRAM large|quick|small: sets COMMAND and INPUT
command_of() {
	local n=$2
	INPUT=/dev/null
	case $1 in
	gzip) COMMAND=(gzip -9 -c "$work/$n.data") ;;
	bzip2) COMMAND=(bzip2 -9 -c "$work/$n.data") ;;
	xz-T2) COMMAND=(xz -6 -T2 --block-size="$(of $n 700000 100000 20000)" -c "$work/$n.data") ;;
	pigz) COMMAND=(pigz -9 -p 2 -c "$work/$n.data") ;;
	stockfish) COMMAND=(stockfish bench 16 1 "$(of $n 9 5 1)" default depth) ;;
	xsltproc) COMMAND=(xsltproc "$work/style.xsl" "$work/$n.xml") ;;
	xz) COMMAND=(xz -6 -T1 -c "$work/$n.data") ;;
	zstd) COMMAND=(zstd -19 --single-thread -q -c "$work/$n.data") ;;
	sha256sum) COMMAND=(sha256sum "$work/$n.huge") ;;
	cc1) COMMAND=("$CC1" -quiet -O2 -fpreprocessed "$work/$n.i" -o -) ;;
	perl) COMMAND=(perl "$work/script.pl" "$(of $n 900000 60000 2000)") ;;
	python3) COMMAND=(/usr/bin/python3 -S "$work/script.py" "$(of $n 100000 8000 500)") ;;
	lua) COMMAND=(lua5.4 "$work/script.lua" "$(of $n 700000 60000 1000)") ;;
	mawk) COMMAND=(mawk '{ for (i = 1; i <= NF; i++) n[$i]++; if ($0 ~ /[aeiou]+r/) r++ } END { for (w in n) k += n[w] * length(w); print r, k }' "$work/$n.text") ;;
	gap) COMMAND=(gap -q -b -A "$work/$n.g") ;;
	povray) COMMAND=(povray "+I$work/scene.pov" -D "+W$(of $n 1200 120 16)" "+H$(of $n 900 90 12)" +WT1 "+O$work/scene.png") ;;
	node) COMMAND=(node "$work/script.js" "$(of $n 3000000 100000 1000)") ;;
	java) COMMAND=(java -Xmx256m "$work/Words.java" "$(of $n 3000000 100000 1000)") ;;
	link-parser)
		COMMAND=(link-parser en -batch)
		INPUT=$work/$n.sentences
		;;
	sqlite3)
		COMMAND=(sqlite3 -batch :memory:)
		INPUT=$work/$n.sql
		;;
	*)
		echo "bench: no program $1" >&2
		exit 1
		;;
	esac
}

make_inputs() { # make_inputs SIZE...
	local n
	for n; do
		make_data "$work/$n.data" "$(of $n 3000000 150000 30000)"
		make_data "$work/$n.huge" "$(of $n 150000000 10000000 300000)"
		tr -c 'a-zA-Z\n' ' ' <"$work/$n.data" >"$work/$n.text"
	done
	[ ! -f "$work/large.text" ] || for _ in 2 3 4; do tr -c 'a-zA-Z\n' ' ' <"$work/large.data" >>"$work/large.text"; done
	make_scripts
}
