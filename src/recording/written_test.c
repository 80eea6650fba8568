/* What a writer remembers is what a reader finds; and more than a little is not remembered. */
#include "recording/recording.h"
#include "unit.h"
#include "unit_directory.h"
#include "unit_fragment.h"

#include <sys/stat.h>

static const char *const dir = "rec.tw";

static struct tw_writer *begin(uint32_t format)
{
	static char *argv[] = {"prog", NULL};
	const struct tw_recording_info info = {
	    .format = format, .argc = 1, .argv = argv, .program = "/bin/prog", .cwd = "/tmp", .host = "host", .cpu = "cpu", .kernel = "k"};
	struct tw_writer *w = NULL;
	EQUAL(mkdir(dir, 0777), 0);
	EQUAL(tw_writer_create(dir, &info, &w), TW_OK);
	return w;
}

static void end(struct tw_writer *w)
{
	const struct tw_recording_info info = {.complete = 1, .failure = ""};
	EQUAL(tw_writer_close(w, &info), TW_OK);
	EQUAL(tw_directory_remove(dir), 0);
}

static void write_code(struct tw_writer *w, uint32_t number)
{
	const struct tw_op op = {.kind = TW_OP_REF, .base = TW_RSP, .index = TW_NOREG, .type = TW_READ, .size = 8};
	struct tw_descriptor *d = unit_descriptor(number, 3, 0, &op, 1);
	EQUAL(tw_writer_descriptors(w, d, d->bytes), TW_OK);
	free(d);
}

static void write_module(struct tw_writer *w, uint64_t address, const char *path)
{
	const struct tw_module module = {address, 0x1000, 0x2000, 100, 5, 0, 0, path};
	size_t n;
	void *bytes = tw_module_bytes(&module, &n);
	EQUAL(tw_writer_block(w, TW_BLOCK_MODULES, bytes, n), TW_OK);
	free(bytes);
}

static void write_note(struct tw_writer *w, uint32_t kind, uint32_t pid)
{
	const struct tw_file_note note = {.kind = kind, .pid = pid, .parent_pid = 100, .tsc = pid, .text_bytes = 6, .n_args = 0};
	size_t n;
	void *bytes = tw_note_bytes(&note, "/prog", &n);
	EQUAL(tw_writer_block(w, TW_BLOCK_PROCESSES, bytes, n), TW_OK);
	free(bytes);
}

static void write_thread(struct tw_writer *w, uint32_t serial)
{
	static uint16_t c[] = {16, 17};
	static uint64_t e[2];
	const struct tw_thread_info t = {.serial = serial, .pid = 100 + serial, .tid = 100 + serial, .parent_pid = 100, .parent_tid = 100};
	const struct tw_chunk chunk = {.thread = serial, .c = c, .n_c = 2, .e = (uint8_t *)e, .n_e = sizeof e};
	EQUAL(tw_writer_chunk(w, &t, &chunk, 0, 1), TW_OK);
}

static void compare_code(const struct tw_recording *a, const struct tw_recording *b)
{
	EQUAL(tw_recording_n_descriptors(a), 2);
	EQUAL(tw_recording_n_descriptors(b), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct tw_descriptor *x = tw_recording_descriptor_at(a, i), *y = tw_recording_descriptor_at(b, i);
		EQUAL(x->bytes, y->bytes);
		EQUAL(memcmp(x, y, x->bytes), 0);
	}
	EQUAL(tw_recording_n_modules(a), 2);
	EQUAL(tw_recording_n_modules(b), 2);
	for (size_t i = 0; i < 2; i++) {
		EQUAL(tw_recording_module(a, i)->address, tw_recording_module(b, i)->address);
		EQUAL(strcmp(tw_recording_module(a, i)->path, tw_recording_module(b, i)->path), 0);
	}
}

static void compare_processes(const struct tw_recording *a, const struct tw_recording *b)
{
	EQUAL(tw_recording_n_threads(a), 2);
	EQUAL(tw_recording_n_threads(b), 2);
	for (size_t i = 0; i < 2 && i < tw_recording_n_threads(a); i++) {
		EQUAL(tw_recording_thread(a, i)->serial, tw_recording_thread(b, i)->serial);
		EQUAL(tw_recording_thread(a, i)->pid, tw_recording_thread(b, i)->pid);
		EQUAL(tw_recording_thread(a, i)->parent_tid, tw_recording_thread(b, i)->parent_tid);
	}
	EQUAL(tw_recording_n_processes(a), 2);
	EQUAL(tw_recording_n_processes(b), 2);
	for (size_t i = 0; i < 2; i++)
		EQUAL(tw_recording_process(a, i)->pid, tw_recording_process(b, i)->pid);
}

static void test_same(void)
{
	struct tw_writer *w = begin(TW_FORMAT_DEP);
	write_code(w, 16);
	write_code(w, 17);
	write_note(w, TW_NOTE_PROGRAM, 100);
	write_module(w, 0x400000, "/bin/prog");
	write_thread(w, 1);
	write_note(w, TW_NOTE_PROGRAM, 101);
	write_thread(w, 0);
	write_module(w, 0x500000, "/lib/l.so");
	const struct tw_recording *written = tw_writer_written(w);
	struct tw_recording *read = NULL;
	EQUAL(written != NULL, 1);
	EQUAL(tw_recording_open(dir, &read), TW_OK);
	if (written && read) {
		EQUAL(strcmp(tw_recording_info(written)->cwd, "/tmp"), 0);
		compare_code(written, read);
		compare_processes(written, read);
	}
	tw_recording_close(read);
	end(w);
}

/* What stays where it is need not be little. */
static void test_staying(void)
{
	enum { N = 20000 };
	const struct tw_op op = {.kind = TW_OP_REF, .base = TW_RSP, .index = TW_NOREG, .type = TW_READ, .size = 8};
	struct tw_descriptor *d[N];
	struct tw_writer *w = begin(TW_FORMAT_DEP);
	for (uint32_t i = 0; i < N; i++) {
		d[i] = unit_descriptor(16 + i, 3, 0, &op, 1);
		EQUAL(tw_writer_described(w, d[i], d[i]->bytes, 1), TW_OK);
	}
	write_code(w, 16 + N);
	const struct tw_recording *written = tw_writer_written(w);
	struct tw_recording *read = NULL;
	EQUAL(tw_recording_open(dir, &read), TW_OK);
	EQUAL(written ? tw_recording_n_descriptors(written) : 0, N + 1);
	EQUAL(read ? tw_recording_n_descriptors(read) : 0, N + 1);
	for (uint32_t i = 0; written && read && i <= N; i++) {
		const struct tw_descriptor *x = tw_recording_descriptor_at(written, i), *y = tw_recording_descriptor_at(read, i);
		EQUAL(i == N || x == d[i], 1);
		EQUAL(x->bytes == y->bytes && !memcmp(x, y, x->bytes), 1);
	}
	tw_recording_close(read);
	end(w);
	for (uint32_t i = 0; i < N; i++)
		free(d[i]);
}

static void test_much(void)
{
	struct tw_writer *w = begin(TW_FORMAT_DEP);
	for (uint32_t i = 0; i < 20000; i++)
		write_code(w, 16 + i);
	EQUAL(tw_writer_written(w) == NULL, 1);
	end(w);
	w = begin(TW_FORMAT_NONE);
	EQUAL(tw_writer_written(w) == NULL, 1);
	end(w);
}

int main(void)
{
	char name[PATH_MAX];
	unit_enter_directory(name);
	test_same();
	test_staying();
	test_much();
	unit_leave_directory(name);
	return unit_end();
}
