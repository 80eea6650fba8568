# bzip2: its samples, and a file of our own at all sizes of blocks.
. "$(dirname "$0")/lib.sh"
PACKAGE=bzip2
build() { make CC="$CC" CFLAGS="-Wall -Winline $CFLAGS -D_FILE_OFFSET_BITS=64" bzip2 bzip2recover; }
own_tests() {
	local n
	for n in 1 2 3; do ./bzip2 -$n <sample$n.ref >sample$n.rb2 && cmp sample$n.bz2 sample$n.rb2 && ./bzip2 -d <sample$n.bz2 | cmp - sample$n.ref && echo same $n; done
	for n in 1 5 9; do cat ./*.c manual.html | ./bzip2 -$n | tee x.bz2 | ./bzip2 -d | cksum; cksum x.bz2; done
	./bzip2 -tvv x.bz2 2>&1
	./bzip2recover x.bz2 2>&1 | tail -n 3
	head -c 1000 x.bz2 | ./bzip2 -d 2>&1
}
WORK=(./bzip2 -9 -c "$DATA")
compare "$@"
