/* The collector with processes that write to the channel as an engine would. */
#include "channel/collector.h"
#include "channel/output_job.h"
#include "channel/sizes.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_directory.h"
#include "unit_fragment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUES = 16, PLAIN = 17, BUFFERS = TW_CHUNK_BUFFERS + 8 };
enum { EACH = 100, OPS = 40 }; /* many programs: of each EACH descriptors with OPS operations */
static uint32_t n_programs;

static const struct tw_op ops[] = {
    {.kind = TW_OP_REF, .base = TW_RSP, .index = TW_NOREG, .type = TW_READ, .size = 8},
    {.kind = TW_OP_REF, .insn = 1, .base = TW_RSP, .index = TW_NOREG, .type = TW_WRITE, .size = 8},
};

static struct tw_sizes sizes; /* of the channel */

/* ---- the engine's side ---- */

struct engine {
	int fd;
	uint8_t *base;
	struct tw_control *control;
	struct tw_descriptor_table *table;
	uint32_t slot, current;
};

static void ring(struct engine *e)
{
	atomic_fetch_add(&e->control->doorbell, 1);
	syscall(SYS_futex, &e->control->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void publish(struct engine *e, struct tw_descriptor *d)
{
	uint64_t used = atomic_load(&e->table->used), at = tw_table_place(used ? used : sizeof *e->table, d->bytes);
	memcpy(tw_table_descriptor(e->table, at), d, d->bytes);
	atomic_fetch_add(&e->control->described, d->bytes);
	atomic_store(&e->table->used, at + d->bytes);
	free(d);
}

static void add_descriptor(struct engine *e, uint32_t number, uint16_t n_values, uint16_t n_ops)
{
	publish(e, unit_descriptor(number, 2, n_values, ops, n_ops));
}

static _Atomic uint32_t *table_named(struct engine *e)
{
	return &e->control->slot[e->slot].table;
}

/* For a program that has a slot. Tries until there is one. */
static void take_room(struct engine *e, uint32_t program)
{
	uint32_t table = 0, unused;
	do {
		atomic_store(table_named(e), table = table % TW_DESCRIPTOR_TABLES + 1);
		unused = 0;
	} while (!atomic_compare_exchange_strong(&e->control->table[table - 1].program, &unused, program));
	void *at = mmap(NULL, TW_DESCRIPTOR_TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, e->fd,
	                (off_t)tw_table_at(&sizes, table));
	if (at == MAP_FAILED)
		_exit(96);
	e->table = at;
	if (e->table->used || e->control->table[table - 1].ending)
		_exit(95);
}

static void attach(struct engine *e, const char *path)
{
	int fd = open(path, O_RDWR);
	void *base = mmap(NULL, sizes.channel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (fd < 0 || base == MAP_FAILED)
		_exit(99);
	*e = (struct engine){.fd = fd, .base = base, .control = base};
	if (e->control->magic != TW_CHANNEL_MAGIC || !tw_channel_collector_alive(e->control))
		_exit(98);
}

static void claim(struct engine *e)
{
	for (e->slot = 0;; e->slot++) {
		struct tw_slot *s = &e->control->slot[e->slot];
		uint32_t unclaimed = 0;
		if (atomic_load(&s->state) != TW_SLOT_FREE || !atomic_compare_exchange_strong(&s->claim, &unclaimed, 1))
			continue;
		const int is_free = atomic_load(&s->state) == TW_SLOT_FREE;
		if (is_free) {
			tw_channel_use_slot(e->control, e->slot);
			s->pid = (uint32_t)getpid();
			s->tid = (uint32_t)syscall(SYS_gettid);
			atomic_store(&s->state, TW_SLOT_RESERVED);
		}
		atomic_store(&s->claim, 0);
		if (is_free)
			break;
	}
	struct tw_slot *s = &e->control->slot[e->slot];
	static uint64_t mark;
	atomic_store(&s->serial, atomic_fetch_add(&e->control->next_thread, 1));
	mark = tw_slot_mark(s->serial);
	s->mark = (uint64_t)&mark;
	atomic_store(&s->state, TW_SLOT_ACTIVE);
	e->current = 0;
}

static struct unit_buffer begin_buffer(struct engine *e)
{
	struct unit_buffer b = {tw_channel_buffer(e->base, e->slot, e->current)};
	if (b.p[0] || b.p[TW_BUFFER_BYTES - 1] || tw_channel_slack(b.p)[TW_SLACK_BYTES - 1])
		_exit(97);
	atomic_store(&e->control->slot[e->slot].current, e->current);
	unit_keyframe(&b, 0);
	return b;
}

static void fill(struct unit_buffer *b, const uint8_t *end)
{
	for (uint64_t i = 1; b->p + 2 + 8 + 2 <= end; i++) {
		unit_tag(b, VALUES);
		unit_value(b, i);
		unit_tag(b, PLAIN);
	}
}

static void wait_until_empty(struct engine *e)
{
	_Atomic uint32_t *state = &e->control->slot[e->slot].buffer[e->current].state;
	while (atomic_load(state) == TW_BUFFER_FULL)
		syscall(SYS_futex, state, FUTEX_WAIT, TW_BUFFER_FULL, NULL, NULL, 0);
}

static void hand_over(struct engine *e, const struct unit_buffer *b)
{
	struct tw_slot *s = &e->control->slot[e->slot];
	s->buffer[e->current].bytes = (uint32_t)(b->p - tw_channel_buffer(e->base, e->slot, e->current));
	atomic_store(&s->buffer[e->current].state, TW_BUFFER_FULL);
	ring(e);
	e->current = (e->current + 1) % TW_USUAL_BUFFERS;
	wait_until_empty(e);
}

static void write_full_buffers(struct engine *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct unit_buffer b = begin_buffer(e);
		fill(&b, tw_channel_buffer(e->base, e->slot, e->current) + TW_BUFFER_BYTES);
		hand_over(e, &b);
	}
}

static void end_thread(struct engine *e)
{
	struct unit_buffer b = begin_buffer(e);
	unit_event(&b, TW_EVENT_THREAD_END, &(struct tw_thread_end){0}, sizeof(struct tw_thread_end));
	hand_over(e, &b);
	atomic_store(&e->control->slot[e->slot].state, TW_SLOT_ENDED);
	ring(e);
}

/* ---- the programs ---- */

static void orderly(struct engine *e)
{
	write_full_buffers(e, BUFFERS);
	end_thread(e);
}

/* Buffers that are all tags. The first chunk is in the recording before the third one begins. */
static void all_tags(struct engine *e)
{
	for (unsigned i = 0; i < 6 * TW_FIRST_BUFFERS; i++) {
		struct stat st;
		for (int wait = 1000; i == TW_FIRST_BUFFERS && wait && (stat("rec.tw/thread-0000", &st) || !st.st_size); wait--)
			usleep(10000);
		struct unit_buffer b = begin_buffer(e);
		const uint8_t *end = tw_channel_buffer(e->base, e->slot, e->current) + TW_BUFFER_BYTES;
		while (b.p + 2 <= end)
			unit_tag(&b, PLAIN);
		hand_over(e, &b);
	}
	end_thread(e);
}

static void map_a_file(struct engine *e)
{
	struct {
		struct tw_map map;
		char path[16];
	} payload = {{.address = 0x1000, .length = 0x2000, .prot = 5}, "/bin/mapped"};
	struct unit_buffer b = begin_buffer(e);
	unit_event(&b, TW_EVENT_MAP, &payload, sizeof payload);
	unit_tag(&b, PLAIN);
	hand_over(e, &b);
	end_thread(e);
}

static void killed(struct engine *e)
{
	write_full_buffers(e, 1);
	struct unit_buffer b = begin_buffer(e);
	unit_tag(&b, PLAIN);
	unit_tag(&b, VALUES);
	unit_value(&b, 5);
	unit_tag(&b, VALUES);
	kill(getpid(), SIGKILL);
}

static void outlived(struct engine *e)
{
	struct engine mine = *e;
	if (!fork()) {
		usleep(200000);
		uint32_t table = atomic_load(table_named(&mine));
		claim(&mine);
		atomic_store(table_named(&mine), table);
		orderly(&mine);
		_exit(0);
	}
	usleep(400000); /* until the child has its slot */
	end_thread(e);
}

static _Atomic int
    *lock_was_taken; /* by the fork below; in memory that both share, since the lock may be released before anybody looks at it */

/* A fork that holds the lock on descriptors in this way, and is ended by `signal` meanwhile: or does not continue. */
static pid_t fork_locked(struct engine *e, uint64_t hold, int signal)
{
	struct engine mine = *e;
	if (!lock_was_taken)
		lock_was_taken = mmap(NULL, sizeof *lock_was_taken, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(lock_was_taken, 0);
	pid_t pid = fork();
	if (pid)
		return pid;
	uint32_t table = atomic_load(table_named(&mine));
	claim(&mine);
	atomic_store(table_named(&mine), table);
	atomic_store(&e->control->descriptor_lock, hold | (mine.slot + 1));
	atomic_store(lock_was_taken, 1);
	kill(getpid(), signal);
	_exit(0);
}

/* Whether the lock is given back, once it has been taken. */
static int is_given_back(struct engine *e, unsigned ms)
{
	_Atomic uint64_t *lock = &e->control->descriptor_lock;
	while (!atomic_load(lock_was_taken))
		usleep(1000);
	for (unsigned n = 0; atomic_load(lock) && n < ms; n++)
		usleep(1000);
	return !atomic_load(lock);
}

/* A fork is killed while it appends a descriptor: its lock is released, otherwise this one can describe nothing more. */
static void dies_locked(struct engine *e)
{
	fork_locked(e, 0, SIGKILL);
	if (is_given_back(e, 10000))
		write_full_buffers(e, BUFFERS);
	end_thread(e);
}

/* One is stopped, with different numbering of processes: its lock is released only if it will restart its work. */
static void stops_locked(struct engine *e)
{
	atomic_store(&e->control->namespaces, 1);
	pid_t pid = fork_locked(e, TW_HOLDS_RESTARTABLE | 7ull << 32, SIGSTOP);
	int right = is_given_back(e, 10000);
	kill(pid, SIGKILL);
	pid = fork_locked(e, 7ull << 32, SIGSTOP);
	right &= !is_given_back(e, 500);
	kill(pid, SIGKILL);
	right &= is_given_back(e, 10000);
	if (right)
		write_full_buffers(e, BUFFERS);
	end_thread(e);
}

static void writes_nonsense(struct engine *e)
{
	struct unit_buffer b = begin_buffer(e);
	unit_tag(&b, PLAIN);
	unit_tag(&b, 4711);
	hand_over(e, &b);
	end_thread(e);
}

/*
 * Consecutive programs with descriptors of their own, of which the last is used. Those of the last program take more
 * than a part of its table.
 */
static void many(struct engine *e)
{
	static struct tw_op op[OPS];
	const uint32_t two_parts = 2 * TW_PART_BYTES / tw_descriptor_size(1, OPS, 2, 0);
	for (unsigned i = 0; i < OPS; i++)
		op[i] = ops[0];
	end_thread(e);
	for (uint32_t program = 2; program < 2 + n_programs; program++) {
		const uint32_t n = program == 1 + n_programs ? two_parts : EACH;
		uint32_t number = program * TW_STRETCH + TW_TAG_FIRST;
		claim(e);
		take_room(e, program);
		for (uint32_t i = 0; i < n; i++, number += number % TW_STRETCH == TW_STRETCH - 1 ? 1 + TW_TAG_FIRST : 1)
			publish(e, unit_descriptor(number, 2, 0, op, OPS));
		add_descriptor(e, number, 0, 1);
		munmap(e->table, TW_DESCRIPTOR_TABLE_BYTES);
		struct unit_buffer b = begin_buffer(e);
		unit_tag(&b, TW_TAG_UPPER);
		unit_tag(&b, (uint16_t)(number >> 16));
		unit_tag(&b, (uint16_t)number);
		hand_over(e, &b);
		end_thread(e);
	}
}

/* All memory of programs that have ended is given back. */
static void many_and_wait(struct engine *e)
{
	many(e);
	for (int tries = 0; atomic_load(&e->control->described); tries++, usleep(10000))
		if (tries == 1000)
			_exit(93);
	if (lseek(e->fd, (off_t)sizes.tables_at, SEEK_DATA) >= 0 || errno != ENXIO)
		_exit(92);
}

/* ---- tallies ---- */

enum { ONCE = 18, LOOP = 19 }; /* fragments counted by their entries of the window, 1 and 2 */

static void add_tallied(struct engine *e, uint32_t number, uint16_t n_values, uint8_t flags, uint32_t entry)
{
	struct tw_descriptor *d = unit_descriptor(number, 2, n_values, ops, 2);
	d->flags = flags;
	d->tag = entry;
	publish(e, d);
}

/* What a thread counts at distant entries of its window, next to one buffer of what it tells. */
static void tally(struct engine *e)
{
	struct tw_slot *s = &e->control->slot[e->slot];
	uint64_t *window = tw_channel_tally(e->base, e->slot);
	if (!(e->control->flags & TW_FLAG_TALLY) || window[1] || s->written)
		_exit(91);
	add_tallied(e, ONCE, 1, 0, 1);
	add_tallied(e, LOOP, 1, TW_DESC_LOOP, 2);
	window[1] = 3000000000u;
	window[2] = 70;
	s->written =
	    3000000000ull * 10 + 20 + 4 + 30 + 12; /* its records, two of a loop, a change of the upper half, a keyframe, what is told */
	s->keyframes = 30;
	s->copied = 12;
}

static void tallied(struct engine *e)
{
	tally(e);
	end_thread(e);
	while (atomic_load(&e->control->slot[e->slot].state) != TW_SLOT_FREE)
		usleep(1000);
	if (tw_channel_tally(e->base, e->slot)[1] || e->control->slot[e->slot].written)
		_exit(90);
}

static void tallied_and_killed(struct engine *e)
{
	tally(e);
	kill(getpid(), SIGKILL);
}

static void tallies_nothing_known(struct engine *e)
{
	tally(e);
	tw_channel_tally(e->base, e->slot)[TW_TALLY_ENTRIES - 1] = 1;
	end_thread(e);
}

/* A fork that was unknown until now: it names its program's table when that is about to be released. */
static void late(struct engine *e)
{
	uint32_t table = atomic_load(table_named(e));
	struct tw_table_state *state = &e->control->table[table - 1];
	end_thread(e);
	while (!atomic_load(&state->ending))
		;
	claim(e);
	atomic_store(table_named(e), table);
	while (atomic_load(&state->program) == 1 && atomic_load(&state->ending))
		;
	if (atomic_load(&state->program) == 1) /* else it was too late */
		orderly(e);
}

/* Records one program in a fresh directory; *r is the recording, opened. */
static struct tw_output_result record(void (*program)(struct engine *), int discard, struct tw_recording **r)
{
	struct tw_recording_info info = {.format = TW_FORMAT_DEP, .sink = discard ? TW_SINK_COUNT : TW_SINK_FILE};
	struct tw_collector_options options = {.format = TW_FORMAT_DEP, .discard = discard, .sizes = &sizes};
	const struct tw_limits none = {TW_UNLIMITED, TW_UNLIMITED, TW_UNLIMITED, true, false};
	CHECK(tw_sizes_choose(&sizes, &none));
	struct tw_collector *c = NULL;
	struct tw_output_result result;
	EQUAL(tw_directory_prepare("rec.tw"), TW_OK);
	EQUAL(tw_writer_create("rec.tw", &info, &options.writer), TW_OK);
	EQUAL(tw_collector_new(&options, &c), TW_OK);
	pid_t pid = fork();
	if (!pid) {
		struct engine e;
		attach(&e, tw_collector_path(c));
		claim(&e);
		take_room(&e, 1);
		add_descriptor(&e, VALUES, 1, 2);
		add_descriptor(&e, PLAIN, 0, 1);
		program(&e);
		_exit(0);
	}
	int status;
	EQUAL(waitpid(pid, &status, 0), pid);
	const int dies = program == killed || program == tallied_and_killed;
	EQUAL(dies ? WTERMSIG(status) : WEXITSTATUS(status), dies ? SIGKILL : 0);
	tw_collector_end(c, 0);
	tw_collector_finish(c, &result);
	tw_collector_free(c);
	info.complete = !result.failure[0];
	info.totals = result.totals;
	info.failure = result.failure;
	EQUAL(tw_writer_close(options.writer, &info), TW_OK);
	EQUAL(tw_recording_open("rec.tw", r), TW_OK);
	EQUAL(tw_recording_n_problems(*r), 0);
	return result;
}

/* Pairs of fragments in a full buffer. */
static uint64_t pairs(void)
{
	return (TW_BUFFER_BYTES - sizeof(struct tw_event_header) - sizeof(struct tw_keyframe)) / 12;
}

static void check_pairs(const struct tw_totals *t, uint64_t n)
{
	EQUAL(t->insns, n * 4);
	EQUAL(t->blocks, n * 2);
	EQUAL(t->refs, n * 3);
	EQUAL(t->reads, n * 2);
	EQUAL(t->writes, n);
	EQUAL(t->raw[TW_STREAM_M], n * 8);
}

static void test_orderly(void)
{
	struct tw_recording *r;
	struct tw_chunk chunk;
	struct tw_output_result result = record(orderly, 0, &r);
	struct tw_totals sum;
	SAME_TEXT(result.failure, "");
	check_pairs(&result.totals, BUFFERS * pairs());
	tw_recording_sum(r, &sum);
	CHECK(tw_recording_totals(r)->written);
	sum.written = tw_recording_totals(r)->written; /* chunks do not tell */
	CHECK(!memcmp(&sum, tw_recording_totals(r), sizeof sum));
	/* On a busy machine the first chunks may have been written before they were full, or had any buffer. */
	uint32_t last = (uint32_t)sum.chunks - 1;
	CHECK(sum.chunks >= 7); /* of 8, 8, 16, 16, 32, 32 and 24 buffers */
	EQUAL(tw_recording_chunk_info(r, 0, 0)->flags, 0);
	EQUAL(tw_recording_chunk_info(r, 0, last)->flags, TW_CHUNK_LAST);
	EQUAL(tw_recording_chunk(r, 0, 0, &chunk), TW_OK);
	uint64_t first = chunk.n_m;
	CHECK(first % pairs() == 0 && first <= TW_FIRST_BUFFERS * pairs());
	CHECK(!first || chunk.m[pairs() - 1] == pairs());
	tw_chunk_release(&chunk);
	EQUAL(tw_recording_chunk(r, 0, 1, &chunk), TW_OK);
	EQUAL(chunk.first_ref, first * 3);
	CHECK(!chunk.n_m || chunk.m[pairs() - 1] == pairs());
	tw_chunk_release(&chunk);
	tw_recording_close(r);
}

/* A chunk with more tags has fewer buffers: they are all in memory while it is encoded. */
static void test_all_tags(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(all_tags, 0, &r);
	SAME_TEXT(result.failure, "");
	CHECK(result.totals.blocks > 47 * (TW_BUFFER_BYTES - 4096) / 2);
	for (size_t i = 0; i < result.totals.chunks; i++)
		CHECK(tw_recording_chunk_info(r, 0, i)->blocks <= 6 << 20);
	tw_recording_close(r);
}

static void test_count(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(orderly, 1, &r);
	check_pairs(&result.totals, BUFFERS * pairs());
	EQUAL(tw_recording_n_threads(r), 0);
	EQUAL(tw_recording_n_descriptors(r), 0);
	EQUAL(tw_recording_totals(r)->insns, result.totals.insns);
	tw_recording_close(r);
}

static void test_tallies(void (*program)(struct engine *), const char *failure)
{
	const uint64_t once = 3000000000u, turns = 70;
	struct tw_recording *r;
	struct tw_output_result result = record(program, 1, &r);
	const struct tw_totals *t = &result.totals;
	EQUAL(t->insns, (once + turns) * 2);
	EQUAL(t->blocks, once + turns);
	EQUAL(t->refs, (once + turns) * 2);
	EQUAL(t->reads, once + turns);
	EQUAL(t->writes, once + turns);
	EQUAL(t->raw[TW_STREAM_M], once * 8);
	EQUAL(t->raw[TW_STREAM_C] / 16, (once * 2 + 20 + 4) / 16); /* besides the tags of events */
	EQUAL(strstr(result.failure, failure) != NULL && !*failure == !*result.failure, 1);
	tw_recording_close(r);
}

static void test_modules(void)
{
	struct tw_recording *r;
	record(map_a_file, 0, &r);
	EQUAL(tw_recording_n_modules(r), 1);
	SAME_TEXT(tw_recording_module(r, 0)->path, "/bin/mapped");
	tw_recording_close(r);
}

static void test_killed(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(killed, 0, &r);
	SAME_TEXT(result.failure, "");
	EQUAL(result.totals.insns, pairs() * 4 + 4);
	EQUAL(tw_recording_thread(r, 0)->n_chunks, 1);
	EQUAL(tw_recording_chunk_info(r, 0, 0)->flags, TW_CHUNK_TORN | TW_CHUNK_LAST);
	EQUAL(tw_recording_totals(r)->gaps, 0);
	EQUAL(tw_recording_totals(r)->cut, 1);
	tw_recording_close(r);
}

static void test_outlived(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(outlived, 0, &r);
	EQUAL(result.totals.threads, 2);
	check_pairs(&result.totals, BUFFERS * pairs());
	tw_recording_close(r);
}

static void test_killed_with_lock(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(dies_locked, 0, &r);
	check_pairs(&result.totals, BUFFERS * pairs());
	tw_recording_close(r);
}

static void test_stopped_with_lock(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(stops_locked, 0, &r);
	check_pairs(&result.totals, BUFFERS * pairs());
	tw_recording_close(r);
}

static void test_many(int discard, uint32_t n)
{
	n_programs = n;
	struct tw_recording *r;
	struct tw_output_result result = record(many_and_wait, discard, &r);
	SAME_TEXT(result.failure, "");
	EQUAL(result.totals.insns, 2 * n);
	EQUAL(result.totals.refs, n);
	CHECK(result.totals.fragments > (n - 1) * (EACH + 1));
	if (!discard) {
		EQUAL(tw_recording_n_descriptors(r), result.totals.fragments);
		EQUAL(result.totals.threads, n + 1);
	}
	tw_recording_close(r);
}

static void test_late(void)
{
	int in_time = 0;
	for (int tries = 0; !in_time && tries < 20; tries++) {
		struct tw_recording *r;
		struct tw_output_result result = record(late, 0, &r);
		SAME_TEXT(result.failure, "");
		in_time = result.totals.insns != 0;
		if (in_time)
			check_pairs(&result.totals, BUFFERS * pairs());
		tw_recording_close(r);
	}
	CHECK(in_time);
}

static void test_nonsense(void)
{
	struct tw_recording *r;
	struct tw_output_result result = record(writes_nonsense, 0, &r);
	CHECK(strstr(result.failure, "fragment 4711"));
	EQUAL(tw_recording_info(r)->complete, 0);
	EQUAL(tw_recording_chunk_info(r, 0, 0)->insns, 2);
	EQUAL(tw_recording_thread(r, 0)->n_chunks, 2);
	tw_recording_close(r);
}

int main(void)
{
	char place[PATH_MAX];
	unit_enter_directory(place);
	test_orderly();
	test_all_tags();
	test_count();
	test_modules();
	test_killed();
	test_outlived();
	test_killed_with_lock();
	test_stopped_with_lock();
	test_nonsense();
	test_tallies(tallied, "");
	test_tallies(tallied_and_killed, "");
	test_tallies(tallies_nothing_known, "executions of a fragment that is not described");
	test_many(0, 200);
	test_many(1, TW_DESCRIPTOR_TABLES + 300);
	test_late();
	unit_leave_directory(place);
	return UNIT_END();
}
