# Programs that take all memory there is, and programs that give all back that is not their own: what they get is what they get natively.
. "$(dirname "$0")/../lib.sh"
# Every hole of the address space, twice; then another process and another program, for which nothing is left.
cc_program holes -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *take(size_t n)
{
	return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
/* The largest piece that can be had, which is given back. */
static size_t probe(void)
{
	size_t lo = 0, hi = (size_t)1 << 36; /* pages */
	while (hi - lo > 1) {
		const size_t mid = (lo + hi) / 2;
		void *p = take(mid << 12);
		if (p == MAP_FAILED)
			hi = mid;
		else if (munmap(p, mid << 12))
			printf("not given back\n");
		if (p != MAP_FAILED)
			lo = mid;
	}
	return lo << 12;
}
int main(int argc, char **argv)
{
	static struct {
		void *at;
		size_t bytes;
	} hole[1000];
	if (argc > 1)
		return printf("another program\n") < 0;
	setvbuf(stdout, malloc(4096), _IOFBF, 4096);
	for (int round = 0; round < 2; round++) {
		int n = 0;
		for (size_t bytes; n < 1000 && (bytes = probe()); n++) {
			hole[n].at = take(bytes);
			hole[n].bytes = bytes;
			if (hole[n].at == MAP_FAILED)
				return printf("%zx bytes are there only once: %s\n", bytes, strerror(errno));
		}
		printf("nothing left %d\n", n < 1000);
		fflush(stdout);
		int status, pid = fork();
		if (!pid && round)
			execl(argv[0], argv[0], "again", (char *)NULL);
		if (!pid)
			_exit(round ? errno : 7);
		waitpid(pid, &status, 0);
		printf("child %x\n", status);
		while (n--)
			if (munmap(hole[n].at, hole[n].bytes))
				printf("not given back\n");
	}
	return 0;
}
EOF
# Everything that is not its own code is unmapped: the engine's stays, and cannot be seen to.
asm_program alone <<'EOF'
	.intel_syntax noprefix
	.globl _start
_start:
	mov	r12d, 1000
	lea	r13, work[rip]
	call	r13
	mov	edi, 0x8000000
	movabs	rsi, 0x7ffff7fff000
	mov	eax, 11			# munmap: all that is behind the program
	syscall
	mov	rbx, rax
	mov	r12d, 1000000
	jmp	2f
1:	rol	r13, 3
2:	add	r13, r12
	dec	r12d
	jnz	1b
	mov	eax, 39			# getpid
	syscall
	mov	edi, 0x7fff0000
	movabs	rsi, 0x7fff7ffff000
	mov	eax, 11			# again: nothing is there
	syscall
	or	rbx, rax
	mov	edi, r13d
	xor	edi, ebx
	and	edi, 127
	mov	eax, 231		# exit_group
	syscall
work:	dec	r12d
	jnz	work
	ret
EOF
for options in "-f none" "-f dep" "-f cf_bit" "--sink=count"; do
	read -ra RECORD_OPTIONS <<<"$options"
	same_as_native ./alone
	asan || same_as_native ./holes # the sanitizer's program has little left itself
done
RECORD_OPTIONS=()
verify_clean ./alone

# Under a limit: as many blocks as natively, again and again.
cc_program blocks -D_GNU_SOURCE <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
int main(int argc, char **argv)
{
	const struct rlimit limit = {400000000, 400000000};
	if (setrlimit(argc > 1 && !strcmp(argv[1], "data") ? RLIMIT_DATA : RLIMIT_AS, &limit))
		return 1;
	for (int round = 0; round < 3; round++) {
		void **list = NULL, **p;
		int n = 0;
		for (; (p = malloc(1000000)); list = p, n++)
			*p = list;
		printf("%d\n", n);
		for (; list; list = p) {
			p = *list;
			free(list);
		}
	}
	return 0;
}
EOF
for kind in space data; do
	native ./blocks "$kind"
	for options in "-f none" "-f dep" "--sink=count"; do
		read -ra RECORD_OPTIONS <<<"$options"
		recorded ./blocks "$kind"
		paste native.out recorded.out | awk '$2 < $1 || $2 > $1 + 2 { exit 1 }' || {
			paste native.out recorded.out
			fail "record $options ./blocks $kind: not so many as natively"
		}
	done
done
