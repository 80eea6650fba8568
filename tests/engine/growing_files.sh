# A file that is mapped shared and that another process makes longer meanwhile: what was beyond its end faults, and is there afterwards; code too.
. "$(dirname "$0")/../lib.sh"
cc_program growing -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE  4096
#define PAGES 6
#define END   200

static int to_child[2], to_parent[2], fd, faults;
static unsigned char *at;

/* Makes the file reach to the end of the page, with code on it and across its beginning: mov eax, page; ret. */
static void grow(unsigned char page)
{
	const unsigned char code[] = {0xb8, page, 0, 0, 0, 0xc3};
	if (ftruncate(fd, (page + 1) * PAGE) || pwrite(fd, code, sizeof code, page * PAGE + 16) < 0 ||
	    (page && pwrite(fd, code, sizeof code, page * PAGE - 3) < 0))
		_exit(4);
}

static void ask(unsigned char what)
{
	if (write(to_child[1], &what, 1) != 1 || (what != END && read(to_parent[0], &what, 1) != 1))
		_exit(5);
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	const long a = (unsigned char *)info->si_addr - at, rip = (unsigned char *)uc->uc_mcontext.gregs[REG_RIP] - at;
	printf("  fault %d:%d at %ld", signo, info->si_code, a);
	if (rip >= 0 && rip < PAGES * PAGE)
		printf(" rip %ld", rip);
	printf("\n");
	if (++faults > 100)
		_exit(6);
	ask((unsigned char)(a / PAGE));
}

static void child(void)
{
	unsigned char c;
	while (read(to_child[0], &c, 1) == 1 && c != END) {
		grow(c);
		if (write(to_parent[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

static int call(int offset)
{
	return ((int (*)(void))(at + offset))();
}

static void use(int page, int write_too)
{
	if (page % 2)
		printf("data %d\n", at[page * PAGE + 17]);
	printf("code %d\n", call(page * PAGE + 16));
	if (page)
		printf("straddling %d\n", call(page * PAGE - 3));
	if (!write_too)
		return;
	at[page * PAGE + 17] += 10;
	printf("changed %d\n", call(page * PAGE + 16));
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	const int write_too = argc > 1, prot = PROT_READ | PROT_EXEC | (write_too ? PROT_WRITE : 0);
	(void)argv;
	setvbuf(stdout, NULL, _IONBF, 0);
	fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (pipe(to_child) || pipe(to_parent))
		return 3;
	if (!fork())
		child();
	at = mmap(NULL, PAGES * PAGE, prot, MAP_SHARED, fd, 0);
	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	for (int k = 0; k < 3 * PAGES; k++)
		use(k % PAGES, write_too);
	/* the kernel's store to what is beyond the end, and no longer is */
	const int zero = open("/dev/zero", O_RDONLY);
	for (int page = 0; page < 4; page += 3) {
		ask((unsigned char)page);
		const ssize_t n = read(zero, at + 3 * PAGE, 100);
		printf("read %zd %d\n", n, n < 0 ? errno : 0);
	}
	ask(END);
	wait(NULL);
	return 0;
}
EOF
for program in "./growing" "./growing write"; do
	for options in "-f none" "-f dep" "--sink=count"; do
		read -ra RECORD_OPTIONS <<<"$options"
		same_as_native $program
	done
	RECORD_OPTIONS=()
	verify_clean $program
done
