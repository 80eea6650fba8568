# All formats record the same of the same program, as far as they hold it, and say what they do not hold.
. "$(dirname "$0")/../lib.sh"
asm_program work <<'END'
#include "program.inc"
	BEGIN
	mov ebp, 3000
	lea rbx, table[rip]
	xor eax, eax
1:	imul eax, eax, 1103515245
	add eax, 12345
	mov ecx, eax
	shr ecx, 22
	inc dword ptr [rbx + rcx * 4]
	test cl, 1
	jz 2f
	push rcx
	call even
	pop rcx
2:	lea rdi, [rbx + 4096]
	and ecx, 7
	rep stosb
	dec ebp
	jnz 1b
	jmp 3f
even:	mov rdx, [rbx + rcx * 4]
	ret
3:
	END
	.bss
table:	.skip 8192
END
for f in dep call mem_addr bb_pc+mem_addr dep06 dep-c bb_pc dep06-c cf_bit; do
	"$TW" record -q -f $f -o $f.tw ./work >/dev/null || fail "record -f $f"
done
"$TW" record -q -f dep -o again.tw ./work >/dev/null || fail again
for f in dep call again mem_addr bb_pc+mem_addr dep06; do
	check_good $f.tw
	"$TW" dump --refs $f.tw >$f.refs || fail "dump $f.tw"
	"$TW" dump --lackey $f.tw >$f.lackey || fail "dump --lackey $f.tw"
done
for f in dep again call mem_addr bb_pc+mem_addr dep06 dep-c bb_pc dep06-c cf_bit; do
	check_good $f.tw
	"$TW" dump --blocks $f.tw >$f.blocks || fail "dump --blocks $f.tw"
done
[ "$(wc -l <dep.refs)" -gt 6000 ] || fail "only $(wc -l <dep.refs) references"
cmp dep.refs again.refs || fail "two runs differ in references"
for f in call mem_addr bb_pc+mem_addr dep06; do
	cmp dep.refs $f.refs || fail "dep and $f differ in references"
	cmp <(grep ^I dep.lackey | uniq) <(grep ^I $f.lackey | uniq) || fail "dep and $f differ in instructions"
done
cmp dep.blocks again.blocks || fail "two runs differ in blocks"
# What ran, without where fragments end and how many references they made.
ran() { "$TW" dump --lackey "$1" | grep ^I; }
[ "$(ran dep-c.tw | wc -l)" -gt 6000 ] || fail "only $(ran dep-c.tw | wc -l) instructions"
for f in dep-c bb_pc mem_addr dep06 dep06-c cf_bit; do
	cmp <(ran dep.tw | uniq) <(ran $f.tw | uniq) || fail "dep and $f differ in instructions"
done
for f in dep-c bb_pc dep06-c cf_bit; do
	one_sentence "$TW" dump --refs $f.tw
	says "format $f holds no memory references"
	"$TW" report $f.tw >report.out || fail "report of $f"
	grep -q "a recording of format $f holds none" report.out || fail "report of $f does not say what is missing"
	"$TW" report --json $f.tw | grep -q "^  \"format\": \"$f\"," || fail "report --json of $f does not say the format"
	"$TW" info $f.tw | grep -q '^references .*not recorded$' || fail "info of $f does not say what is missing"
	"$TW" dump --lackey $f.tw >$f.lackey 2>err || fail "dump --lackey of $f"
	grep -q "format $f holds no memory references: only instructions" err || fail "dump --lackey of $f does not say what is missing"
	"$TW" blocks --callgrind=/dev/null $f.tw 2>err || fail "blocks --callgrind of $f"
	grep -q "format $f holds no memory references: Dr and Dw" err || fail "blocks --callgrind of $f does not say what is missing"
	one_sentence "$TW" record --verify -f $f ./work
	says "nothing to compare in format"
done
"$TW" record -q -f none -o none.tw ./work >/dev/null || fail "record -f none"
check_good none.tw
for c in report blocks 'blocks --callgrind=-' 'dump --refs' 'dump --blocks' 'dump --lackey' 'dump --code' 'dump --raw' 'dump --order'; do
	one_sentence "$TW" $c none.tw
	says 'made with -f none and holds nothing'
done
"$TW" info none.tw | grep -q '^Format none: .* not recorded' || fail "info of none does not say what is missing"
# Sizes: as many values as references, and none.
values() { "$TW" info "$1" | awk '/^values/ { print $3 / 8 }'; }
[ "$(values dep-c.tw)" = 0 ] || fail "dep-c has values"
[ "$(values dep.tw)" -lt "$(values mem_addr.tw)" ] || fail "dep has as many values as mem_addr"
# Blocks whose address ends in 0000, whose lower half cannot be told from an escape: come by directly, from both sides of a change of the upper half, by
# indirect jump, by call and by return; often enough for superblocks and several buffers.
asm_program zero <<'END'
#include "program.inc"
	BEGIN
	mov ebp, 60000
	lea rbx, at_zero[rip]
	lea r12, cell[rip]
1:	lea r13, 2f[rip]
	jmp at_zero
2:	lea r13, 3f[rip]
	jmp rbx
3:	call call_zero
	test bpl, 3
	jnz 4f
	lea r13, 4f[rip]
	jmp below
4:	dec ebp
	jnz 1b
	jmp 9f
	.balign 65536
	.skip 65536 - 16, 0x90
before:	test ebp, ebp
	jz 9f
	.balign 65536, 0x90
at_zero: inc qword ptr [r12]
	jmp r13
	.balign 65536
call_zero: mov rax, [r12 + 8]
	ret
below:	jmp before
9:
	END
	.bss
