# Code on the stack, which a program asks for in its header or a library when it is loaded, with handlers on the same pages; and in shared memory.
. "$(dirname "$0")/../lib.sh"
cat >nested.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
static volatile int ticks;
static void tick(int signo)
{
	ticks += signo != 0;
}
/* The address of a nested function that uses what is around it is that of code on the stack. */
static long with(long n, long (*f)(long))
{
	return f(n) + 1;
}
static long down(long depth)
{
	long sum = depth;
	long add(long n)
	{
		return sum += n;
	}
	if (depth)
		sum += down(depth - 1) % 1000;
	return with(depth, add) + with(3, add);
}
static void *thread(void *arg)
{
	*(long *)arg = down(300);
	return NULL;
}
int main(void)
{
	struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	long sum = 0, other = 0;
	pthread_t t;
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 5 || ticks < 20; i++)
		sum = down(500);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_create(&t, NULL, thread, &other);
	pthread_join(t, NULL);
	printf("%ld %ld\n", sum, other);
	return 0;
}
END
$CC -O1 -w -z execstack -o nested nested.c && $CC -O1 -w -static -z execstack -o nested_static nested.c || skip "no nested functions with this compiler"
cc_program lib.so -w -shared -fPIC -z execstack <<'END'
long twice(long n)
{
	long k = n;
	long add(long m)
	{
		return k += m;
	}
	long (*volatile f)(long) = add;
	return f(n);
}
END
cc_program loads <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *lib = dlopen("./lib.so", RTLD_NOW);
	long (*twice)(long) = lib ? (long (*)(long))dlsym(lib, "twice") : NULL;
	printf("%ld\n", twice ? twice(21) : -1);
	return 0;
}
END
cc_program shared -D_GNU_SOURCE <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
static int call(const unsigned char *code, int value) /* mov eax, value; ret */
{
	unsigned char *p = (unsigned char *)code;
	memcpy(p + 1, &value, 4);
	p[0] = 0xb8;
	p[5] = 0xc3;
	return ((int (*)(void))code)();
}
int main(void)
{
	long sum = 0;
	for (int i = 0; i < 20; i++) {
		int id = shmget(IPC_PRIVATE, 3 * 4096, IPC_CREAT | 0700);
		unsigned char *p = shmat(id, i % 2 ? (void *)0x300000000000 : NULL, SHM_EXEC);
		shmctl(id, IPC_RMID, NULL);
		if (p == (void *)-1)
			return 1;
		for (int k = 0; k < 8; k++)
			sum = sum * 3 + call(p + k % 3 * 4096, i * k);
		sum += shmdt(p);
	}
	printf("%ld\n", sum);
	return 0;
}
END
for f in none dep; do
	RECORD_OPTIONS=(-f "$f")
	for p in ./nested ./nested_static ./loads ./shared; do
		same_as_native "$p"
	done
done
RECORD_OPTIONS=()
verify_clean ./nested
verify_clean ./shared
