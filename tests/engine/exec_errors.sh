# What cannot be executed: the error is the kernel's, and the process goes on. Scripts executed through a descriptor, or with long first lines, run as they do natively.
. "$(dirname "$0")/../lib.sh"
cc_program attempt -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char *environment[] = {NULL};
static void told(const char *what, pid_t child)
{
	int status;
	waitpid(child, &status, 0);
	printf("%.40s: %x\n", what, status);
	fflush(stdout);
}
static void path(const char *p)
{
	char *argv[] = {(char *)p, "x", NULL};
	pid_t child = vfork();
	if (!child) {
		execve(p, argv, environment);
		_exit(errno);
	}
	told(p, child);
}
static void at(const char *what, int fd, const char *p, char **argv, char **envp, int flags)
{
	pid_t child = fork();
	if (!child) {
		syscall(SYS_execveat, fd, p, argv, envp, flags);
		_exit(errno);
	}
	told(what, child);
}
int main(int argc, char **argv)
{
	static char slashes[5000], large[140000];
	char *plain[] = {"plain", NULL}, *many[40], *bad[] = {"x", (char *)8, NULL};
	int here = open(".", O_PATH), script = open("script", O_RDONLY), closed = open("script", O_RDONLY | O_CLOEXEC);
	for (int i = 1; i < argc; i++)
		path(argv[i]);
	memset(slashes, '/', sizeof slashes - 1);
	path(slashes);
	memset(large, 'x', 130000);
	for (int i = 0; i < 39; i++)
		many[i] = large;
	many[39] = NULL;
	at("below a directory", here, "good", plain, environment, 0);
	at("a path", open("good", O_PATH | O_CLOEXEC), "", plain, environment, AT_EMPTY_PATH);
	at("no empty path", here, "", plain, environment, 0);
	at("a script", script, "", plain, environment, AT_EMPTY_PATH);
	at("a script below", here, "script", plain, environment, 0);
	at("a script that closes", closed, "", plain, environment, AT_EMPTY_PATH);
	at("a link", here, "link", plain, environment, AT_SYMLINK_NOFOLLOW);
	at("no link", here, "good", plain, environment, AT_SYMLINK_NOFOLLOW);
	at("flags", here, "good", plain, environment, 0x123);
	at("no descriptor", 99, "good", plain, environment, 0);
	at("an absolute path", 99, "/bin/true", plain, environment, 0);
	at("arguments", AT_FDCWD, "good", many, environment, 0);
	at("bad argument", AT_FDCWD, "good", bad, environment, 0);
	at("bad variable", AT_FDCWD, "good", plain, bad, 0);
	at("bad variables", AT_FDCWD, "good", plain, (char **)8, 0);
	at("no arguments", AT_FDCWD, "good", NULL, NULL, 0);
	for (int i = 0; i < 2; i++) {
		const char *written = i ? "busy-script" : "busy";
		int fd = open(written, O_WRONLY);
		path(written);
		path("on-busy");
		close(fd);
		path(written);
	}
	return 0;
}
EOF
cp /bin/true good
cp good mode && chmod -x mode
for bytes in 0 3 63 100; do head -c $bytes good >short$bytes; done
# wrong NAME OFFSET BYTES: a program with these bytes in its header
wrong() {
	cp good "$1"
	printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
wrong machine 18 '\x03'
wrong relocatable 16 '\x01'
wrong entries 54 '\x01'
wrong none 56 '\x00\x00'
wrong offset 37 '\x09'
wrong interpreter "$(grep -abo -m1 /lib64/ld-linux good | head -n 1 | cut -d : -f 1)" '/lib65'
printf '#!/no/such\n' >missing
printf '#!\n' >nobody
printf '#!./itself\n' >itself
printf '#!/tmp\n' >directory
printf '#!./good' >unended
printf 'exit 3\n' >nothing
printf '#!/bin/sh\necho "$0"; [ "$0" = ./script ] && cat /proc/$$/comm; exit 9\n' >script
printf '#!/bin/echo %0400d\n' 0 >long
printf '#!/%0400d\n' 0 >longer
printf '#!/bin/echo %0242d\nx' 0 >just
chmod +x short* missing nobody itself directory unended nothing script long longer just
ln -s good link
mkfifo pipe && printf '#!./pipe\n' >on-pipe && chmod +x pipe on-pipe
cp good busy && cp script busy-script
printf '#!./busy\n' >on-busy && chmod +x on-busy
[ "$(printf '6.8\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.8 ] || rm busy busy-script # before, the engine cannot know
ln -s loop1 loop2 && ln -s loop2 loop1
for RECORD_OPTIONS in "-f none" "--sink=count"; do
	read -ra RECORD_OPTIONS <<<"$RECORD_OPTIONS"
	same_as_native ./attempt ./good /tmp ./none-such ./mode ./short{0,3,63,100} ./machine ./relocatable ./entries ./none ./offset ./interpreter ./missing \
		./nobody ./itself ./directory ./unended ./nothing ./script ./long ./longer ./just ./link ./pipe ./on-pipe /dev/zero ./loop1 "" /bin/true/x
done
# what is recorded itself
same_as_native ./script
same_as_native ./just
