# With one processor calls are followed as replay goes on, and not kept until it ends, however many of them a piece of code makes.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program calls -O2 <<'END_C'
static unsigned table[1 << 12];
static __attribute__((noinline)) unsigned leaf(unsigned x) { return x * 1664525 + table[x >> 20]; }
static __attribute__((noinline)) unsigned both(unsigned x) { return leaf(x) ^ leaf(x + 1); }
int main(void)
{
	unsigned x = 1;
	for (int i = 0; i < 4000000; i++)
		table[x >> 20] += both(x), x = x * 69069 + 1;
	return x == 7;
}
END_C
"$TW" record -q -o r.tw -- ./calls || fail "record: status $?"

# most COMMAND...: the most memory that it had, in MB
most() {
	python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(status)' "$@"
}
most=$(most "$TW" report -j1 r.tw) || fail "report -j1: status $?"
asan || [ "$most" -le 200 ] || fail "report -j1 of 4 million times six calls and returns has $most MB"

# A loop that goes round for long takes no more than one that does not, and counts as often.
cc_program turns -O2 <<'END_C'
int main(void)
{
	for (long i = 0; i < 100000000; i++)
		__asm__ volatile("");
	return 0;
}
END_C
"$TW" record -q -o t.tw -- ./turns || fail "record: status $?"
most=$(most "$TW" report -j2 t.tw) || fail "report -j2: status $?"
asan || [ "$most" -le 200 ] || fail "report -j2 of 100 million turns of a loop has $most MB"
told=$("$TW" info --json t.tw | sed -n 's/^ *"instructions": \([0-9]*\),.*/\1/p' | head -n 1)
self=$("$TW" report --json t.tw | python3 -c 'import json, sys; print(sum(f["instructions"] for f in json.load(sys.stdin)["functions"]))')
[ "$told" = "$self" ] || fail "a loop: $told instructions, $self in report"
