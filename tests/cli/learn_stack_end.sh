# record --learn-what=cct: where a burst begins, the engine copies the stack, up to a page that cannot be read: behind a thread's stack that is the next one's guard page.
. "$(dirname "$0")/../lib.sh"
cc_program guarded -O1 -pthread -D_GNU_SOURCE <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
enum { STACK = 1 << 16, GUARD = 1 << 12 };
static volatile unsigned kept;
__attribute__((noipa)) static void leaf(unsigned n) { for (unsigned i = 0; i < n; i++) kept += i ^ n; }
static void *work(void *p)
{
	for (unsigned i = 0; i < 300000; i++)
		leaf(i % 200);
	return p;
}
int main(void)
{
	char *stack = mmap(NULL, STACK + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t a;
	pthread_t t;
	if (stack == MAP_FAILED || mprotect(stack + STACK, GUARD, PROT_NONE) || pthread_attr_init(&a) || pthread_attr_setstack(&a, stack, STACK) ||
	    pthread_create(&t, &a, work, NULL) || pthread_join(t, NULL))
		return 1;
	printf("%u\n", kept);
	return 5;
}
END
native ./guarded
# Whether the budget is open while the thread runs is chance on a busy machine: what is learned adds up.
for _ in 1 2 3 4 5 6 7 8; do
	timeout 100 "$TW" record -q --learn=learned --learn-what=cct --budget=20% --period=5ms ./guarded >recorded.out 2>recorded.err
	[ $? = 5 ] || fail "record --learn-what=cct: $(cat recorded.err)"
	cmp -s native.out recorded.out || fail "other output than natively"
	"$TW" learn --functions learned | grep -q ' leaf  ' && exit 0
done
fail "no context of the thread is learned"
