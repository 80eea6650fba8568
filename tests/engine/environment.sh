# What a program sees of its surroundings is what it sees natively: environment, arguments, auxiliary vector, descriptors, limits, names.
. "$(dirname "$0")/../lib.sh"
export ODD=$'a\nb=c \x01' LD_LIBRARY_PATH=/no/such:/lib EMPTY=
whole env
same_as_native /bin/echo a '' 'b c' '*' $'d\ne' -o -- --verify
same_as_native cat /proc/self/cmdline
same_as_native cat /proc/self/comm
same_as_native readlink /proc/self/exe
same_as_native sh -c 'tr "\0" "\n" </proc/$$/cmdline; cat /proc/$$/comm'
same_as_native ls /proc/self/fd
same_as_native sh -c 'exec 7</dev/null 9>/dev/null; ls /proc/self/fd'
same_as_native sh -c 'ulimit -a; umask; pwd; tty'
same_as_native sh -c 'nice -n 3 nice'
ln -s /bin/echo link
same_as_native ./link through a link
cc_program about -D_GNU_SOURCE <<'END'
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <unistd.h>
extern char **environ;
extern char _start[];
extern int main(int argc, char **argv);
int main(int argc, char **argv)
{
	char exe[4096] = "";
	for (int i = 0; i < argc; i++)
		printf("argv[%d] %s\n", i, argv[i]);
	printf("%zd %s\n", readlink("/proc/self/exe", exe, sizeof exe - 1), strrchr(exe, '/'));
	printf("execfn %s, entry %d, phdr %d, phent %lu, phnum %d, page %lu, clock %lu, secure %lu, base %d, vdso %d, random %d\n",
	       (char *)getauxval(AT_EXECFN), getauxval(AT_ENTRY) == (unsigned long)_start, getauxval(AT_PHDR) != 0, getauxval(AT_PHENT),
	       getauxval(AT_PHNUM) > 3, getauxval(AT_PAGESZ), getauxval(AT_CLKTCK), getauxval(AT_SECURE), getauxval(AT_BASE) != 0,
	       getauxval(AT_SYSINFO_EHDR) != 0, getauxval(AT_RANDOM) != 0);
	printf("uid %lu %lu gid %lu %lu hwcap %lx %lx platform %s\n", getauxval(AT_UID), getauxval(AT_EUID), getauxval(AT_GID), getauxval(AT_EGID),
	       getauxval(AT_HWCAP), getauxval(AT_HWCAP2), (char *)getauxval(AT_PLATFORM));
	/* argv, envp and auxv stand where the ABI says */
	printf("envp follows argv: %d\n", (char **)&argv[argc + 1] == environ);
	char **e = environ;
	while (*e)
		e++;
	for (ElfW(auxv_t) *a = (void *)(e + 1); a->a_type; a++)
		if (a->a_type == AT_PHNUM)
			puts("auxv follows envp");
	char *heap = sbrk(0);
	printf("brk %d", sbrk(100000) == heap);
	memset(heap, 1, 100000);
	printf(" %d", (char *)sbrk(0) == heap + 100000);
	printf(" %d\n", brk(heap) == 0 && sbrk(0) == heap);
	printf("parent %d\n", getppid() > 1);
	printf("personality %x\n", personality(0xffffffff));
	/* /proc/self/maps names the program and says where its code is */
	char line[4096];
	int named = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f))
		named += strstr(line, "/about\n") != NULL;
	printf("in maps: %d\n", named > 0);
	return 0;
}
END
whole ./about one two
$CC -O1 -D_GNU_SOURCE -static -no-pie -o about about.c || fail "static"
whole ./about
$CC -O1 -D_GNU_SOURCE -static-pie -fPIE -o about about.c || fail "static PIE"
whole ./about
# What others see of it: /proc, ps; and titles, for which programs use arguments and environment as one piece
cc_program seen -D_GNU_SOURCE <<'END'
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
extern char **environ;
static char text[1 << 20];
static long get(const char *path)
{
	int fd = open(path, O_RDONLY);
	long n = 0, k;
	while ((k = read(fd, text + n, sizeof text - (size_t)n)) > 0)
		n += k;
	close(fd);
	return n;
}
/* Is the text just these strings? */
static int is(char **strings, long n)
{
	char *at = text;
	for (; *strings; at += strlen(at) + 1)
		if (at >= text + n || strcmp(at, *strings++))
			return 0;
	return at == text + n;
}
int main(int argc, char **argv)
{
	printf("arguments %d\n", is(argv, get("/proc/self/cmdline")));
	printf("environment %d\n", is(environ, get("/proc/self/environ")));
	get("/proc/self/auxv");
	for (Elf64_auxv_t *a = (void *)text; a->a_type; a++)
		if (getauxval(a->a_type) != a->a_un.a_val)
			printf("another value of %lu in auxv\n", (unsigned long)a->a_type);
	char *end = argv[0];
	for (int i = 0; i < argc; i++)
		end += argv[i] == end ? strlen(end) + 1 : 0;
	for (char **e = environ; *e; e++)
		end += *e == end ? strlen(end) + 1 : 0;
	printf("room for a title %ld\n", (long)(end - argv[0]));
	memset(argv[0], 0, (size_t)(end - argv[0]));
	memset(argv[0], 't', (size_t)(end - argv[0]) - 1);
	printf("title %ld\n", get("/proc/self/cmdline"));
	puts(text);
	return 0;
}
END
if ! zgrep -q '^# CONFIG_CHECKPOINT_RESTORE' /proc/config.gz 2>/dev/null; then
	whole ./seen one two
	same_as_native env -i ./seen
fi
# LD_PRELOAD is the program's
cc_program preload.so -shared -fPIC <<'END'
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { puts("loaded"); }
END
same_as_native env LD_PRELOAD="$TMP/preload.so" ./about
grep -q loaded native.out && fail "a static program loads nothing"
same_as_native env LD_PRELOAD="$TMP/preload.so" /bin/echo hello
grep -q loaded recorded.out || fail "LD_PRELOAD did not reach the program"
# Standard input is the program's
echo 'some input' >input
STDIN=input
same_as_native cat
"$TW" record -q -o closed.tw -- cat <&- >closed.out 2>closed.err
cat <&- >native.out 2>native.err
cmp -s native.err closed.err || fail "a closed standard input is seen otherwise"
# The stack is the same each time, whatever numbers the recorder has for its files
fixed_addresses || {
	untested "stacks at the same place: addresses cannot be fixed here (setarch -R)"
	exit 0
}
cc_program addresses -static <<'END'
#include <stdio.h>
int main(int argc, char **argv) { return argc != 1 || printf("%p %p\n", (void *)argv, (void *)argv[0]) < 0; }
END
setarch -R "$TW" record -q -o few.tw ./addresses >few || fail "addresses"
(
	for n in {3..120}; do eval "exec $n</dev/null"; done
	setarch -R "$TW" record -q -o many.tw ./addresses >many
) || fail "addresses with many files open"
cmp few many || fail "the stack depends on the recorder's files: $(cat few many)"
