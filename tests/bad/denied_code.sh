# Processes that are denied memory both written and executed: what a recorded one executes then runs as natively; record itself says so.
. "$(dirname "$0")/../lib.sh"
cc_program deny <<'E'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* deny filter|1|3 CMD...: executes CMD where a filter, or PR_SET_MDWE (3: not inherited), denies it. 77: it cannot be denied here. */
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 6),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	if (argc < 3)
		return 2;
	if (atoi(argv[1]) ? prctl(65, atoi(argv[1]), 0, 0, 0) : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &p))
		return 77;
	execvp(argv[2], argv + 2);
	return 1;
}
E
for how in filter 1 3; do
	./deny $how true
	[ $? != 77 ] || { untested "memory both written and executed denied: $how"; continue; }
	same_as_native ./deny $how sh -c 'echo inside; echo more | cat; exit 5'
	[ $how != 1 ] || "$TW" dump --raw recording.tw | grep -q "executed natively, unrecorded: .*PR_SET_MDWE" || fail "the recording does not say what was executed natively"
	if [ $how = 3 ]; then
		./deny $how "$TW" record -q -o r.tw true || fail "denied to the recorder alone: status $?"
	else
		one_sentence ./deny $how "$TW" record -o r.tw true
		says "both written and executed"
	fi
done
