#include "engine/kernel/status.h"
#include "engine/kernel/process.h"
#include "engine/record/room.h"
#include "engine/signal/show.h"
#include "engine/thread.h"
#include <asm/statfs.h>
#include <asm/unistd.h>
#include <linux/magic.h>
#include <linux/fs.h>

#define TEXT_BYTES   16384u
#define KNOWN_FDS    1024u
#define HEX_DIGITS   16u
#define STAT_SIGNALS 31u         /* the first of four fields, counted from 1 */
#define STAT_BITS    0x7fffffffu /* of each set, as the kernel shows them there */
#define ERROR_EFAULT (-14)

static u64 known[KNOWN_FDS / 64];

/* The text of the file read last: a file read piece by piece must be one consistent text. */
static tw_lock_t lock;
static struct {
	u64 fd;
	u64 bytes;
	char text[TEXT_BYTES];
} last = {.fd = ~0ull};

/* ---- whose it is ---- */

/* The directory in /proc of this file. */
static void find_directory(u64 fd, char *path, u64 room)
{
	char link[32];
	tw_format(link, sizeof link, "/proc/self/fd/%d", (int)fd);
	const i64 n = tw_sys(__NR_readlink, link, path, room - 1);
	path[n > 0 ? n : 0] = 0;
	const u64 base = strlen(tw_base_name(path)), all = strlen(path);
	path[all > base ? all - base - 1 : 0] = 0;
}

/* What thread `tid`, of this or another process, would show in this file. False: not recorded. */
static bool find(u64 fd, u32 tid, struct tw_slot_signals *s)
{
	char directory[96];
	u32 slot, first;
	const bool namespaces = tw_process_has_namespaces();
	if (namespaces)
		find_directory(fd, directory, sizeof directory);
	const struct thread *t = namespaces ? NULL : tw_thread_of(tid);
	if (!t && !tw_process_shown(directory, tid, &slot, &first))
		return false;
	if (!t && (t = tw_thread_of(tw_engine.control->slot[slot].tid)) && t->record->slot != slot)
		t = NULL;
	if (t) {
		tw_signal_tell(t, s);
		return true;
	}
	const struct tw_slot *own = &tw_engine.control->slot[slot], *process = &tw_engine.control->slot[first];
	*s = own->signals;
	s->ignored = process->signals.ignored;
	s->caught = process->signals.caught;
	s->shared = process->signals.shared;
	return true;
}

/* Pending signals: the kernel's, without marks for signals that the engine keeps, and the engine's. */
static u64 pending(u64 kernel, const struct tw_slot_signals *s)
{
	return (kernel & ~(TW_SYNC_SIGNALS & (s->pending | s->shared))) | s->pending;
}

static u64 pending_shared(u64 kernel, const struct tw_slot_signals *s)
{
	return kernel | s->shared;
}

static u64 ignored(u64 kernel, const struct tw_slot_signals *s)
{
	return (kernel & ~TW_SYNC_SIGNALS) | s->ignored;
}

/* ---- the text ---- */

/* What follows this label at the start of a line, or NULL. */
static char *behind(char *text, const char *label)
{
	for (char *s = text; *s; s++)
		if ((s == text || s[-1] == '\n') && tw_starts_with(s, label))
			return s + strlen(label);
	return NULL;
}

static u64 decimal(const char *s)
{
	u64 n = 0;
	while (*s >= '0' && *s <= '9')
		n = n * 10 + (u64)(*s++ - '0');
	return n;
}

static u64 hex(const char *s)
{
	u64 n = 0;
	for (u32 k = 0; k < HEX_DIGITS; k++)
		n = n << 4 | (u64)(s[k] <= '9' ? s[k] - '0' : s[k] - 'a' + 10);
	return n;
}

static void put_hex(char *s, u64 value)
{
	for (u32 k = HEX_DIGITS; k--; value >>= 4)
		s[k] = "0123456789abcdef"[value & 15];
}

static bool rewrite_status(u64 fd, char *text)
{
	struct tw_slot_signals s;
	const char *pid = behind(text, "Pid:\t");
	char *own = behind(text, "SigPnd:\t"), *all = behind(text, "ShdPnd:\t"), *blk = behind(text, "SigBlk:\t"),
	     *ign = behind(text, "SigIgn:\t"), *cgt = behind(text, "SigCgt:\t");
	if (!pid || !own || !all || !blk || !ign || !cgt || !find(fd, (u32)decimal(pid), &s))
		return false;
	put_hex(own, pending(hex(own), &s));
	put_hex(all, pending_shared(hex(all), &s));
	put_hex(blk, s.blocked);
	put_hex(ign, ignored(hex(ign), &s));
	put_hex(cgt, s.caught);
	return true;
}

