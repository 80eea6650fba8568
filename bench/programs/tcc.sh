# tcc: it compiles itself, what it made compiles itself again, and both are the same; then its tests of the language.
. "$(dirname "$0")/lib.sh"
# Its archive has no directory of its own.
sources() { debian_source tcc stripped && rm -rf stripped && tar -xf "$(find "${SOURCES:-${XDG_CACHE_HOME:-$HOME/.cache}/trackway}" -name 'tcc_*.orig.tar.*z*' ! -name '*.asc' | head -n 1)"; }
build() { ./configure --cc="$CC" && make; }
own_tests() {
	./tcc -B. -I. -Iinclude -DONE_SOURCE=1 -DTCC_GITHASH='""' -c tcc.c -o two.o && cksum <two.o
	make -C tests/tests2 -k 2>&1 | sed 's/[0-9.]* *ms//g' | grep -a '^Test:\|^[-+]'
}
WORK=(./tcc -B. -I. -Iinclude -DONE_SOURCE=1 -c tcc.c -o two.o)
compare "$@"
