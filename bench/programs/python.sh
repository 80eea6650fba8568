# CPython: 30 modules of its own tests.
. "$(dirname "$0")/lib.sh"
CC_OPTIONS=--large
PACKAGE=python3.11
MODULES=${MODULES:-test_grammar test_generators test_dict test_list test_set test_unicode test_bytes test_int test_float test_long test_math test_cmath test_re test_json test_struct test_array test_bisect test_heapq test_itertools test_functools test_collections test_exceptions test_signal test_threading test_gc test_ctypes test_decimal test_zlib test_sqlite3 test_pickle}
export MODULES
build() { ./configure && make -j2; }
own_tests() {
	# shellcheck disable=SC2086
	./python -E -m test -j1 --timeout 300 $MODULES >test.log 2>&1
	local status=$?
	sed -nE 's/^[0-9:]* (load avg: [0-9.]* )?\[ *([0-9]+\/[0-9]+)(\/[0-9]+)?\] ([a-z_0-9]+).*(passed|failed|skipped|crashed|timed out).*/\4 \5/p; /^(Result|All|[0-9]+ tests? )/p' test.log
	return $status
}
WORK=(./python -S -c "
words = {}
x = 1
for i in range(250000):
    x = (x * 1103515245 + 12345) & 0x7fffffff
    w = '%x' % (x >> 16)
    words[w] = words.get(w, 0) + len(w)
print(len(words), sum(words.values()), sorted(words)[0])")
compare "$@"
