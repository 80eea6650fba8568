# zstd: its fuzzer and its test of streams for a fixed seed, and files at several levels, with threads.
. "$(dirname "$0")/lib.sh"
PACKAGE=libzstd
build() { make -C programs -j2 zstd && make -C tests -j2 fuzzer zstreamtest; }
own_tests() {
	local n
	tests/fuzzer -s1 -i60 >/dev/null 2>&1
	echo "fuzzer $?"
	tests/zstreamtest -s1 -i40 >/dev/null 2>&1
	echo "zstreamtest $?"
	for n in 1 3 9 19; do cat lib/*/*.c | programs/zstd -$n | tee x.zst | programs/zstd -d | cksum; cksum <x.zst; done
	cat lib/*/*.c lib/*/*.c lib/*/*.c | programs/zstd -T2 -B100000 -6 | programs/zstd -dt && echo threads
	programs/zstd -b1e3 -i0 lib/compress/zstd_compress.c >/dev/null 2>&1 && echo benchmark
}
WORK=(programs/zstd -q -15 --single-thread -c "$DATA")
compare "$@"
