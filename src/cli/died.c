#include "cli/died.h"
#include "analyze/crash.h"
#include "report/printable.h"
#include "names/names.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Instructions replayed for a call path; number of crashes reported. */
enum { PATH_INSNS = 100000000, MOST_CRASHES = 16, MOST_OTHERS = 4, MOST_FRAMES = 40 };

/* A crash, looked into. */
struct died {
	const struct tw_recording *recording;
	struct tw_names *names;
	const struct tw_thread_info *thread;
	const struct tw_fault *fault;
	uint32_t image;
	struct tw_undone undone;
	struct tw_backtrace path;
};

const char *tw_signal_name(int number, char to[24])
{
	const char *name = sigabbrev_np(number);
	if (name)
		snprintf(to, 24, "SIG%s", name);
	else
		snprintf(to, 24, "signal %d", number);
	return to;
}

static void look_into(struct died *d, const struct tw_crash *crash)
{
	const struct tw_backtrace_options options = {.insns = PATH_INSNS};
	d->thread = tw_recording_thread(d->recording, crash->thread);
	d->fault = &crash->fault;
	d->image = tw_names_image(d->names, d->thread->serial);
	d->undone = tw_crash_access(d->recording, NULL, d->fault);
	if (tw_backtrace(d->recording, crash->thread, &options, &d->path))
		d->path.n_frames = 0; /* damage is told elsewhere */
}

/* ---- words ---- */

/* Whether the kernel raised the signal for an instruction of the thread; otherwise it was sent. */
static int is_fault(const struct tw_fault *f)
{
	return f->code > 0 &&
	       (f->number == SIGSEGV || f->number == SIGBUS || f->number == SIGFPE || f->number == SIGILL || f->number == SIGTRAP);
}

static int is_canonical(uint64_t address)
{
	return (uint64_t)((int64_t)(address << 16) >> 16) == address;
}

/* The thread went to where no code can be. */
static int is_execution(const struct tw_fault *f)
{
	return f->access == TW_ACCESS_EXECUTE || !is_canonical(f->pc);
}

/* Right below the stack: nearer than the usual size of a frame. */
static int is_below_stack(const struct tw_fault *f)
{
	enum { FRAME = 65536, PAGE = 4096 };
	const uint64_t page = f->regs[TW_RSP] & ~(uint64_t)(PAGE - 1);
	return f->address < page + PAGE && f->address + FRAME > f->regs[TW_RSP];
}

static const char *reason_of(const struct tw_fault *f)
{
	if (f->number == SIGSEGV && f->code == SEGV_MAPERR && is_below_stack(f))
		return ", beyond the limit of the stack: stack overflow (ulimit -s)";
	if (f->number == SIGSEGV && f->code == SEGV_MAPERR)
		return ", where nothing is mapped";
	if (f->number == SIGSEGV && f->code == SEGV_ACCERR)
		return ", which its mapping does not allow";
	if (!is_canonical(f->pc))
		return ", which is not a canonical address";
	if (f->number == SIGSEGV && f->code == SI_KERNEL)
		return ", which is not a canonical address, or an instruction that is not allowed";
	if (f->number == SIGBUS && f->code == BUS_ADRERR)
		return ", beyond the end of the mapped file";
	if (f->number == SIGBUS && f->code == BUS_ADRALN)
		return ", which is not aligned";
	return "";
}

/* What faulted that is no access to memory. */
static const char *deed_of(const struct tw_fault *f)
{
	if (f->number == SIGFPE)
		return f->code == FPE_INTDIV ? "a division by zero" : "a floating-point error";
	if (f->number == SIGILL)
		return "an instruction that the processor does not have";
	return f->code == TRAP_TRACE ? "a single step" : "a breakpoint (int3)";
}

