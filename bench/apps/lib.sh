# Shared functions of the applications' scripts: one file bench/apps/NAME.sh each, run by bench/apps/run. A script begins with
#     . "$(dirname "$0")/lib.sh"
#     need COMMAND...
# and has then: $TW, $APP (its name), $WORK (a directory of its own, the current one, removed at the end), $MODES, and what follows.
# It runs its application in every mode, says how that went (`result`) and ends with `finish`. Packages: tools/setup apps.
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/base.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../source.sh"
APP=$(basename "$0" .sh)
MODES=${MODES:-native none count verify} # what to run, native always first; verify is left out where it would take too long
PORT=${PORT:-$((20000 + $$ % 10000))}
declare -A RATE=()
FAILED=""
SAID=""

own_directory tw-app
WORK=$TMP
trap 'exit 130' INT TERM
chmod 755 "$WORK" # servers that give up root look in

# need COMMAND...: skips the application where a command is not installed
need() {
	local c
	for c; do
		command -v "$c" >/dev/null || {
			printf 'SKIP %-12s no %s here (tools/setup apps)\n' "$APP" "$c"
			exit 77
		}
	done
}

# prefix MODE: sets PREFIX to what stands before a command in that mode. What Trackway says goes to standard error, `kept` looks at it.
prefix() {
	case $1 in
	native) PREFIX=() ;;
	none) PREFIX=("$TW" record -q -f none --) ;;
	count) PREFIX=("$TW" record -q --sink=count -o "$WORK/count.tw" --) ;;
	verify) PREFIX=("$TW" record --verify -o "$WORK/verify.tw" --) ;;
	*) fail "no mode $1" ;;
	esac
	rm -rf "$WORK/count.tw" "$WORK/verify.tw" "$WORK"/*.tw.old
}

# result MODE bad WHY: the application did not do what it was to do. result MODE ok [RATE]: it did, at this rate; shown as a percentage of the native one.
# result MODE cost SECONDS: it did, in so much processor time; shown as times the native one.
result() {
	local mode=$1
	if [ "$2" = bad ]; then
		FAILED=1
		SAID+="  $mode: ${*:3}"
		return
	fi
	RATE[$mode]=${3:-}
	[ "$mode" = native ] && return
	SAID+="  $mode $(awk -v a="${RATE[$mode]}" -v b="${RATE[native]:-}" -v how="$2" 'BEGIN {
		if (a <= 0 || b <= 0) printf "ok"
		else if (how == "cost") printf "%.2fx", a / b
		else printf "%.0f %%", 100 * a / b }')"
}

finish() {
	if [ -n "$FAILED" ]; then
		printf 'FAIL %-12s%s\n' "$APP" "$SAID"
		exit 1
	fi
	printf 'PASS %-12s%s\n' "$APP" "$SAID"
	exit 0
}

# complains FILE: Trackway says that something went wrong
complains() { grep -qE '^trackway[^:]*: .*(incomplete|lost|cannot)' "$1"; }

# batch [-v] CMD...: a command that reads no input and always prints the same, in every mode (verify only with -v): its output and status must be those
# of the native run. What is compared is user + system time, recorder included, the median of RUNS (3; 1 with verify). RESET, if it is a function, is
# called before each run.
batch() {
	local mode i status verify=0 runs TIMEFORMAT='%U %S'
	[ "$1" = -v ] && verify=1 && shift
	for mode in $MODES; do
		[ "$mode" = verify ] && [ $verify = 0 ] && continue
		runs=${RUNS:-3}
		[ "$mode" = verify ] && runs=1
		: >times
		for i in $(seq "$runs"); do
			prefix "$mode"
			declare -F RESET >/dev/null && RESET
			{ time timeout -k 5 "${LIMIT:-120}" "${PREFIX[@]}" "$@" >"out.$mode" 2>"err.$mode" </dev/null; } 2>took
			status=$?
			awk 'END { print $1 + $2 }' took >>times
			[ "$mode" = native ] && native_status=$status
			if [ $status -ne "$native_status" ] || [ $status -eq 124 ]; then
				result "$mode" bad "status $status: $(grep -v '^$' "err.$mode" | tail -n 1 | cut -c 1-120)"
				continue 2
			fi
			cmp -s out.native "out.$mode" || {
				result "$mode" bad "output differs: $(diff -a out.native "out.$mode" | head -n 2 | tail -n 1 | cut -c 1-100)"
				continue 2
			}
			if complains "err.$mode" || { [ "$mode" = verify ] && ! clean_verify "err.$mode"; }; then
				result "$mode" bad "$(grep -E '^(trackway|verify)' "err.$mode" | head -n 1 | cut -c 1-150)"
				continue 2
			fi
		done
		result "$mode" cost "$(sort -n times | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] + 0.001 }')"
	done
}

# wait_for SECONDS CMD...: until it succeeds
wait_for() {
	local end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# stop PID SECONDS [SIGNAL]: ends a server of ours and gives its status; 124 when it had to be killed
stop() {
	local pid=$1 end=$(($(date +%s) + $2))
	kill "-${3:-TERM}" "$pid" 2>/dev/null
	while kill -0 "$pid" 2>/dev/null && [ "$(date +%s)" -lt "$end" ]; do sleep 0.1; done
	if kill -0 "$pid" 2>/dev/null; then
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null
		return 124
	fi
	wait "$pid"
}
