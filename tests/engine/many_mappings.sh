# A program that makes mappings until the kernel allows no more has nearly as many as natively, and the engine still has what it needs: other buffers, forks, threads,
# other programs.
. "$(dirname "$0")/../lib.sh"
cc_program mappings -D_GNU_SOURCE -pthread <<'EOF'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned work_done;
static int handled;
static void handle(int signo)
{
	handled += signo == SIGUSR1;
}
/* Many records, of which each buffer holds few. */
static void *work(void *list)
{
	unsigned sum = 0;
	for (int round = 0; round < 300; round++)
		for (unsigned *p = list, k = 0; k < 1000; k++)
			sum += p[(sum * 31 + k * 7) % 1000] ^ (k & 1 ? round : sum);
	work_done += sum;
	return NULL;
}
/* Code on pages side by side, each written anew again and again. */
enum { CODE_PAGES = 5 };
static unsigned char *code;
static void write_code(const char *when)
{
	int sum = 0;
	for (int round = 0; round < 3; round++)
		for (int page = 0; page < CODE_PAGES; page++) {
			unsigned char *c = code + page * 4096;
			memcpy(c, "\xb8\0\0\0\0\xc3", 6); /* mov eax, 0; ret */
			c[1] = (unsigned char)(round * CODE_PAGES + page);
			sum += ((int (*)(void))c)();
		}
	printf("%s: code %d\n", when, sum);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	static unsigned list[1000];
	int status;
	if (argc > 2)
		return puts("another program"), fflush(stdout), 0;
	const long wanted = argc > 1 ? atol(argv[1]) : 1 << 20, page = 4096;
	char *p = mmap(NULL, 2 * wanted * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	long n = 0;
	code = mmap(NULL, CODE_PAGES * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGUSR1, handle);
	work(list);
	fprintf(stderr, "begin\n");
	while (n < wanted && !mprotect(p + 2 * n * page, page, PROT_READ))
		n++;
	fprintf(stderr, "%ld\n", 2 * n);
	work(list);
	write_code("none left");
	raise(SIGUSR1);
	printf("handled %d\n", handled);
	fflush(stdout);
	int pid = fork();
	if (!pid) {
		work(list);
		write_code("child");
		fflush(stdout);
		execl(argv[0], argv[0], "another", "program", (char *)NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("ended %x\n", status);
	munmap(p, 2 * wanted * page);
	pthread_t t;
	if (pthread_create(&t, NULL, work, list) || pthread_join(t, NULL))
		return 1;
	write_code("thread");
	return 0;
}
EOF
most=$(cat /proc/sys/vm/max_map_count 2>/dev/null || echo 0)
[ "$most" -le 1000000 ] && [ "$most" -ge 1000 ] || skip "vm.max_map_count is $most"
native ./mappings
for options in "-f none" "-f dep" "-f cf_bit" "--sink=count"; do
	read -ra RECORD_OPTIONS <<<"$options"
	recorded ./mappings
	cmp native.out recorded.out || fail "record $options: not as natively"
	[ "$RECORDED_STATUS" = "$NATIVE_STATUS" ] || fail "record $options: status $RECORDED_STATUS"
	paste <(grep '^[0-9]' native.err) <(grep '^[0-9]' recorded.err) | awk '$2 < $1 - 16 || $2 > $1 { exit 1 }' || {
		paste native.err recorded.err
		fail "record $options: not so many mappings as natively"
	}
done
