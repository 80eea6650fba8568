# GNU awk, with its extensions, which are shared libraries: its tests. (Debian's source is without the manuals, which `make` alone would make.)
. "$(dirname "$0")/lib.sh"
PACKAGE=gawk
build() { ./configure --disable-mpfr && make -j2 SUBDIRS='support .' && make -C extension SUBDIRS=.; }
own_tests() {
	make -C test check >check.log 2>&1
	grep -aE '^(_[a-z]|.*: error|.* tests? failed|ALL TESTS|[A-Za-z0-9_]+: *$)' check.log
	for f in test/_*; do [ -s "$f" ] && echo "differs: $f"; done
	tail -n 3 check.log | grep -a passed
}
WORK=(./gawk '{ for (i = 1; i <= NF; i++) n[$i]++; if ($0 ~ /[aeiou]+r/) r++ } END { for (w in n) k += n[w] * length(w); print r, k }' "$DATA")
compare "$@"
