# mseal and PR_SET_MDWE: what they are good for, they do; code that may be written can still be written after them.
. "$(dirname "$0")/../lib.sh"
cc_program sealed -D_GNU_SOURCE <<'END'
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { PAGE = 4096, NR_MSEAL = 462, SET_MDWE = 65 };
static int call(const uint8_t *at, int value) /* writes mov eax, value; ret there, and runs it */
{
	uint8_t code[6] = {0xb8, 0, 0, 0, 0, 0xc3};
	memcpy(code + 1, &value, 4);
	memcpy((void *)(uintptr_t)at, code, sizeof code);
	return ((int (*)(void))(uintptr_t)at)();
}
int main(int argc, char **argv)
{
	const int rw = PROT_READ | PROT_WRITE;
	uint8_t *data = mmap(NULL, PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && !strcmp(argv[1], "plain")) { /* no code that may be written */
		printf("%s\n", syscall(NR_MSEAL, data, PAGE, 0) ? strerror(errno) : "sealed");
		printf("%s\n", munmap(data, PAGE) ? strerror(errno) : "unmapped");
		printf("%s\n", prctl(SET_MDWE, 1, 0, 0, 0) ? strerror(errno) : "no new code");
		return 0;
	}
	uint8_t *code = mmap(NULL, PAGE, rw | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 77;
	printf("%d\n", call(code, 1));
	prctl(SET_MDWE, 1, 0, 0, 0);
	printf("%d\n", call(code, 2));
	syscall(NR_MSEAL, code, PAGE, 0);
	printf("%d\n", call(code, 3) + call(code, 4));
	return 0;
}
END
for how in plain code; do
	./sealed $how >native
	status=$?
	[ $status = 77 ] && skip "not possible here"
	[ $status = 0 ] || fail "natively: $status"
	for f in none dep; do
		timeout 60 "$TW" record -q --sink=count -f $f -o $f.tw ./sealed $how >out
		status=$?
		[ $status = 0 ] || fail "$how, format $f: status $status: $(cat out)"
		cmp -s native out || fail "$how, format $f: $(diff native out)"
	done
done
