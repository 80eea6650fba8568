# Where a buffer ends in a block that has borrowed a register, that register's own value is in the recording: addresses that follow from it are right.
# timeout: 60
. "$(dirname "$0")/../cc.sh"
need_command gcc
# All registers but rsp point into memory, and are recorded once, in front of the loop; blocks of the loop fill buffers.
cat >walk.s <<'X'
	.text
	.globl	walk
	.type	walk, @function
walk:
	.cfi_startproc
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	incq	(%rsi)
	movq	%rdi, %rax
	leaq	16(%rsi), %rbx
	leaq	32(%rsi), %rcx
	leaq	48(%rsi), %rdx
	leaq	64(%rsi), %rbp
	leaq	80(%rsi), %rdi
	leaq	96(%rsi), %r8
	leaq	112(%rsi), %r9
	leaq	128(%rsi), %r10
	leaq	144(%rsi), %r11
	leaq	160(%rsi), %r12
	leaq	176(%rsi), %r13
	leaq	192(%rsi), %r14
	leaq	208(%rsi), %r15
.Lagain:	leaq	-1(%rax), %rax
	testl	$4095, %eax
	jnz	.Lnext
	incq	(%rbx)
	incq	(%rcx)
	incq	(%rdx)
	incq	(%rbp)
	incq	(%rsi)
	incq	(%rdi)
	incq	(%r8)
	incq	(%r9)
	incq	(%r10)
	incq	(%r11)
	incq	(%r12)
	incq	(%r13)
	incq	(%r14)
	incq	(%r15)
.Lnext:	testq	%rax, %rax
	jnz	.Lagain
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.cfi_endproc
	.size	walk, .-walk
	.section .note.GNU-stack,"",@progbits
X
cat >w.c <<'X'
#include <stdio.h>
extern void walk(long n, long *memory);
static long memory[32];
int main(void)
{
	walk(4000000, memory);
	for (int k = 0; k < 32; k++)
		if (memory[k])
			printf("%lx %ld\n", (unsigned long)&memory[k], memory[k]);
	return 0;
}
X
for options in '' --full=guard; do
	for way in '-no-pie' '-fPIC -pie' '-fPIC -shared'; do
		if [[ $way = *shared* ]]; then
			"$TW" cc --asm $options gcc -fPIC -shared -o l.so walk.s && "$TW" cc $options gcc -O1 -o w w.c "$PWD/l.so"
		else
			"$TW" cc --asm $options gcc -O1 $way -o w w.c walk.s
		fi || fail "$way $options: does not compile"
		rm -rf recording.tw
		"$TW" record -q -o recording.tw ./w >wrote || fail "$way $options: the program failed"
		[ "$("$TW" info recording.tw | awk '/^bytes written/ { print $3 }')" -gt 4000000 ] || fail "$way $options: it fits into one buffer"
		# The loop adds 1 at each address: so the program says how often it went there.
		awk '{ print $1, $2 }' wrote | sort >expected
		"$TW" dump recording.tw | awk '$3 == "M" { n[$4]++ } END { for (a in n) print a, n[a] }' | sort >seen
		cmp -s expected seen || {
			diff expected seen | head -20
			fail "$way $options: addresses"
		}
	done
done