/* Who sent the signal, or why the kernel did. */
static void put_sender(FILE *f, const struct died *d)
{
	static const struct {
		int number, from_kernel; /* 1: only where no process is told as the sender */
		const char *why;
	} known[] = {
	    {SIGINT, 1, "sent by the terminal (Ctrl-C)"},
	    {SIGQUIT, 1, "sent by the terminal (Ctrl-\\)"},
	    {SIGHUP, 1, "its terminal was closed"},
	    {SIGALRM, 1, "a timer expired"},
	    {SIGXCPU, 1, "the CPU time limit was exceeded (ulimit -t)"},
	    {SIGSYS, 1, "a system call forbidden by a filter (seccomp)"},
	    {SIGPIPE, 0, "a write to a pipe or socket without a reader"},
	    {SIGXFSZ, 0, "the file size limit was exceeded (ulimit -f)"},
	};
	const uint32_t sender = d->fault->sender;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].number == (int)d->fault->number && (!sender || (!known[i].from_kernel && sender == d->thread->pid))) {
			fputs(known[i].why, f);
			return;
		}
	if (!sender)
		fputs("sent by the kernel", f);
	else if (sender == d->thread->pid)
		fputs("sent by the process itself", f);
	else
		fprintf(f, "sent by process %u", sender);
}

/* What was attempted: "read of 4 bytes at 0x18, where nothing is mapped". */
static void put_attempt(FILE *f, const struct died *d)
{
	static const char *const words[] = {"access", "read", "write", "read and write"};
	const struct tw_fault *fault = d->fault;
	if (!is_fault(fault)) {
		put_sender(f, d);
		return;
	}
	if (fault->number != SIGSEGV && fault->number != SIGBUS) {
		fputs(deed_of(fault), f);
		return;
	}
	if (is_execution(fault)) {
		fprintf(f, "execution at 0x%" PRIx64 "%s", fault->pc, reason_of(fault));
		return;
	}
	if (d->undone.size)
		fprintf(f, "%s of %" PRIu32 " byte%s", words[d->undone.type & 3], d->undone.size, d->undone.size == 1 ? "" : "s");
	else
		fputs(words[d->undone.type & 3], f);
	if (d->undone.address || fault->access)
		fprintf(f, " at 0x%" PRIx64, d->undone.address);
	const int is_misaligned = !fault->access && d->undone.size && is_canonical(d->undone.address);
	fputs(is_misaligned ? ", which is not aligned" : reason_of(fault), f);
}

/* The frames of one piece of code, inlined functions first. `how`: for the first of them; `times`: number of equal calls in a row. */
static void put_code(FILE *f, const struct died *d, uint64_t pc, const char *how, size_t times)
{
	struct tw_code_name name;
	tw_names_code(d->names, d->image, pc, &name);
	for (unsigned i = 0; i < name.n_frames; i++) {
		const struct tw_name_frame *frame = &name.frame[i];
		fprintf(f, "  %-12s ", i ? "inlined in" : how);
		tw_print_safe(f, frame->function);
		if (frame->line) {
			fputs(" at ", f);
			tw_print_safe(f, tw_base_name(frame->file));
			fprintf(f, ":%" PRIu32, frame->line);
		}
		if (i + 1 == name.n_frames && name.known) {
			fputs(" (", f);
			tw_print_safe(f, name.module);
			fprintf(f, "+0x%" PRIx64 ")", name.vaddr);
		}
		if (i + 1 == name.n_frames && times > 1)
			fprintf(f, ", %zu times", times);
		fputc('\n', f);
	}
}

/* How many calls in a row, frame i and its callers, were made at one place. */
static size_t repeats(const struct tw_backtrace *b, size_t i)
{
	size_t n = 1;
	while (n <= i && !b->frames[i].signal && !b->frames[i - n].signal && b->frames[i - n].pc == b->frames[i].pc)
		n++;
	return n;
}

