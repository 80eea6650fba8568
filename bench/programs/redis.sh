# Redis: the unit part of its test suite, against an instrumented server with instrumented jemalloc and Lua.
. "$(dirname "$0")/lib.sh"
need tclsh
CC_OPTIONS=--large
PACKAGE=redis
UNITS=${UNITS:-unit/printver unit/auth unit/keyspace unit/scan unit/info unit/type/string unit/type/incr unit/type/list unit/type/list-2 unit/type/set unit/type/zset unit/type/hash unit/type/stream unit/expire unit/other unit/multi unit/quit unit/sort unit/scripting unit/bitops unit/bitfield unit/geo unit/hyperloglog unit/pubsub unit/slowlog unit/tracking unit/lazyfree unit/limits unit/dump unit/acl unit/latency-monitor}
export UNITS
build() { make -j2 CC="$CC" OPT="-O2" V=1; }
own_tests() {
	local unit units=()
	for unit in $UNITS; do units+=(--single "$unit"); done
	./runtest --clients 1 --tags -slow "${units[@]}" >runtest.log 2>&1
	local status=$?
	sed 's/\x1b\[[0-9;]*m//g' runtest.log | grep -aE '^\[(ok|err|exception|ignore)\]' | sed 's/ ([0-9]* ms)$//; s/[0-9][0-9]*/N/g'
	return $status
}
compare "$@"
