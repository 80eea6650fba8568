# Shared functions of the tests. A test begins with
#     . "$(dirname "$0")/../lib.sh"
# and has then: $TW (the program under test), $TMP (a directory of its own, the current one, removed at the end) and what follows.
# Whatever fails ends the test: `fail WHY`.
. "$(dirname "${BASH_SOURCE[0]}")/base.sh"
CC=${CC:-cc}
own_directory tw
export XDG_CACHE_HOME=${TW_CACHE:-$TMP.cache} # translations that are kept (src/channel/keep.h)
[ -n "${TW_CACHE:-}" ] || CLEANUP+=('rm -rf "$TMP.cache"')

# untested WHAT: says that the rest of the test goes on without WHAT, which this machine does not have; `skip WHY` ends the test. tests/run tells both.
untested() { echo "not tested here: $*"; }
skip() {
	echo "$*"
	exit 77
}

# need_command NAME...: skips the test where a command is not installed (CI has them all: tools/setup test).
need_command() {
	local c
	for c; do command -v "$c" >/dev/null || skip "no $c here (tools/setup test installs it)"; done
}

# need_cpu FLAG...: skips the test on a machine without these CPU features (names of /proc/cpuinfo).
need_cpu() {
	local f
	for f; do grep -m1 '^flags' /proc/cpuinfo | grep -qw -- "$f" || skip "this CPU has no $f"; done
}

# need_fixed_addresses: skips the test where addresses cannot be made the same in every run (`setarch -R`; some containers forbid it). need_ptrace: where
# nothing can be traced.
fixed_addresses() { setarch -R true 2>/dev/null; }
need_fixed_addresses() {
	need_command setarch
	fixed_addresses || skip "addresses cannot be fixed here (setarch -R)"
}
need_ptrace() {
	cc_program may_trace <<-'END'
		#include <sys/ptrace.h>
		int main(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0) != 0; }
	END
	./may_trace || skip "programs cannot be traced here (ptrace)"
}

# asan: the program under test is built with the address sanitizer, which keeps what has been freed
asan() { ldd "$TW" | grep -q libasan; }

# full SIZE SMALL: prints SIZE under TW_FULL=1, else SMALL.
full() {
	if [ "${TW_FULL:-0}" = 1 ]; then echo "$1"; else echo "$2"; fi
}

# left_out WHAT ONE...: is it one of these, which are tried under TW_FULL=1 only?
left_out() {
	local what=$1 one
	shift
	[ "${TW_FULL:-0}" = 1 ] && return 1
	for one; do [ "$what" = "$one" ] && return 0; done
	return 1
}

# make_data FILE BYTES: real data, the same on every machine with the same packages: text and programs, taken in turn.
make_data() {
	local size=0 f
	: >"$1"
	while [ "$size" -lt "$2" ]; do
		for f in /usr/share/common-licenses/GPL-3 /usr/bin/perl /usr/share/perl/5.*/perl5db.pl /usr/lib/x86_64-linux-gnu/libc.so.6 \
			/usr/share/common-licenses/Apache-2.0 /usr/bin/git; do
			[ -f "$f" ] && cat "$f" >>"$1"
			size=$(stat -c %s "$1")
			[ "$size" -ge "$2" ] && break
		done
	done
	truncate -s "$2" "$1"
}

# cc_program NAME [FLAG...] <source: compiles C from standard input to ./NAME; `asm_program` the same for assembly.
cc_program() {
	local name=$1
	shift
	cat >"$name.c"
	$CC -O1 -g -Wall -o "$name" "$name.c" "$@" || fail "$name.c does not compile"
}
asm_program() {
	local name=$1
	shift
	cat >"$name.S"
	$CC -g -nostdlib -static -no-pie -I"$ROOT/tests/programs" -o "$name" "$name.S" "$@" || fail "$name.S does not assemble"
}

# run OUT ERR CMD...: standard input is $STDIN; status in $?, 128 + signal for a death by signal
STDIN=/dev/null
run() {
	local out=$1 err=$2
	shift 2
	# The extra shell keeps "Segmentation fault" notices out of our own output; `_` would name the command, or trackway.
	(
		env -u _ "$@"
		exit $?
	) <"$STDIN" >"$out" 2>"$err.all"
	local status=$?
	: >"$err"
	[ ! -s "$err.all" ] ||
		grep -vE '^[^ ]*: line [0-9]+: +[0-9]+ .*env -u _ "\$@"$' "$err.all" >"$err"
	return $status
}

# native CMD...: a native run, in native.out, native.err, $NATIVE_STATUS
native() {
	run native.out native.err "$@"
	NATIVE_STATUS=$?
}

# recorded CMD...: the same under `trackway record`, into ./recording.tw with $RECORD_OPTIONS, in recorded.out, recorded.err, $RECORDED_STATUS
read -ra RECORD_OPTIONS <<<"${TW_RECORD_OPTIONS:-}" # for instance -f dep06
recorded() {
	rm -rf recording.tw recording.tw.old
	run recorded.out recorded.err "$TW" record -q -o recording.tw "${RECORD_OPTIONS[@]}" -- "$@"
	RECORDED_STATUS=$?
}

# compare_runs WHAT: the recorded run looked like the native one
compare_runs() {
	cmp -s native.out recorded.out || {
		diff -a native.out recorded.out | head -n 10
		fail "$1: standard output is not that of a native run"
	}
	cmp -s native.err recorded.err || {
		diff -a native.err recorded.err | head -n 10
		fail "$1: standard error is not that of a native run"
	}
	[ "$NATIVE_STATUS" = "$RECORDED_STATUS" ] || fail "$1: exit status $RECORDED_STATUS, natively $NATIVE_STATUS"
}