static void put_path(FILE *f, const struct died *d)
{
	const struct tw_backtrace *b = &d->path;
	put_code(f, d, d->fault->pc, "in", 1);
	for (size_t left = b->n_frames, n = 0; left; n++) {
		char name[24], how[48];
		if (n == MOST_FRAMES && left > MOST_FRAMES) {
			fprintf(f, "  ... %zu calls more ...\n", left - MOST_FRAMES);
			left = MOST_FRAMES;
		}
		const struct tw_back_frame *frame = &b->frames[left - 1];
		const size_t times = repeats(b, left - 1);
		if (frame->signal)
			snprintf(how, sizeof how, "%s in", tw_signal_name((int)frame->signal, name));
		put_code(f, d, frame->pc, frame->signal ? how : "called from", times);
		left -= times;
	}
	if (!b->whole)
		fputs("  (earlier calls are not shown: only the end of the thread was replayed)\n", f);
}

static void put_paragraph(FILE *f, const struct died *d)
{
	char name[24];
	fprintf(f, "thread %u (process %u, thread id %u) died of %s: ", d->thread->serial, d->thread->pid, d->thread->tid,
	        tw_signal_name((int)d->fault->number, name));
	put_attempt(f, d);
	fputc('\n', f);
	put_path(f, d);
}

/* ---- the face ---- */

/* Looks into each crash; `each` may end it (non-zero). */
static void for_each(const struct tw_recording *r, struct tw_names *names, int (*each)(void *context, const struct died *d), void *context)
{
	struct tw_crash crashes[MOST_CRASHES];
	size_t n;
	int stop = tw_recording_replayable(r) || tw_crashes(r, crashes, MOST_CRASHES, &n) || !n;
	struct tw_names *own = stop || names ? NULL : tw_names_open(r, NULL);
	names = names ? names : own;
	stop |= !names;
	for (size_t i = 0; !stop && i < n && i < MOST_CRASHES; i++) {
		struct died d = {.recording = r, .names = names};
		look_into(&d, &crashes[i]);
		stop = each(context, &d);
		tw_backtrace_free(&d.path);
	}
	tw_names_close(own);
}

static int print_one(void *context, const struct died *d)
{
	fputc('\n', context);
	put_paragraph(context, d);
	return 0;
}

void tw_died_print(FILE *f, const struct tw_recording *r, struct tw_names *names)
{
	for_each(r, names, print_one, f);
}

struct summary {
	FILE *f;
	int told;
};

static void put_place(FILE *f, const struct tw_code_name *name)
{
	tw_print_safe(f, name->frame[0].function);
	if (name->line) {
		fputs(" at ", f);
		tw_print_safe(f, tw_base_name(name->file));
		fprintf(f, ":%" PRIu32, name->line);
	}
}

/* A library's code, or code in no file; not the program's own. */
static int is_elsewhere(const char *module)
{
	return module[0] == '[' || strstr(module, ".so") != NULL;
}

/*
 * Where it died, or, if that is not code, the instruction that went there. If that is in a library: the nearest
 * caller outside, if possible one with a line.
 */
static void put_where(FILE *f, const struct died *d)
{
	const struct tw_backtrace *b = &d->path;
	struct tw_code_name name;
	char module[256];
	size_t found = b->n_frames;
	tw_names_code(d->names, d->image, d->fault->pc, &name);
	snprintf(module, sizeof module, "%s", name.module);
	if (!is_execution(d->fault))
		put_place(f, &name);
	for (size_t i = b->n_frames; i-- > 0 && !b->frames[i].signal;) {
		tw_names_code(d->names, d->image, b->frames[i].pc, &name);
		if (!strcmp(name.module, module))
			continue;
		if (found == b->n_frames || name.line)
			found = i;
		if (name.line)
			break;
	}
	if (found == b->n_frames || (!is_execution(d->fault) && !is_elsewhere(module)))
		return;
	fputs(is_execution(d->fault) ? "called from " : ", called from ", f);
	tw_names_code(d->names, d->image, b->frames[found].pc, &name);
	put_place(f, &name);
}

static int is_first_process(const struct died *d)
{
	return tw_recording_process_of(d->recording, tw_recording_find_thread(d->recording, d->thread->serial)) == 0;
}

