# dump --syscalls: calls by name with arguments, results and names of files, of all threads and processes; and their names in dump --order.
. "$(dirname "$0")/../lib.sh"
cc_program calls -pthread <<'END_C'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *thread(void *arg)
{
	mkdir("made by a thread", 0750);
	return arg;
}
int main(void)
{
	char line[8192];
	int fd = open("a file", O_CREAT | O_WRONLY, 0640);
	if (write(fd, "12345", 5) != 5)
		return 1;
	if (writev(fd, (struct iovec[]){{"ab", 2}, {"cde", 3}}, 2) != 5)
		return 1;
	close(fd);
	rename("a file", "another");
	open("not there", O_RDONLY);
	memset(line, 'x', sizeof line);
	line[1000] = 0;
	access(line, R_OK);
	access((void *)16, R_OK);
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		rmdir("made by a thread");
		_exit(0);
	}
	wait(NULL);
	return printf("%d\n", getpid()) < 0;
}
END_C
recorded ./calls
pid=$(cat recorded.out)
"$TW" dump --syscalls recording.tw >calls.out || fail "dump --syscalls"
has() { grep -qE -- "$1" calls.out || { tail -n 30 calls.out; fail "dump --syscalls has no line '$1'"; }; }
main="^[0-9]+\.[0-9]+ 0 $pid/$pid "
has "${main}open(at)?\((AT_FDCWD, )?\"a file\", 0x41, 0640\) = [0-9]+ <[0-9]+\.[0-9]+> .*\(libc"
has "${main}write\([0-9]+, 0x[0-9a-f]+, 5\) = 5 "
has "${main}writev\([0-9]+, 0x[0-9a-f]+, 2\) = 5 \[0x[0-9a-f]+\+2, 0x[0-9a-f]+\+3\] <"
has "${main}rename(at2?)?\((AT_FDCWD, )?\"a file\", (AT_FDCWD, )?\"another\"(, 0)?\) = 0 "
has "${main}open(at)?\((AT_FDCWD, )?\"not there\", 0, 0\) = -1 ENOENT "
has "\"x{255}\", 04\) = -1 ENAMETOOLONG|\"x{255}\", 04\) = -1 ENOENT"
has "(\"\"|0x10), 04\) = -1 EFAULT"
has "^[0-9.]+ 1 $pid/[0-9]+ mkdir\(\"made by a thread\", 0750\) = 0 "
has "^[0-9.]+ 2 ([0-9]+)/\1 rmdir\(\"made by a thread\"\) = 0 "
[ "$("$TW" dump --order recording.tw | grep -c ' syscall ')" = "$(wc -l <calls.out)" ] || fail "dump --order has other calls"
"$TW" dump --order recording.tw | grep -qE ' syscall [0-9]+ [0-9]+ (rename|renameat|renameat2)$' || fail "dump --order does not name calls"
[ "$("$TW" dump --syscalls --thread 1 recording.tw | awk '$2 != 1' | wc -l)" = 0 ] || fail "dump --syscalls --thread"
[ "$("$TW" dump --syscalls --from 2 --count 3 recording.tw)" = "$(sed -n 3,5p calls.out)" ] || fail "dump --syscalls --from --count"
check_good