# same_as_native CMD...: output and exit status of CMD recorded are those of CMD. The recording stays in ./recording.tw
same_as_native() {
	native "$@"
	recorded "$@"
	compare_runs "record ${RECORD_OPTIONS[*]} $1"
}

# verify_clean CMD...: `record --verify` of CMD runs as CMD does, and finds every reference of the replay as it was logged. Not quiet, so that
# it can say what it found; its own lines, which begin with "trackway" or "verify", are taken out before standard error is compared.
verify_clean() {
	native "$@"
	case " ${RECORD_OPTIONS[*]} " in
	*" dep-c "* | *" dep06-c "* | *" bb_pc "* | *" cf_bit "*) # formats without references: is it whole?
		recorded "$@"
		compare_runs "record ${RECORD_OPTIONS[*]}"
		check_good
		return
		;;
	esac
	rm -rf verify.tw verify.tw.old
	run recorded.out verify.err "$TW" record --verify -o verify.tw "${RECORD_OPTIONS[@]}" -- "$@"
	RECORDED_STATUS=$?
	grep -av "$OWN_LINE" verify.err >recorded.err
	if ! clean_verify verify.err; then
		head -n 20 verify.err
		fail "record --verify $1: not clean"
	fi
	compare_runs "record --verify $1"
	rm -rf verify.tw
}

# check_good [DIR]: the recording is whole
check_good() {
	"$TW" check "${1:-recording.tw}" >check.out 2>&1 || {
		head -n 10 check.out
		fail "check ${1:-recording.tw} complains"
	}
}

# info_value KEY [DIR]: a number of `info --json`
info_value() {
	"$TW" info --json "${2:-recording.tw}" >info.json || fail "info --json fails"
	python3 -c 'import json, sys; print(json.load(open("info.json"))[sys.argv[1]])' "$1" || fail "info --json has no $1"
}

# references DIR FILE: all references that were made, as `dump --refs` has them; not those that faulted.
references() {
	"$TW" dump --refs "$1" >dump.refs || fail "dump --refs fails"
	sed '/ faulted$/d' dump.refs >"$2"
}

# same_instructions INSNS DIR: the recording executed the instructions of the oracle's list. `dump --lackey` prints a repeated string instruction
# once per iteration and once more, as lackey does; so instructions that follow themselves are compared as one, and the totals exactly.
same_instructions() {
	"$TW" dump --lackey "$2" >dump.lackey || fail "dump --lackey fails"
	sed -n 's/^I *0*\([0-9a-f]*\),\([0-9]*\)$/\1 \2/p' dump.lackey | uniq >found.insns
	sed 's/ rep//' "$1" | uniq >expected.insns
	cmp -s expected.insns found.insns || {
		diff expected.insns found.insns | head -n 20
		fail "instructions differ from the oracle's"
	}
	local total
	total=$(grep -vc rep "$1")
	[ "$(info_value instructions "$2")" = "$total" ] || fail "info counts $(info_value instructions "$2") instructions, the oracle $total"
}

# one_sentence CMD...: CMD fails, on its own accord, with exactly one line on standard error, which begins with "trackway". Kept in sentence.err
one_sentence() {
	run sentence.out sentence.err "$@"
	local status=$?
	[ $status -ne 0 ] || fail "$*: succeeds"
	[ $status -lt 128 ] || fail "$*: dies of signal $((status - 128))"
	[ "$(wc -l <sentence.err)" = 1 ] || {
		cat sentence.err
		fail "$*: not one sentence"
	}
	grep -q "$OWN_LINE" sentence.err || {
		cat sentence.err
		fail "$*: does not say that it is trackway who complains"
	}
}

# says PATTERN: what one_sentence kept matches
says() {
	grep -qiE -- "$1" sentence.err || {
		cat sentence.err
		fail "the sentence does not say '$1'"
	}
}

# record_refused SENTENCE OPTION...: record is not to begin with these options: it says so, and ends with 125
record_refused() {
	local sentence=$1
	shift
	"$TW" record "$@" true >refused.out 2>refused.err
	[ $? = 125 ] || fail "record $*: not refused"
	grep -qF -- "$sentence" refused.err || fail "record $*: $(cat refused.err)"
}

# await PATTERN FILE: until a line of it matches
await() { until grep -qe "$1" "$2" 2>/dev/null; do sleep 0.05; done; }

# start CMD...: runs it natively in the background, its output in native.out, until it has printed "ready"; its number is in $PID.
# attach OPTION...: records it from now on, into ./recording.tw, with standard error in attached.err; the recorder's number is in $RECORDER.
start() {
	: >native.out
	"$@" >native.out 2>native.err &
	PID=$!
	CLEANUP+=("kill -9 $PID 2>/dev/null")
	until grep -q '^ready$' native.out; do
		kill -0 $PID 2>/dev/null || fail "$* has ended: $(cat native.err)"
		sleep 0.05
	done
}
attach() {
	rm -rf recording.tw recording.tw.old
	: >attached.err
	"$TW" record -o recording.tw "$@" --pid="$PID" 2>attached.err &
	RECORDER=$!
	CLEANUP+=("kill -9 $RECORDER 2>/dev/null")
	until grep -q 'is being recorded' attached.err; do
		kill -0 $RECORDER 2>/dev/null || fail "record --pid has ended: $(cat attached.err)"
		sleep 0.05
	done
}

# whole CMD...: what most tests of a program want: as native, checked, and verified
whole() {
	same_as_native "$@"
	check_good
	verify_clean "$@"
}