static void put_line(FILE *f, const struct died *d)
{
	char signal[24];
	fprintf(f, "%s in thread %u, ", tw_signal_name((int)d->fault->number, signal), d->thread->serial);
	put_where(f, d);
	fputs(": ", f);
	put_attempt(f, d);
}

static int summarize(void *context, const struct died *d)
{
	struct summary *s = context;
	if (!is_first_process(d))
		return 0;
	put_line(s->f, d);
	s->told = 1;
	return 1;
}

int tw_died_summary(FILE *f, const struct tw_recording *r, struct tw_names *names)
{
	struct summary s = {f, 0};
	for_each(r, names, summarize, &s);
	return s.told;
}

static int tell_other(void *context, const struct died *d)
{
	struct summary *s = context;
	if (is_first_process(d) || (!is_fault(d->fault) && d->fault->number != SIGABRT))
		return 0;
	if (s->told == MOST_OTHERS) {
		fputs("trackway: more of its processes crashed: see trackway report\n", s->f);
		return 1;
	}
	s->told++;
	fprintf(s->f, "trackway: process %u died of ", d->thread->pid);
	put_line(s->f, d);
	fputc('\n', s->f);
	return 0;
}

void tw_died_others(FILE *f, const struct tw_recording *r)
{
	struct summary s = {f, 0};
	for_each(r, NULL, tell_other, &s);
}

/* ---- JSON ---- */

static void json_code(struct tw_json *j, const struct died *d, uint64_t pc, uint32_t signal)
{
	struct tw_code_name name;
	tw_names_code(d->names, d->image, pc, &name);
	for (unsigned i = 0; i < name.n_frames; i++) {
		tw_json_open(j, NULL, '{');
		tw_json_text(j, "function", name.frame[i].function);
		tw_json_text(j, "module", name.module);
		tw_json_number(j, "address", pc);
		tw_json_bool(j, "inlined", i + 1 < name.n_frames);
		if (signal)
			tw_json_number(j, "signal", signal);
		if (name.frame[i].line) {
			tw_json_text(j, "file", name.frame[i].file);
			tw_json_number(j, "line", name.frame[i].line);
		}
		tw_json_close(j, '}');
	}
}

static int json_one(void *context, const struct died *d)
{
	static const char *const accesses[] = {"unknown", "read", "write", "execute"};
	struct tw_json *j = context;
	const struct tw_fault *f = d->fault;
	char name[24];
	tw_json_open(j, NULL, '{');
	tw_json_number(j, "thread", d->thread->serial);
	tw_json_number(j, "pid", d->thread->pid);
	tw_json_number(j, "tid", d->thread->tid);
	tw_json_number(j, "signal", f->number);
	tw_json_text(j, "name", tw_signal_name((int)f->number, name));
	tw_json_signed(j, "code", f->code);
	tw_json_number(j, "address_of_instruction", f->pc);
	if (is_fault(f) && (f->number == SIGSEGV || f->number == SIGBUS)) {
		tw_json_text(j, "access", accesses[is_execution(f) ? TW_ACCESS_EXECUTE : f->access & 3]);
		tw_json_number(j, "address", is_execution(f) ? f->pc : d->undone.address);
		tw_json_number(j, "bytes", d->undone.size);
	}
	if (f->sender)
		tw_json_number(j, "sender", f->sender);
	tw_json_open(j, "path", '[');
	json_code(j, d, f->pc, 0);
	for (size_t i = d->path.n_frames; i-- > 0;)
		json_code(j, d, d->path.frames[i].pc, d->path.frames[i].signal);
	tw_json_close(j, ']');
	tw_json_bool(j, "path_complete", d->path.whole);
	tw_json_close(j, '}');
	return 0;
}

void tw_died_json(struct tw_json *j, const struct tw_recording *r, struct tw_names *names)
{
	tw_json_open(j, "crashes", '[');
	for_each(r, names, json_one, j);
	tw_json_close(j, ']');
}
