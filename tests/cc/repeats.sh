# Text that the assembler repeats or leaves out, in inline assembly: as it is in sections without code (probes of <sys/sdt.h>), written out where it is .rept with a number; the file is left alone where it is other code.
# timeout: 240
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
cat >probes.c <<'X'
#include <stdio.h>
#ifdef __clang__
#define SIZE "SIZE_"
#else
#define SIZE "size_" /* names are the same to GNU as */
#endif
/* As sdt.h has them: the place of a nop, and what stands where, in a table that others read. */
#define PROBE(name, value) __asm__ volatile( \
	".altmacro\n.macro SIGN_ x\n.iflt \\x\n.ascii \"-\"\n.endif\n.endm\n.macro SIZE_ x\nSIGN_ \\x\n.ascii \"8\"\n.endm\n" \
	"990: nop\n.pushsection probes,\"a\",@progbits\n.balign 8\n.quad 990b, 992f-991f\n991: .rept 3\n.byte 7\n.endr\n.irp v,1,2\n.byte \\v\n.endr\n" \
	"SIGN_ -8\n" SIZE " 8\n.if 0\n.quad nowhere\n.endif\n.asciz \"" name "\"\n.asciz \"%0\"\n.balign 8\n992: .purgem SIGN_\n.purgem SIZE_\n.popsection\n" \
	".ifndef probes_base\n.pushsection probes_base_section,\"aw\",@progbits\n.weak probes_base\nprobes_base: .space 1\n.popsection\n.endif\n" \
	: : "nor"(value))
extern const unsigned long __start_probes[], __stop_probes[];
static volatile int t[64];
__attribute__((noinline)) static int sum(int n)
{
	int s = t[1]++;
	PROBE("begin", n);
	for (int i = 0; i < n; i++) {
		t[i & 63] += i;
		s += t[(i * 7) & 63];
		PROBE("turn", s);
	}
	return s;
}
__attribute__((noinline)) static int repeated(int x)
{
	__asm__(".rept 3 \n\tincl %0\n\t.rept 2\n\taddl %0, %0\n\t.endr\n\t.endr\n.rept 0\nud2\n.endr" : "+r"(x));
	return x;
}
int main(void)
{
	int n = 0, nops = 0;
	for (const unsigned long *p = __start_probes; p < __stop_probes; p = (const unsigned long *)((const char *)(p + 2) + p[1]), n++)
		nops += *(const unsigned char *)p[0] == 0x90;
	printf("%d %d %d %d\n", sum(100), repeated(5), n, nops);
	return 0;
}
X
compilers=("gcc -O0 -g" "gcc -O2" "gcc -O2 -fPIC")
command -v clang >/dev/null && compilers+=("clang -O2" "clang -O2 -fno-integrated-as")
for compiler in "${compilers[@]}"; do
	# shellcheck disable=SC2086
	instrumented probes $compiler -no-pie probes.c
	runs_as_plain probes
	[ "$(info_value blocks)" -gt 200 ] && grep -q '^[0-9-]* 404 ' native.out || fail "$compiler: $(cat native.out)"
	same_as_engine probes
done

# left WHAT TEXT: the file is left alone, as WHAT may hide code
left() {
	cat >left.c <<-X
		#include <stdio.h>
		int main(void)
		{
			int x = 3;
			__asm__("$2" : "+r"(x));
			printf("%d\n", x);
			return 0;
		}
	X
	gcc -O1 left.c -o left.plain && "$TW" cc gcc -O1 left.c -o left 2>said || fail "$1: $(cat said)"
	grep -q "^trackway cc: left.c is not instrumented: line [0-9]* of its assembly: $1 generates code that is not visible$" said || fail "$1: $(cat said)"
	native ./left.plain
	run recorded.out recorded.err ./left
	RECORDED_STATUS=$?
	compare_runs "$1"
}
left .macro '.macro more a\n\tincl \\a\n\t.endm\n\tmore %0'
left .rept '.irp v,1,2\n\taddl $\\v, %0\n\t.endr'
left .rept '.set many,2\n\t.rept many\n\tincl %0\n\t.endr'
left .if '.if 1\n\tincl %0\n\t.endif'
left .if '.if 0\n1:\n\t.endif\n\tincl %0'
left .if '.pushsection odd,\"a\"\n\t.if 1\n\t.popsection\n\t.endif\n\tincl %0'
left .macro '.macro go\n\t.popsection\n\t.endm\n\t.pushsection odd,\"a\"\n\tgo\n\tincl %0'
