# Pages of code that the program writes: many more times than there are places to note them, and in a region so large that it is not gone through page by page.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'E2'
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static int call(const uint8_t *code)
{
	return ((int (*)(void))code)();
}

static void put(uint8_t *code, uint32_t value) /* mov eax, value; ret */
{
	memcpy(code + 1, &value, 4);
	code[0] = 0xb8;
	code[5] = 0xc3;
}

int main(void)
{
	const size_t bytes = 96 << 20;
	const int w = PROT_READ | PROT_WRITE, x = w | PROT_EXEC;
	uint8_t *code = mmap(NULL, bytes, x, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (code == MAP_FAILED)
		return 77;
	for (int k = 0; k < 20; k++) {
		uint8_t *at = code + k % 3 * 4096;
		put(at, (uint32_t)k);
		if (call(at) != k)
			return 1;
		mprotect(code, bytes, w);
		put(at, (uint32_t)k + 100);
		mprotect(code, bytes, x);
		if (call(at) != k + 100)
			return 2;
		put(at, (uint32_t)k + 200);
		if (call(at) != k + 200)
			return 3;
	}
	for (int k = 0; k < 80000; k++) { /* on pages that lie apart, and on few */
		uint8_t *at = code + (k & 1 ? k % 700 * 4096 : 0) + 64;
		put(at, (uint32_t)k);
		if (call(at) != k)
			return 4;
	}
	return 0;
}
E2
$CC -O1 -o program program.c || fail "the program does not compile"
./program
status=$?
[ $status = 77 ] && skip "no room for the code"
[ $status = 0 ] || fail "natively: exit status $status"
for f in none dep; do
	timeout 100 "$TW" record -q --sink=count -f "$f" -o "$f.tw" ./program
	status=$?
	[ $status = 0 ] || fail "format $f: exit status $status"
done
