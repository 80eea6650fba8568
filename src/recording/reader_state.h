/*
 * The state of a recording that is being read, shared by the parts of the reader: reader.c (opening, queries),
 * reader_file.c (files and their framing), reader_code.c, reader_threads.c (the scan of the files), reader_chunk.c.
 * Not to be included elsewhere.
 */
#ifndef TW_READER_STATE_H
#define TW_READER_STATE_H

#include "base/numbered.h"
#include "recording/budget.h"
#include "recording/recording.h"
#include "recording/transform.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* A growing array. */
struct tw_reader_list {
	void *items;
	size_t n, room;
};

struct tw_reader_thread {
	struct tw_thread_info info;
	struct tw_reader_list chunks; /* struct tw_chunk_info */
	struct tw_reader_list checks; /* struct tw_reader_checks, beside them */
	struct tw_reader_list kept;   /* struct tw_kept_chunk, in their place, of a recording in memory */
	char name[32];
};

struct tw_reader_checks {
	uint64_t section[TW_NSTREAMS];
};

/* A chunk that is kept as it came. */
struct tw_kept_chunk {
	struct tw_chunk chunk;
	uint64_t offset, stored; /* place in the file, and number of bytes; stored 0: it is in memory, where the chunk points */
};

struct tw_reader_kept {
	struct tw_reader_list pieces; /* void *, from tw_array_huge */
	uint8_t *at;                  /* the rest of the newest one */
	size_t left;
	uint64_t most; /* bytes of further ones */
	int fd;        /* what has no room there; -1: nothing */
	uint64_t end;  /* of the file */
	struct ZSTD_CCtx_s *packs;
	struct tw_bytes raw, stored;
};

/* Maximum sizes over all chunks: each may be of a different one. */
struct tw_reader_most {
	uint64_t tags, section; /* of them, and bytes of a C or M section */
};

struct tw_recording {
	int dir_fd; /* a thread's file is opened to be read and closed again: there may be more of them than a process may have open */
	struct tw_recording_info info;
	struct tw_totals sum;
	struct tw_reader_list threads;     /* struct tw_reader_thread */
	struct tw_reader_list modules;     /* struct tw_module */
	struct tw_reader_list problems;    /* struct tw_problem */
	struct tw_reader_list descriptors; /* const struct tw_descriptor *, without those that nothing ran */
	uint64_t described;                /* bytes of all descriptors, with those */
	struct tw_processes processes;
	struct tw_reader_list notes;     /* const struct tw_file_note *, of a recording in memory: `processes` is made from these */
	struct tw_reader_list blocks;    /* void *: decompressed blocks of the code file and of the names */
	const struct tw_budget *budget;  /* in one of these; NULL: there is none */
	struct tw_budget_end budget_end; /* all 0 to begin with */
	int has_budget_end;
	size_t budget_periods;
	struct tw_reader_list names; /* struct tw_names_block: those of the names */
	struct tw_numbered table;    /* const struct tw_descriptor * */
	struct tw_value_map *values;
	struct tw_reader_most most;
	struct tw_reader_kept *kept; /* of a recording in memory; NULL: it has no chunks */
};

/* All zeros except for what an empty recording has. NULL: no memory, which is reported. */
struct tw_recording *tw_reader_new(const char *of);

/* A file mapped for scanning. */
struct tw_reader_file {
	const uint8_t *bytes;
	uint64_t n;
};

static inline struct tw_reader_thread *tw_reader_thread(const struct tw_recording *r, size_t i)
{
	return (struct tw_reader_thread *)r->threads.items + i;
}

/* Room for one more item, of `size` bytes that are all 0. NULL: no memory. */
void *tw_reader_add(struct tw_reader_list *l, size_t size);

