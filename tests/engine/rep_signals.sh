# Signals at repeated string instructions, in the middle of one and right behind it: --verify finds every reference in the log.
. "$(dirname "$0")/../lib.sh"
cc_program strings <<'EOF'
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile long ticks;
static unsigned char a[4096], b[4096];
static void tick(int s)
{
	(void)s;
	ticks++;
}
int main(void)
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 20000 || ticks < 2000; i++) {
		void *to = b, *from = a;
		long n = 1 + i % 9;
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
		to = b;
		n = i % 5;
		__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(0l) : "memory");
		to = b;
		from = a;
		n = 8;
		__asm__ volatile("repe cmpsb" : "+D"(to), "+S"(from), "+c"(n)::"cc", "memory");
		to = b + 3;
		n = 4;
		__asm__ volatile("std; repne scasb; cld" : "+D"(to), "+c"(n) : "a"(7) : "cc", "memory");
	}
	setitimer(ITIMER_REAL, &never, NULL);
	puts("done");
	return 0;
}
EOF
verify_clean ./strings
RECORD_OPTIONS=(-f call)
same_as_native ./strings
check_good
