# Hand-written assembly, with rules of its own for registers and flags: left alone, or with --asm instrumented.
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
cat >own.S <<'X'
#define COUNT 9
	.text
/* Argument and result in r11; the carry flag says whether it was even. Keeps all else. */
	.type	halve, @function
halve:
	shrq	$1, %r11
	cmc
	ret
	.size	halve, .-halve
/* long steps(long n, long *memory): until 1, as n / 2 or 3 n + 1; all registers but two are in use */
	.globl	steps
	.type	steps, @function
steps:
	.cfi_startproc
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rdi, %r11
	xorl	%eax, %eax
	movl	$3, %ebx
	movl	$1, %ebp
	leaq	(%rbx,%rbp), %r12
	leaq	(%rbx,%r12), %r13
	leaq	-1(%r13,%rbx), %r14
	movl	$COUNT, %r15d
	movq	%r14, %r8
	movq	%r15, %r9
	movq	%r13, %r10
	movq	%r12, %rcx
1:	cmpq	$1, %r11
	je	3f
	incq	%rax
	movq	%r11, %rdx
	call	halve
	jc	2f
	leaq	1(%rdx,%rdx,2), %r11
2:	movq	%r11, (%rsi)
	adcq	$0, 8(%rsi)
	jmp	1b
3:	addq	%rbx, %rax
	addq	%rbp, %rax
	addq	%r12, %rax
	addq	%r13, %rax
	addq	%r14, %rax
	addq	%r15, %rax
	addq	%r8, %rax
	addq	%r9, %rax
	addq	%r10, %rax
	addq	%rcx, %rax
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.cfi_endproc
	.size	steps, .-steps
	.section .note.GNU-stack,"",@progbits
X
cat >table.s <<'X'
	.text
	.globl	pick
	.type	pick, @function
pick:
	movl	%edi, %edi
	leaq	places(%rip), %rax
	movslq	(%rax,%rdi,4), %rcx
	addq	%rcx, %rax
	jmp	*%rax
zero:	movl	$10, %eax
	ret
one:	movl	counter(%rip), %eax
	incl	counter(%rip)
	ret
two:	pushq	%rdi
	movl	$40, %edi
	addl	(%rsp), %edi
	popq	%rax
	leal	(%rdi,%rax,4), %eax
	ret
	.size	pick, .-pick
	.section .rodata
	.p2align 2
places:	.long	zero-places, one-places, two-places
	.data
counter: .long 5
	.section .note.GNU-stack,"",@progbits
X
cat >main.c <<'X'
#include <stdio.h>
long steps(long n, long *memory);
int pick(unsigned n);
int main(void)
{
	long memory[2] = {0, 0}, s = 0;
	for (int i = 1; i < 200; i++)
		s = s * 3 + steps(i, memory) + pick((unsigned)i % 3);
	printf("%ld %ld %ld\n", s, memory[0], memory[1]);
	return 0;
}
X
gcc -O2 -no-pie main.c own.S table.s -o p.plain || fail "gcc"
"$TW" cc gcc -O2 -no-pie main.c own.S table.s -o p 2>compile.err && [ ! -s compile.err ] || fail "without --asm: $(cat compile.err)"
runs_as_plain p
"$TW" report --csv recording.tw >report.csv
! grep -q ',steps,' report.csv || fail "assembly is instrumented without --asm"
for flags in "" "-fPIC"; do
	"$TW" cc --asm gcc -O2 $flags -no-pie -MD -DUNUSED main.c own.S table.s -o p 2>compile.err && [ ! -s compile.err ] || fail "--asm $flags: $(cat compile.err)"
	runs_as_plain p
	same_as_engine p
	"$TW" report --csv own.tw >report.csv
	for f in steps halve pick main; do grep -q ",$f,p" report.csv || fail "$f is not recorded"; done
done
"$TW" cc --asm gcc -c own.S && "$TW" cc --asm gcc -c -x assembler table.s -o table.o && "$TW" cc gcc -no-pie main.c own.o table.o -o p || fail "--asm -c"
runs_as_plain p
# Numbers that are instructions, as OpenSSL's have them: the last returns, and data may follow.
cat >numbers.s <<'X'
	.text
	.globl twice
	.type twice,@function
twice:
	leaq (%rdi,%rdi),%rax
	testq %rdi,%rdi
	jz 1f
	incq %rax
	.byte 0xf3,0xc3
1:	movl (%rsi),%ecx
	addq %rcx,%rax
	.byte 102,15,239,192
	.byte 0xf3,0xc3
	.size twice,.-twice
	.align 16
	.byte 1,2,3,4,5,6,7,8
	.globl three
	.type three,@function
three:
	leaq (%rdi,%rdi,2),%rax
	.byte 0xf3,0xc3
	.size three,.-three
	.byte 65,66,67,68
	.section .note.GNU-stack,"",@progbits
X
cat >numbers.c <<'X'
#include <stdio.h>
long twice(long, const int *);
long three(long);
int main(void)
{
	const int five = 5;
	long s = 0;
	for (long i = 0; i < 20; i++)
		s += twice(i & 3, &five) + three(i);
	printf("%ld\n", s);
	return 0;
}
X
CC_OPTIONS=--asm instrumented numbers gcc -O1 -no-pie numbers.s numbers.c
runs_as_plain numbers
"$TW" report recording.tw >report.out
grep -q twice report.out && grep -q three report.out || fail "numbers that are instructions are not recorded"