/* Notes damage. If there is no memory for the note that is ignored. */
void tw_reader_problem(struct tw_recording *r, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- reader_file.c ---- */

/* Opens a file of the recording. TW_ERR_NOT_FOUND, TW_ERR_SYSTEM. */
int tw_reader_open_file(const struct tw_recording *r, const char *name, int *fd);

/* Maps one; a file that cannot be mapped may be unmapped all the same. */
int tw_reader_map(const struct tw_recording *r, const char *name, struct tw_reader_file *f);
void tw_reader_unmap(struct tw_reader_file *f);

/* Whether a whole header of `size` bytes, the last 8 of them its checksum, begins at `at`. */
int tw_reader_header_at(const struct tw_reader_file *f, uint64_t at, uint64_t magic, size_t size);

/* Offset of the first whole header at or after `at`; the file's size if there is none. */
uint64_t tw_reader_next_header(const struct tw_reader_file *f, uint64_t at, uint64_t magic, size_t size);

/* Checks a section and decompresses it into *to, which becomes larger as needed and ends in 8 bytes more. TW_ERR_CHECKSUM, TW_ERR_DAMAGED, TW_ERR_MEMORY. */
int tw_reader_unpack(struct ZSTD_DCtx_s *zstd, const uint8_t *stored, uint64_t n, uint64_t check, uint64_t n_raw, struct tw_bytes *to);

/* Room for n bytes, whose contents are lost if it has to be allocated; `most` is the expected maximum. TW_ERR_MEMORY. */
int tw_reader_room(struct tw_bytes *to, uint64_t n, uint64_t most);

/* ---- reader_section.c ---- */

/* A stored section, and the state for reading it piecewise. */
struct tw_reader_section {
	int fd;
	const char *name; /* of the file */
	uint64_t offset, stored, check, raw;
};

/* Memory for reading them; all zeros at first. */
struct tw_reader_window {
	struct ZSTD_DCtx_s *zstd;
	struct XXH64_state_s *check;
	struct tw_bytes bytes;
};

int tw_reader_window_init(struct tw_reader_window *w);
void tw_reader_window_fini(struct tw_reader_window *w);

/*
 * Reads and checks a section and decompresses it into *to, as tw_reader_unpack does. It is read frame by frame, so
 * that little memory is used: memory that was never touched before is expensive. Also the errors of tw_read_at.
 */
int tw_reader_section(struct tw_reader_window *w, const struct tw_reader_section *s, struct tw_bytes *to, uint64_t most);

/* ---- reader_kept.c ---- */

/* The chunk, in memory: where it is kept, or in `to`, by way of `w`. Also the errors of tw_read_at. */
int tw_reader_read_kept(const struct tw_recording *r, const struct tw_kept_chunk *kept, struct tw_reader_window *w, struct tw_bytes *to,
                        struct tw_chunk *out);
struct tw_reader_kept *tw_reader_new_kept(uint64_t most); /* NULL: no memory */
void tw_reader_free_kept(struct tw_reader_kept *k);       /* accepts NULL */

/* Keeps what has just come; *kept, all zeros, says where. Like tw_recording_live_keep. */
int tw_reader_keep(struct tw_reader_kept *k, const struct tw_chunk *chunk, struct tw_kept_chunk *kept);

/* ---- reader_code.c, reader_threads.c, names_file.c ---- */

/* Unpacks the blocks of a file one after the other; damage is noted. The bytes live as long as the recording. TW_ERR_NOT_FOUND, TW_ERR_MEMORY, TW_ERR_SYSTEM. */
typedef int tw_block_visit(struct tw_recording *r, const struct tw_file_block *head, const uint8_t *bytes, uint64_t offset);
int tw_reader_blocks(struct tw_recording *r, const char *name, tw_block_visit *visit);

/* Scan the code file, the names, and the files of all threads; damage is noted. TW_ERR_MEMORY, TW_ERR_SYSTEM. */
int tw_reader_code(struct tw_recording *r);
int tw_reader_names(struct tw_recording *r);
int tw_reader_threads(struct tw_recording *r);

/* Takes the contents of a block of the code file, which stays in place. */
int tw_reader_add_block(struct tw_recording *r, const struct tw_file_block *b, const uint8_t *bytes, uint64_t offset);

/* Adds what a chunk's header counts. */
void tw_reader_sum(struct tw_totals *t, const struct tw_chunk_info *c);

#endif
