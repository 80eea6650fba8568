# Addresses worked out from recorded registers by every kind of computable update: the references of superblocks are those that the format `call` logs.
. "$(dirname "$0")/../lib.sh"
need_fixed_addresses
# each gets a number in rax and another in rcx, and leaves one in rax
cat >updates <<'E2'
mov %ecx, %eax
mov %rcx, %rax
add %ecx, %eax
add %rcx, %rax
add $-0x12345, %rax
sub %ecx, %eax
sub %rcx, %rax
sub $0x12345, %eax
and %ecx, %eax
and %rcx, %rax
and $-0x7771, %eax
and $-0x7771, %rax
or %ecx, %eax
or %rcx, %rax
or $-0x7771, %eax
or $0x7771, %rax
xor %ecx, %eax
xor %rcx, %rax
xor $-0x7771, %eax
xor $-0x7771, %rax
imul %ecx, %eax
imul %rcx, %rax
imul $-0x7771, %ecx, %eax
imul $0x7771, %rcx, %rax
shl $5, %eax
shl $37, %rax
shl %eax
shr $7, %eax
shr $39, %rax
shr %rax
sar $3, %eax
sar $33, %rax
movslq %ecx, %rax
movsbl %cl, %eax
movsbq %cl, %rax
movswl %cx, %eax
movswq %cx, %rax
movzbl %cl, %eax
movzwl %cx, %eax
movzbl %ch, %eax
movsbl %ah, %eax
movzbl %sil, %eax
cltq
inc %eax
dec %rax
lea 0x123(%rcx,%rax,4), %eax
lea -0x123(%rcx,%rax,8), %rax
mov %cl, %al
mov %cx, %ax
and $0x77, %al
neg %rax
not %eax
bswap %rax
rol $9, %rax
cmovs %rcx, %rax
xchg %rcx, %rax
E2
{
	cat <<'E2'
#include <stdint.h>
static uint64_t number[512];
static unsigned char byte[65536];
int main(void)
{
	uint64_t seed = 1, sum = 0;
	for (int i = 0; i < 512; i++)
		number[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
	for (int round = 0; round < 2000; round++) {
		uint64_t *at = &number[round % 500], out, n;
E2
	while read -r update; do
		# shellcheck disable=SC2028 # the compiler reads it
		echo '		__asm__ volatile("mov $8, %1\n 1: mov (%2), %%rax\n mov 8(%2), %%rcx\n mov %%ecx, %%esi\n '"${update//%/%%}"'\n movzwl %%ax, %%edx\n'"\\"
		echo ' movzbl (%3,%%rdx), %%edx\n mov %%rdx, %0\n dec %1\n jnz 1b" : "=&r"(out), "=&r"(n) : "r"(at), "r"(byte) : "rax", "rcx", "rdx", "rsi", "cc", "memory");'
		echo '		sum += out + (uint64_t)round;'
	done <updates
	echo '	} return (int)(sum & 63); }'
} >program.c
$CC -O1 -static -o program program.c || fail "the program does not compile"
setarch -R ./program
expected=$?
record() # FORMAT-OPTIONS: its references in $1.refs
{
	# shellcheck disable=SC2086 # options
	setarch -R "$TW" record -q -f $1 -o "r.tw" ./program
	[ $? = "$expected" ] || fail "format $1 changes the exit status"
	"$TW" dump r.tw >"${1%% *}.refs" || fail "dump of format $1"
}
words=(and or xor - '\*' '<<' '>>' '>> with sign' 'sign-extended from 8 bits' 'sign-extended from 16 bits' 'sign-extended from 32 bits' 'cut to 8 bits' 'cut to 16 bits')
is_met() # WORD
{
	grep -qE "^ +r[a-z0-9]+ = r[a-z0-9]+ $1( |$)" code
}
missing() # prints the updates that no superblock has worked out yet
{
	local word
	for word in "${words[@]}"; do
		is_met "$word" || printf '"%s" ' "$word"
	done
}
record call
: >code
# which paths become superblocks, of what was in a buffer when it was looked at, is a matter of chance: recorded again until all were met
for turn in 0 1 2 3 4 5 6 7 8 9; do
	for options in "--hot=$((1 + turn))" "--hot=4 --versions=$((2 + turn))"; do
		record "dep $options"
		cmp dep.refs call.refs || fail "the formats differ with $options"
		"$TW" dump --code r.tw >>code
	done
	[ -n "$(missing)" ] || exit 0
done
fail "no update $(missing)"
