# Tests one program of tests/programs: tests/program.sh FILE
#
# The program is built without libc, run natively, single-stepped by the oracle (tests/oracle/step.c), recorded and verified. Instructions and
# references of the recording must be those of the oracle; and where the program prints the references it expects between its labels
# `region_begin` and `region_end`, both must be those. With TW_NATIVE=1 nothing is recorded: a test of programs and oracle alone.
# Lines of the program that are read here: `needs: CPU flags`, `flags: compiler flags`, `status: N` (the exit status it must have, default 0).
source=$(realpath "$1")
. "$(dirname "$0")/lib.sh"

field() { sed -n "s|^[#/* ]*$1: *\(.*[^ */]\)[ */]*\$|\1|p" "$source" | head -n 1; }
# shellcheck disable=SC2046
need_cpu $(field needs)
STEP=$BUILD/tests/step
[ -x "$STEP" ] || make -s -C "$ROOT" BUILD="$BUILD" "$STEP" || fail "the oracle cannot be built"

# shellcheck disable=SC2046
$CC -g -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables -Wl,--build-id=none \
	-Wl,-z,noexecstack -I"$ROOT/tests/programs" $(field flags) -o program "$source" || fail "does not compile"

expected_status=$(field status)
native ./program
[ "$NATIVE_STATUS" = "${expected_status:-0}" ] || {
	cat native.err
	fail "natively: exit status $NATIVE_STATUS"
}

symbols=$(nm program)
symbol() { awk -v s="$1" '$3 == s { print $1; exit }' <<<"$symbols"; }
begin=$(symbol region_begin)
end=$(symbol region_end)
# region <references with pc in front: those of the region, without pc. Addresses here are below 2^48, so padded hex compares as text.
region() {
	awk -v b="${begin:(-12)}" -v e="${end:(-12)}" '{ p = sprintf("%12s", $1); gsub(" ", "0", p); if (p >= b && p < e) print $2, $3, $4 }'
}
same() { # same EXPECTED FOUND WHAT
	cmp -s "$1" "$2" || {
		diff "$1" "$2" | head -n 20
		fail "$3 ($(wc -l <"$1") expected, $(wc -l <"$2") found)"
	}
}

"$STEP" -o oracle.refs -i oracle.insns ./program >/dev/null 2>oracle.err || {
	status=$?
	[ "$status" = "${expected_status:-0}" ] || {
		need_ptrace
		cat oracle.err
		fail "under the single-stepper: exit status $status"
	}
}
if [ -n "$begin" ]; then
	grep -E '^[RWM] [0-9a-f]+ [0-9]+$' native.out >expected.region
	[ -s expected.region ] || fail "prints no expected trace"
	region <oracle.refs >oracle.region
	same expected.region oracle.region "the oracle does not see the references the program expects"
fi
[ "${TW_NATIVE:-0}" = 1 ] && exit 0

recorded ./program
compare_runs record
check_good
if [[ ${TW_RECORD_OPTIONS:-} =~ (-c|bb_pc|cf_bit)$ ]]; then # no references in this format, by which the oracle counts iterations
	[ "$(basename "$1")" = fault.S ] ||
		same_instructions oracle.insns recording.tw
	exit 0
fi
references recording.tw made.refs
cut -d ' ' -f 2- made.refs >found.refs
if [ -n "$begin" ]; then
	region <found.refs >found.region
	same expected.region found.region "the recording does not have the references the program expects"
fi
same oracle.refs found.refs "references differ from the oracle's"
same_instructions oracle.insns recording.tw
verify_clean ./program
for format in bb_pc+mem_addr dep06; do
	RECORD_OPTIONS=(-f $format)
	verify_clean ./program
done
