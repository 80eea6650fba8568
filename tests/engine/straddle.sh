# Instructions that reach into a page from which nothing can be executed: the fault is that page's, at the instruction. Never run before, and run a thousand times.
. "$(dirname "$0")/../lib.sh"
cc_program straddle -D_GNU_SOURCE <<'EOF'
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static unsigned char *place;
static sigjmp_buf back;
static int give; /* the page back: the instruction is made again */
static int faults;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	const long at = (unsigned char *)info->si_addr - place, rip = (unsigned char *)uc->uc_mcontext.gregs[REG_RIP] - place;
	if (++faults > 10000)
		_exit(3);
	printf(" %d:%d at %ld rip %ld", signo, info->si_code, at, rip);
	if (give && !mprotect(place + PAGE, PAGE, PROT_READ | PROT_EXEC))
		return;
	siglongjmp(back, 1);
}

/* Of the instructions each can be told to be unfinished wherever it is cut. */
static const struct code {
	const char *name;
	unsigned char bytes[16];
	unsigned n;
} codes[] = {
    {"mov64", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10},
    {"mov32", {0xb8, 1, 2, 3, 4}, 5},
    {"jmp", {0xe9, 0, 0, 0, 0}, 5},
    {"lock add", {0xf0, 0x48, 0x81, 0x04, 0x24, 0, 0, 0, 0}, 9},
    {"vector", {0xf3, 0x0f, 0x6f, 0x84, 0x24, 0, 0, 0, 0}, 9},
    {"ret", {0xc2, 0, 0}, 3},
};

/* `before` bytes of the instruction stand on the first page, behind `nops` of others; what follows it returns. */
static long (*put(const struct code *c, unsigned before, unsigned nops))(void)
{
	unsigned char *start = place + PAGE - before;
	memset(place, 0xcc, 2 * PAGE);
	memset(start - nops, 0x90, nops);
	memcpy(start, c->bytes, c->n);
	start[c->n] = 0xc3;
	return (long (*)(void))(start - nops);
}

enum { READ_ONLY, NONE, GONE, BEYOND, WAYS };

/* A file of one page that is mapped as two has nothing on the second. */
static void take_page(int way)
{
	unsigned char *second = place + PAGE;
	int fd;
	switch (way) {
	case READ_ONLY:
		mprotect(second, PAGE, PROT_READ | PROT_WRITE);
		break;
	case NONE:
		mprotect(second, PAGE, PROT_NONE);
		break;
	case GONE:
		munmap(second, PAGE);
		break;
	default:
		fd = open("page", O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (write(fd, place, PAGE) != PAGE || mmap(place, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_FIXED | MAP_PRIVATE, fd, 0) != place)
			printf("no file");
		close(fd);
	}
}

static void try(const struct code *c, unsigned before, unsigned nops, int way, int runs)
{
	place = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*f)(void) = put(c, before, nops);
	volatile long sum = 0;
	mprotect(place, 2 * PAGE, PROT_READ | PROT_EXEC);
	for (int i = 0; i < runs; i++)
		sum += f();
	take_page(way);
	printf("%s %u %u %d %d:", c->name, before, nops, way, runs);
	give = way == READ_ONLY || way == NONE;
	if (!sigsetjmp(back, 1))
		sum += f();
	if (!sigsetjmp(back, 1))
		sum += f();
	printf("\n");
	munmap(place, 2 * PAGE);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGILL, &act, NULL);
	for (unsigned k = 0; k < sizeof codes / sizeof *codes; k++)
		for (unsigned before = 1; before < codes[k].n && before <= 6; before++)
			for (int way = 0; way < WAYS; way++)
				for (int n = 0; n < 4; n++)
					try(&codes[k], before, n & 1 ? 9 : 0, way, n & 2 ? before == 2 ? 1000 : 1 : 0);
	return 0;
}
EOF
for f in none dep cf_bit dep06; do
	RECORD_OPTIONS=(-f "$f")
	same_as_native ./straddle
done
RECORD_OPTIONS=(--sink=count)
same_as_native ./straddle
RECORD_OPTIONS=()
whole ./straddle
