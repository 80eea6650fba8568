# Code in no file that nothing names: it goes by its mapping and its program, in every table, in the call path of a crash, in the page.
. "$(dirname "$0")/../lib.sh"
need_command python3
cat >maker.c <<'END_C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
typedef void called(void);
/* sub $8, %rsp; mov $1000, %ecx; 1: dec %ecx; jnz 1b; call *%rdi; add $8, %rsp; ret */
static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xb9, 0xe8, 3, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
__attribute__((noinline)) static void quiet(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void crash(void) { *(volatile int *)8 = 1; }
int main(int argc, char **argv)
{
	char *made = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char variables[8192] __attribute__((aligned(4096)));
	mprotect(variables, sizeof variables, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(made + 256, code, sizeof code);
	memcpy(variables + 64, code, sizeof code);
	((void (*)(called *))(made + 256))(quiet);
	((void (*)(called *))(variables + 64))(quiet);
	((void (*)(called *))(made + 256))(argc > 1 ? crash : quiet);
	char *next = getenv("NEXT");
	if (!next)
		return 0;
	unsetenv("NEXT");
	execl(next, next, NULL);
	return 1;
}
END_C
cc -O1 -g -o maker maker.c

recorded ./maker
"$TW" report -n 0 recording.tw >out || fail "report"
grep -qE ' 2  \[JIT code of maker\]\+0x[0-9a-f]+100$' out || fail "functions: $(grep -i 'jit\|anon' out)"
grep -qE ' 1  \[code in variables of maker\]\+0x[0-9a-f]+040$' out || fail "functions: $(grep -i 'variables\|anon' out)"
[ "$(grep -c 'of maker\]' out)" = 2 ] || fail "functions: $(grep 'of maker' out)"
"$TW" report --callers quiet recording.tw | grep -q 'JIT code of maker' || fail "--callers"
"$TW" report --tree -n 0 recording.tw | grep -A1 '  main' | grep -q '\[JIT code of maker\]+0x[0-9a-f]*000$' || fail "--tree: $("$TW" report --tree -n 0 recording.tw | grep -A5 '  main')"
"$TW" report --json --module '[JIT code of maker]' recording.tw | python3 -c 'import json, sys; o = json.load(sys.stdin); f, = o["functions"]; assert f["calls"] == 2 and f["module"] == "[JIT code of maker]" and "made while" in f["unnamed"], f' || fail "--module"
"$TW" report --html page.html recording.tw && grep -q 'JIT code of maker' page.html || fail "--html"
"$TW" blocks --callgrind=calls.out recording.tw && grep -q 'JIT code of maker' calls.out || fail "--callgrind"

recorded ./maker crash
"$TW" report recording.tw >out || fail "report of a crash"
grep -A4 'died of SIGSEGV' out | grep -q '\[JIT code of maker\]+0x' || fail "call path: $(grep -A5 'died of' out)"

# A process that executes another program: each has its own code.
cp maker second
NEXT=./second recorded ./maker
"$TW" report -n 0 recording.tw >out || fail "report of two programs"
for program in maker second; do
	grep -qE " 2  \[JIT code of $program\]\+0x[0-9a-f]+100\$" out || fail "two programs: $(grep -i 'jit\|anon' out)"
	grep -qE " 1  \[code in variables of $program\]\+0x[0-9a-f]+040\$" out || fail "two programs: $(grep -i 'variables\|anon' out)"
done