/* Field n, which is 3 or more: the field before is in parentheses and may contain anything. */
static char *field(char *text, u32 n)
{
	char *s = text + strlen(text);
	while (s > text && *s != ')')
		s--;
	for (u32 k = 2; *s && k < n; k++)
		do
			s++;
		while (*s && *s != ' ');
	return *s ? s + 1 : NULL;
}

/* Replaces the four numbers; what follows them moves. */
static bool rewrite_stat(u64 fd, char *text, u64 room)
{
	struct tw_slot_signals s;
	char *from = field(text, STAT_SIGNALS), *ign = field(text, STAT_SIGNALS + 2), *to = field(text, STAT_SIGNALS + 4), now[64];
	if (!from || !ign || !to || !find(fd, (u32)decimal(text), &s))
		return false;
	const u64 bytes =
	    tw_format(now, sizeof now, "%u %u %u %u ", (u32)(pending(decimal(from), &s) & STAT_BITS), (u32)(s.blocked & STAT_BITS),
	              (u32)(ignored(decimal(ign), &s) & STAT_BITS), (u32)(s.caught & STAT_BITS));
	const u64 rest = strlen(to) + 1;
	if ((u64)(from - text) + bytes + rest > room)
		return false;
	memmove(from + bytes, to, rest);
	memmove(from, now, bytes);
	return true;
}

static bool is_status(const char *s)
{
	return tw_starts_with(s, "Name:\t");
}

static bool is_stat(const char *s)
{
	const char *p = s;
	while (*p >= '0' && *p <= '9')
		p++;
	return p != s && p[0] == ' ' && p[1] == '(';
}

/* ---- the file ---- */

bool tw_status_in_proc(u64 fd)
{
	struct statfs st;
	return !tw_failed(tw_sys(__NR_fstatfs, fd, &st, 0)) && st.f_type == PROC_SUPER_MAGIC;
}

static void know(u64 fd, bool it)
{
	if (fd >= KNOWN_FDS)
		return;
	if (it)
		__atomic_fetch_or(&known[fd / 64], 1ull << fd % 64, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&known[fd / 64], ~(1ull << fd % 64), __ATOMIC_RELAXED);
}

bool tw_status_known(u64 fd)
{
	return fd < KNOWN_FDS && known[fd / 64] >> fd % 64 & 1;
}

void tw_status_opened(u64 fd, const char *name)
{
	const bool is_one = (tw_streq(name, "status") || tw_streq(name, "stat")) && tw_status_in_proc(fd);
	if (is_one != tw_status_known(fd)) /* one that was closed since may have had this number */
		know(fd, is_one);
}

bool tw_status_begins(u64 buffer, i64 bytes)
{
	char begin[16];
	if (bytes < (i64)sizeof begin || !tw_copy(begin, (void *)buffer, sizeof begin))
		return false;
	begin[sizeof begin - 1] = 0;
	return is_status(begin) || is_stat(begin);
}

void tw_status_forked(void)
{
	lock = 0;
	last.fd = ~0ull;
}

/* Reads the whole file as it is now into last.text, and changes it to the program's view. */
static bool take(u64 fd)
{
	i64 n;
	last.fd = ~0ull;
	last.bytes = 0;
	while ((n = tw_sys4(__NR_pread64, fd, last.text + last.bytes, TEXT_BYTES - 1 - last.bytes, last.bytes)) > 0)
		last.bytes += (u64)n;
	last.text[last.bytes] = 0;
	if (tw_failed(n) || last.bytes == TEXT_BYTES - 1)
		return false;
	if (is_status(last.text) ? !rewrite_status(fd, last.text) : !is_stat(last.text) || !rewrite_stat(fd, last.text, TEXT_BYTES))
		return false;
	last.bytes = strlen(last.text);
	last.fd = fd;
	return true;
}

i64 tw_status_read(u64 fd, u64 offset, u64 to, u64 n, bool moves)
{
	if (!tw_status_in_proc(fd)) {
		know(fd, false);
		return TW_STATUS_PASS;
	}
	tw_lock(&lock);
	const bool taken = (offset && last.fd == fd) || take(fd);
	const u64 left = taken && offset < last.bytes ? last.bytes - offset : 0, bytes = n < left ? n : left;
	const bool copied = taken && tw_copy((void *)to, last.text + offset, bytes);
	tw_unlock(&lock);
	if (!taken)
		return TW_STATUS_PASS;
	know(fd, true);
	if (copied && moves)
		tw_sys(__NR_lseek, fd, offset + bytes, SEEK_SET);
	return copied ? (i64)bytes : ERROR_EFAULT;
}
