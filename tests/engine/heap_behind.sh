# A program that cannot be moved and has the kernel not draw addresses (setarch -R): its heap begins right behind it, which programs that were saved with their heap rely on (GNU
# Common Lisp, and Maxima with it).
. "$(dirname "$0")/../lib.sh"
cc_program behind -no-pie -D_DEFAULT_SOURCE <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char end[];
static char large[100000];
int main(int argc, char **argv)
{
	const uintptr_t behind = ((uintptr_t)end + 4095) & ~(uintptr_t)4095, heap = (uintptr_t)sbrk(0);
	char *p = sbrk(1 << 20);
	large[argc] = 1;
	memset(p, 1, 1 << 20);
	if (argc > 1)
		printf("%s: %ld bytes behind\n", argv[1], (long)(heap - behind));
	else
		printf("behind: %d\n", heap >= behind);
	return (uintptr_t)p == heap ? 3 : 1;
}
END
native setarch -R ./behind fixed
[ "$(cat native.out)" = "fixed: 0 bytes behind" ] || skip "setarch -R: $(cat native.out native.err | head -n 1)"
for f in none dep; do
	RECORD_OPTIONS=(-f $f)
	same_as_native setarch -R ./behind fixed
	same_as_native ./behind
done
