# Two processes of one program make the same code, one a moment before the other: what the second would describe is known, and is not described again. What it wrote to find that out must not stand in the table where
# a part of it ends, and the next group is described in the next part: it was read, and the recording was damaged.
. "$(dirname "$0")/../lib.sh"

cc_program work <<'END'
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { BYTES = 16 << 20 };
static void work(unsigned char *code, int functions, _Atomic int *own, _Atomic int *other, int ahead)
{
	static char data[256];
	unsigned x = 1;
	for (int i = 0; i < functions; i++) {
		unsigned char *f = code;
		x = x * 1664525 + 1013904223;
		for (int n = i & 1 ? 60 : 1; n; n--, f += 3) {
			x = x * 1664525 + 1013904223;
			memcpy(f, (unsigned char[]){0x8b, 0x47, (unsigned char)(x >> 25)}, 3); /* mov d(%rdi),%eax */
		}
		*f++ = 0xc3;
		while (*other < i + ahead)
			sched_yield();
		((void (*)(char *))code)(data);
		*own = i + 1;
		code = f;
	}
	_exit(0);
}
int main(int argc, char **argv)
{
	int status, failed = argc != 2;
	unsigned char *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_Atomic int *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++)
		if (!fork())
			work(code, atoi(argv[1]), &done[i], &done[1 - i], i);
	while (wait(&status) > 0)
		failed |= status;
	return failed;
}
END

# Of each second function the descriptor is long, so that it is one of these that a part ends before. A part is 16 MB: some 12,000 functions.
functions=$(full 40000 26000)
./work "$functions" || fail "it does not run natively"
run out err "$TW" record --sink=count -o r.tw -- ./work "$functions"
[ $? = 0 ] || fail "status of the recorded program: $(cat err)"
grep -qi 'damaged\|incomplete' err && fail "$(cat err)"
refs=$("$TW" info --json r.tw | sed -n 's/^.*"refs": *\([0-9]*\).*/\1/p' | head -n 1)
[ "${refs:-0}" -ge $((functions * 61)) ] || fail "only ${refs:-0} references"
