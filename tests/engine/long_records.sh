# Records so long that what is looked at for hot paths is the whole buffer, up to the guard page that ends its data: now and then the tag that says that the
# data goes on in the slack fills the data's last two bytes.
. "$(dirname "$0")/../lib.sh"
need_cpu avx2
cat >program.c <<'E2'
#include <stdint.h>

/* n gathers, of 8 values each. */
#define STEP "vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n vpgatherdd %%ymm1, (%0, %%ymm0, 4), %%ymm2\n"
#define GATHER(n)                                                                                                    \
	static void gather##n(const int *table)                                                                      \
	{                                                                                                            \
		__asm__ volatile(".rept " #n "\n" STEP ".endr" : : "r"(table) : "ymm0", "ymm1", "ymm2", "memory");   \
	}
GATHER(26) GATHER(27) GATHER(28) GATHER(29) GATHER(30) GATHER(31)

int main(void)
{
	static const int table[8] = {1};
	static void (*const gather[])(const int *) = {gather26, gather27, gather28, gather29, gather30, gather31, gather30, gather29};
	uint32_t seed = 1;
	__asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0" : : : "ymm0");
	for (uint32_t k = 0; k < 400000; k++) {
		seed = seed * 1103515245 + 12345;
		gather[seed >> 29](table);
	}
	return 7;
}
E2
$CC -O2 -mavx2 -static -o program program.c || fail "the program does not compile"
for f in dep dep06; do
	"$TW" record -q --sink=count -f "$f" -o "$f.tw" ./program
	status=$?
	[ $status = 7 ] || fail "format $f: exit status $status"
	written=$("$TW" info --json "$f.tw" | sed -n 's/.*"written_bytes": *\([0-9]*\).*/\1/p' | head -n 1)
	[ "${written:-0}" -ge 500000000 ] || fail "format $f: only ${written:-no} bytes: that is not many buffers"
done