cell:	.skip 64
END
for f in at_zero call_zero; do
	nm zero | grep -qE "0000 . $f\$" || fail "$f is not at an address that ends in 0000"
done
for f in dep "dep06 --hot=0" "dep06 --hot=1" dep06-c cf_bit; do
	rm -rf zero.tw
	# shellcheck disable=SC2086 # an option
	"$TW" record -q -f $f -o zero.tw ./zero >/dev/null || fail "record -f $f ./zero"
	check_good zero.tw
	ran zero.tw | uniq >ran.found
	[ "$f" != dep ] || cp ran.found ran.zero
	cmp ran.zero ran.found || fail "dep and $f differ in blocks at ...0000"
done
[ "$(wc -l <ran.zero)" -gt 900000 ] || fail "only $(wc -l <ran.zero) instructions"
"$TW" record -q --verify --hot=1 -f dep06 -o verify.tw ./zero >/dev/null || fail "verify: blocks at ...0000"
# Counting alone gives what storing does.
for f in dep06 dep06-c cf_bit; do
	"$TW" record -q --sink=count -f $f -o count.tw ./work >/dev/null || fail "record --sink=count -f $f"
	cmp <("$TW" info count.tw | grep -E '^ *(instructions|blocks|references|reads|writes) ') \
		<("$TW" info $f.tw | grep -E '^ *(instructions|blocks|references|reads|writes) ') || fail "format $f: counted and stored differ"
	rm -rf count.tw
done
# The same of a program with signals, faults, longjmp, code that changes, a thread and a child; often enough for several buffers.
cc_program wild -Wno-infinite-recursion -static -no-pie -pthread <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static jmp_buf plain;
static volatile int handled;
static unsigned char *code;
static volatile unsigned table[256];

static void count(int s)
{
	handled += s;
}

static void escape(int s)
{
	handled += s;
	siglongjmp(back, 1);
}

__attribute__((noinline)) static void leap(int n)
{
	if (n)
		leap(n - 1);
	longjmp(plain, 1);
}

/* mov eax, n; ret: at the same place each time */
static int changed(int n)
{
	code[0] = 0xb8;
	memcpy(code + 1, &n, 4);
	code[5] = 0xc3;
	return ((int (*)(void))code)();
}

__attribute__((noinline)) static unsigned mix(unsigned n)
{
	unsigned x = 1;
	for (unsigned i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		table[x >> 24] += i & 1 ? x : 1;
	}
	return x;
}

static void *thread(void *n)
{
	mix(5000);
	return n;
}

int main(void)
{
	pthread_t t;
	signal(SIGUSR1, count);
	signal(SIGSEGV, escape);
	signal(SIGILL, escape);
	code = mmap((void *)0x20000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	volatile int sum = 0;
	for (volatile int i = 0; i < 25; i++) {
		raise(SIGUSR1);
		if (!sigsetjmp(back, 1))
			*(volatile int *)16 = sum;
		if (!sigsetjmp(back, 1))
			__builtin_trap();
		if (!setjmp(plain))
			leap(i % 7);
		sum += changed(i % 3) + (int)mix(2000);
	}
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pid_t child = fork();
	if (!child) {
		sum += changed(77) + (int)mix(3000);
		_exit(sum & 7);
	}
	int status;
	waitpid(child, &status, 0);
	mix(1000);
	return handled == 25 * (SIGUSR1 + SIGSEGV + SIGILL) ? 3 : 4;
}
END
one_sentence "$TW" record --order -f cf_bit ./work
says "order is not available in format"
one_sentence "$TW" record -f nonsense ./work
says 'dep, dep-c, call, none, bb_pc, mem_addr, bb_pc\+mem_addr, dep06, dep06-c and cf_bit'
fixed_addresses || {
	untested "the same program in all formats: addresses cannot be fixed here (setarch -R)"
	exit 0
}
# Of the program's own functions (libc's code waits as long as it waits): instructions, or references.
lo=$(nm wild | awk '/ (changed|mix|leap|count|escape|thread)$/ { print substr($1, 9) }' | sort | head -n 1)
hi=$(nm wild | awk '/ (changed|mix|leap|count|escape|thread)$/ { print substr($1, 9) }' | sort | tail -n 1)
own() { # own KIND: lines of dump --KIND whose pc is in there, or in the code that changes
	"$TW" dump --"$1" wild.tw | awk -v kind="$1" -v lo="$lo" -v hi="$hi" '
		kind == "lackey" && $1 != "I" { next }
		{ p = $2; sub(/,.*/, "", p); while (length(p) < 8) p = "0" p; if ((p >= lo && p <= hi) || p ~ /^20000/) print }'
}
for f in dep "dep06 --hot=1" dep06 dep-c dep06-c cf_bit bb_pc; do
	rm -rf wild.tw
	# shellcheck disable=SC2086 # an option
	setarch -R "$TW" record -q -f $f -o wild.tw ./wild
	[ $? = 3 ] || fail "record -f $f ./wild: not as natively"
	check_good wild.tw
	own lackey >ran.found
	[ -f ran.dep ] || cp ran.found ran.dep
	cmp ran.dep ran.found || fail "dep and $f differ in the instructions of a program with signals"
	case $f in *-c | cf_bit | bb_pc) continue ;; esac
	own refs >refs.found
	[ -f refs.dep ] || cp refs.found refs.dep
	cmp refs.dep refs.found || fail "dep and $f differ in the references of a program with signals"
done
[ "$(wc -l <ran.dep)" -gt 500000 ] && [ "$(wc -l <refs.dep)" -gt 50000 ] || fail "only $(wc -l <ran.dep) instructions and $(wc -l <refs.dep) references"
