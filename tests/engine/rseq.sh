# The engine has no rseq; what goes with it is missing too, as in a kernel built without it: tcmalloc complains of a half.
. "$(dirname "$0")/../lib.sh"
cc_program rseq -D_GNU_SOURCE <<'END'
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static char area[32] __attribute__((aligned(32)));
int main(void)
{
	const long kinds = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
	long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	int rseq = syscall(SYS_rseq, area, 32, 0, 0x53053053) ? errno : 0;
	int made = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) ? errno : 0;
	int other = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ? errno : 0;
	printf("rseq %s, barrier %s %s, others %d %d\n", rseq == ENOSYS ? "unknown" : "there", made == EINVAL ? "unknown" : "there",
	       known & kinds ? "listed" : "not listed", known & ~kinds ? 1 : 0, other);
	return 0;
}
END
"$TW" record -q -f none -o r.tw ./rseq >found || fail "status $?"
[ "$(cat found)" = "rseq unknown, barrier unknown not listed, others 1 0" ] || fail "$(cat found)"
