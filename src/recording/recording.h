/*
 * Recordings, the writing side, and what writer and reader share: the layout of the files (docs/format.md), errors,
 * and the facts about descriptors that both need. The reading side is the public <trackway/recording.h>.
 */
#ifndef TW_RECORDING_INTERNAL_H
#define TW_RECORDING_INTERNAL_H

#include <stdio.h>
#include <sys/uio.h>
#include <trackway/recording.h>

struct tw_value_map;

#define TW_RECORDING_VERSION 8
#define TW_RECORDING_OLDEST  6 /* that is still read */
#define TW_HEADER_FILE       "header"
#define TW_CODE_FILE         "code"
#define TW_NAMES_FILE        "names"
#define TW_SPOOL_FILE        "spool" /* what is yet to be encoded: channel/spool.h */
#define TW_INDEX_FILE        "index"
#define TW_THREAD_FILE       "thread-%04u"

/* ---- file layout ---- */

#define TW_CHUNK_MAGIC  0x4b4e48434b525754ull
#define TW_BLOCK_MAGIC  0x45444f434b525754ull
#define TW_THREAD_MAGIC 0x445248544b525754ull

/* First in a thread file. */
struct tw_file_thread {
	uint64_t magic;
	uint32_t version, serial, pid, tid, parent_pid, parent_tid;
	uint64_t reserved;
	uint64_t check; /* xxh64 of the bytes before */
};

/* Before the three stored sections C, M, E of a chunk. */
struct tw_file_chunk {
	uint64_t magic;
	uint32_t version, thread, sequence, upper, flags, stamps;
	uint64_t first_insn, first_block, first_ref;
	uint64_t insns, blocks, refs, reads, writes, gaps;
	uint64_t raw[TW_NSTREAMS], coded[TW_NSTREAMS], stored[TW_NSTREAMS], section_check[TW_NSTREAMS];
	uint64_t check; /* xxh64 of the bytes before */
};

enum tw_block_kind {
	TW_BLOCK_DESCRIPTORS = 1,
	TW_BLOCK_MODULES = 2,
	TW_BLOCK_PROCESSES = 3,
	TW_BLOCK_NAMES = 4,
	TW_BLOCK_BUDGET = 5,
	TW_BLOCK_INDEX = 6,
	TW_BLOCK_BUDGET_END = 7,
	TW_BLOCK_IDLE = 8
};

/* Before a stored block of the code file, or of the names. */
struct tw_file_block {
	uint64_t magic;
	uint32_t version, kind;
	uint64_t raw, stored, section_check;
	uint64_t check; /* xxh64 of the bytes before */
};

/* One module in a block; then path and NUL, padded with zeros to a multiple of 8. */
struct tw_file_module {
	uint64_t address, length, offset;
	uint32_t pid, prot, thread, sequence;
	uint32_t path_bytes; /* with NUL and padding */
	uint32_t reserved;
};

/* Something that became known of a process. */
enum tw_note_kind {
	TW_NOTE_START = 1,  /* it was made by parent_pid */
	TW_NOTE_PROGRAM,    /* it runs the program in the text */
	TW_NOTE_END,        /* it ended with `status`; it or parent_pid says so */
	TW_NOTE_UNFOLLOWED, /* it was made by parent_pid, and is not recorded */
};

/* One such note in a block; then the text: path and n_args arguments, NUL after each, padded with zeros to a multiple of 8. */
struct tw_file_note {
	uint32_t kind, pid, parent_pid;
	uint32_t thread; /* serial number of the thread that told it */
	int32_t status;  /* as from waitpid(2) */
	uint32_t n_args;
	uint64_t tsc; /* when: notes of different threads do not stand in order */
	uint32_t text_bytes;
	uint32_t reserved;
};

/* ---- errors ---- */

/* Sets the calling thread's detail text and returns `error`. */
int tw_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last error as one sentence, with its detail; for a failed system call the detail is the sentence. Returns `to`. */
const char *tw_failure_sentence(int error, char *to, size_t size);

/* ---- files ---- */

struct iovec;

/* Writes all of `iov`, which it changes. `name` is for the detail. */
int tw_write_all(int fd, struct iovec *iov, int n, const char *name);

/* Is this the name of a thread's file, and of which thread? */
int tw_thread_file(const char *name, uint32_t *serial);

/* Reads exactly n bytes at `offset`; TW_ERR_TRUNCATED if the file ends before. */
int tw_read_at(int fd, void *to, size_t n, uint64_t offset, const char *name);

/* ---- descriptors ---- */

/* Bytes of all descriptors that the recording has, idle ones among them. */
uint64_t tw_recording_described(const struct tw_recording *r);

/* What one whole execution of a fragment counts for; without the references of REP and LANES operations. */
struct tw_static_counts {
	uint32_t insns, blocks, refs, reads, writes;
};

/* Whether the bytes at `d` (at most `avail`) are one descriptor in which everything is in range. */
int tw_descriptor_valid(const struct tw_descriptor *d, uint64_t avail);

void tw_descriptor_counts(const struct tw_descriptor *d, struct tw_static_counts *out);

/* Adds the counts of this many executions of a fragment that is not TW_DESC_DYNAMIC: all but `written` and what is stored. */
void tw_descriptor_add_runs(const struct tw_descriptor *d, uint64_t runs, struct tw_totals *t);

/* Iterations a REP operation made, from its counting register before and after. */
uint64_t tw_op_iterations(const struct tw_op *op, uint64_t before, uint64_t after);

/* The register whose values before and after a REP operation are recorded. */
static inline uint8_t tw_op_counter(const struct tw_op *op)
{
	return op->flags & TW_OPF_SECOND ? op->index : op->base;
}

/* A bit for each active lane of a LANES operation, of at most 64; `values` is this execution's record in the M stream. */
uint64_t tw_op_active_lanes(const struct tw_op *op, const uint64_t *values);

/* References a LANES operation makes. */
unsigned tw_op_lane_refs(const struct tw_op *op, const uint64_t *values);

/* ---- events ---- */

struct tw_event_header;

/* Whether an event with this header is whole and of a known type; `left` bytes can be read at `payload`, which need not be aligned. */
int tw_event_valid(const struct tw_event_header *h, const uint8_t *payload, size_t left);

/* The event at *at of n bytes of events; *at is moved past it. NULL, with *at unchanged: there is none, or no valid one. */
const struct tw_event_header *tw_event_next(const uint8_t *events, size_t n, size_t *at);

/* For a WINDOW event's reason (enum tw_left_out): "", or a word preceded by a blank. */
const char *tw_left_out_text(uint32_t reason);

/*
 * When an event of this type happened (time stamp counter); 0: it does not say. For a system call: when it had
 * returned. `payload` is aligned to 8.
 */
uint64_t tw_event_time(uint32_t type, const void *payload);

/* ---- reading chunks ---- */

/*
 * A chunk with encoded values: `chunk.m` is NULL, and its M section is here. A 0 follows the last of `chunk.c`. What
 * they point to belongs to `room`. In a recording in memory, whose values are not encoded, `values` is NULL, and what
 * the chunk points to may be the recording's.
 */
struct tw_coded_chunk {
	struct tw_chunk chunk;
	const uint8_t *values;
	size_t n_values; /* bytes */
	struct tw_chunk_room *room;
};

/* Like tw_recording_chunk. *out is all zeros at first; a chunk that it already holds is replaced by this one, which takes its memory. */
int tw_recording_coded_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out);
/* Its events alone, without reading anything else: out->chunk.e, and what the chunk's header contains. Memory as above. */
int tw_recording_events(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out);
void tw_coded_chunk_release(struct tw_coded_chunk *chunk);

/* The values of all its fragments; NULL: those of its chunks are not encoded. */
const struct tw_value_map *tw_recording_values(const struct tw_recording *r);

/* ---- packing ---- */

/*
 * A packer encodes (transform.h) and compresses one chunk after another. It serves one thread at a time; several may
 * work for the same writer. A chunk is packed in pieces, each what one buffer held: begin, add, add, ..., end, then
 * tw_writer_packed. The fragments of a piece must be in the map. `thread` is that of the chunk, as for
 * tw_encoder_begin. After a failure only tw_packer_begin may follow.
 */
struct tw_packer;
struct tw_encoder_code;

/* `code` may be NULL, see tw_encoder_new. NULL: no memory. */
struct tw_packer *tw_packer_new(const struct tw_value_map *map, struct tw_encoder_code *code);
void tw_packer_free(struct tw_packer *p);
void tw_packer_begin(struct tw_packer *p, uint32_t thread);

/* GAP and STAMP events in a piece. */
struct tw_event_sums {
	uint64_t gaps, stamps;
};

/* Thread, sequence, `upper` and the totals before the chunk are the first piece's; counts are added up. */
int tw_packer_add(struct tw_packer *p, const struct tw_thread_info *thread, const struct tw_chunk *piece,
                  const struct tw_event_sums *events);

/*
 * The next contents may also be given to the packer's encoder as records (transform.h): from tw_encoder_open to
 * tw_encoder_close, followed by tw_packer_add with a piece without streams. The chunk must then start with a KEYFRAME
 * event.
 */
struct tw_encoder *tw_packer_encoder(struct tw_packer *p);

/* `level` is zstd's. */
int tw_packer_end(struct tw_packer *p, int level);

/*
 * After packing, the encoder, which is most of the memory, is not needed. After tw_packer_end it may be taken away,
 * and is the caller's then; before the next tw_packer_begin the packer must be given one, of the same writer.
 */
struct tw_encoder *tw_packer_take_encoder(struct tw_packer *p);
void tw_packer_give_encoder(struct tw_packer *p, struct tw_encoder *e);

/* For the chunk just packed: the totals of its thread before it are these, not what the first piece said. */
void tw_packer_follow(struct tw_packer *p, uint64_t insns, uint64_t blocks, uint64_t refs);

/* What was packed: thread, header with its checksum, and the sections, one after the other, in pieces. Valid until the next tw_packer_begin. */
enum { TW_PACKED_PIECES = 9 }; /* of C, M and E at most 3, 4 and 2 */
struct tw_packed {
	struct tw_thread_info thread;
	struct tw_file_chunk head;
	struct iovec piece[TW_PACKED_PIECES];
	int n_pieces;
};
const struct tw_packed *tw_packer_packed(const struct tw_packer *p);

/* Compresses `n` bytes into *to, which grows as needed. Nothing becomes nothing. TW_ERR_MEMORY. */
struct tw_bytes;
struct ZSTD_CCtx_s;
int tw_compress(struct ZSTD_CCtx_s *zstd, struct tw_bytes *to, const void *bytes, size_t n, int level);
/* ---- processes ---- */

/* A thread began as a program. */
struct tw_executed {
	uint32_t pid, thread;
	const char *program;
};

/* What notes add up to; the reader's. */
struct tw_processes {
	struct tw_process *process;
	size_t n;
	struct tw_executed *executed; /* in the order of time */
	size_t n_executed;
	struct tw_ordered_note *note; /* until tw_processes_build */
	size_t n_notes, room;
	const char **words; /* of all argument vectors */
};

/* Adds a note, which stays in place until tw_processes_free. TW_ERR_DAMAGED: it does not fit in `avail` bytes, or is not valid. */
int tw_processes_note(struct tw_processes *p, const struct tw_file_note *note, uint64_t avail);
int tw_processes_build(struct tw_processes *p);
void tw_processes_free(struct tw_processes *p);

/* The last process of this pid whose first thread is not after `thread`, or NULL. */
struct tw_process *tw_processes_find(const struct tw_processes *p, uint32_t pid, uint32_t thread);

/*
 * The threads that made the memory of thread number `thread` (serial) what it is: those of its process since it
 * executed its program; if it has executed none, those of the process that it was forked from, before that; and so
 * on. The nearest first; returns their number. Includes threads of which nothing is recorded.
 */
enum { TW_LINEAGE = 64 };
struct tw_ancestor {
	uint32_t pid, from, to; /* serial numbers, from `from` to before `to` */
	const char *program;    /* which `from` executed; "": none */
};
size_t tw_processes_lineage(const struct tw_processes *p, uint32_t pid, uint32_t thread, struct tw_ancestor out[TW_LINEAGE]);
size_t tw_recording_lineage(const struct tw_recording *r, const struct tw_thread_info *thread, struct tw_ancestor out[TW_LINEAGE]);

/*
 * The program that thread number `thread` (serial) of this process runs: what the process, or the one that it was
 * forked from, had executed by then. "": not known.
 */
const char *tw_processes_program(const struct tw_processes *p, uint32_t pid, uint32_t thread);
const char *tw_recording_program(const struct tw_recording *r, const struct tw_thread_info *thread);

/* ---- a recording that is in memory only ---- */

/*
 * A running program as a recording without chunks. It grows block by block, of the kinds of the code file, and thread
 * by thread; meanwhile nobody may read it. tw_recording_close frees it.
 */
int tw_recording_live(const struct tw_recording_info *info, struct tw_recording **out);

/* Takes over the bytes, which are from malloc. */
int tw_recording_live_block(struct tw_recording *r, uint32_t kind, void *bytes, size_t n);

/* Announces this thread, of which no chunk has come yet. Returns TW_ERR_MEMORY or 0. */
int tw_recording_live_thread(struct tw_recording *r, const struct tw_thread_info *thread);

/* A chunk of this thread has come, which may be its first. Returns TW_ERR_MEMORY or 0. */
int tw_recording_live_chunk(struct tw_recording *r, const struct tw_thread_info *thread, const struct tw_chunk *chunk);

/*
 * Keeps this chunk, which has just come, for tw_recording_coded_chunk and tw_recording_events: up to `most` bytes in
 * memory, the rest compressed in an unnamed file in TMPDIR. TW_ERR_MEMORY, or TW_ERR_SYSTEM: there is no room there.
 */
int tw_recording_live_keep(struct tw_recording *r, const struct tw_chunk *chunk, uint64_t most);

/* The program has ended. */
void tw_recording_live_end(struct tw_recording *r, const struct tw_recording_info *end);

/* ---- writing ---- */

struct tw_writer;

/*
 * Starts a recording in directory `dir`, which must exist and be empty; it may be renamed meanwhile. The info's
 * strings are only read during the call. `info->complete` and the totals are ignored. All of the functions below are
 * called by one thread at a time. What one of them wrote is in the page cache when it returns, so it survives the
 * death of the collector (not of the machine). After a failure, only tw_writer_close may be called.
 */
int tw_writer_create(const char *dir, const struct tw_recording_info *info, struct tw_writer **out);

/*
 * Continues a recording whose writer has died: what is half written is cut off. `dir_fd` is its directory, and locked
 * (flock) by the caller, so that nobody else does the same; `r` was opened since.
 */
int tw_writer_append(int dir_fd, const struct tw_recording *r, struct tw_writer **out);

/* Descriptors, back to back. They must be written before the first chunk that uses them. */
int tw_writer_descriptors(struct tw_writer *w, const void *bytes, size_t n);

/* Likewise, if their values are in tw_writer_values already. `stay`: the bytes stay in place until the writer is closed. */
int tw_writer_described(struct tw_writer *w, const void *bytes, size_t n, int stay);

/*
 * A module and a note in the form of the code file, from malloc; NULL: no memory. `text` may be NULL;
 * `note->text_bytes` are its bytes without padding.
 */
void *tw_module_bytes(const struct tw_module *module, size_t *n);
void *tw_note_bytes(const struct tw_file_note *note, const char *text, size_t *n);

/* Writes a block, enum tw_block_kind, of the code file. */
int tw_writer_block(struct tw_writer *w, uint32_t kind, const void *raw, size_t n);

/* The values of the fragments written so far. Descriptors may be added before they are written, but must be before they are used. */
struct tw_value_map *tw_writer_values(struct tw_writer *w);

/* The fragments of this stretch of numbers no longer run. */
void tw_writer_forget(struct tw_writer *w, uint32_t first);

/* Nor does that of this number. */
void tw_writer_forget_one(struct tw_writer *w, uint32_t number);

/* A packer for chunks of this recording, or an encoder for such a packer; or NULL. */
struct tw_packer *tw_writer_packer(struct tw_writer *w);
struct tw_encoder *tw_writer_encoder(struct tw_writer *w);

/* A packed chunk; chunks of one thread come in order. The thread's data counts with its first chunk only. */
int tw_writer_packed(struct tw_writer *w, const struct tw_packed *packed);

/* Was a thread whose last chunk has these flags cut off, that is, did it end neither by itself nor with its process's orderly end? */
static inline int tw_chunk_is_cut(uint32_t flags)
{
	return (flags & (TW_CHUNK_TORN | TW_CHUNK_LAST)) != TW_CHUNK_LAST;
}

/*
 * Adds to gaps and cut what a chunk, or a piece of one, says by its flags. A thread counts as cut from its `first`
 * one until its end is seen, so the sum over all is right, in any order.
 */
void tw_totals_end(struct tw_totals *t, int first, uint32_t flags);

/* Packs a chunk without STAMP events in one piece and writes it. `level` is zstd's; `gaps` counts the GAP events in it. */
int tw_writer_chunk(struct tw_writer *w, const struct tw_thread_info *thread, const struct tw_chunk *chunk, uint64_t gaps, int level);

/* What has been written so far: stored bytes and code bytes; counts of the chunks. */
const struct tw_totals *tw_writer_totals(const struct tw_writer *w);

/* Closes the recording and frees *w. `end` gives totals, wait_status, duration_ns, failure and complete. */
int tw_writer_close(struct tw_writer *w, const struct tw_recording_info *end);

/* Fills the header of a block whose stored bytes these are. */
struct tw_file_block tw_block_head(uint32_t kind, size_t raw, const void *stored, size_t n);

/* The writer's directory, through which it can be opened even if it is renamed; owned by the writer. */
int tw_writer_directory(const struct tw_writer *w);

/*
 * What has been written so far as a recording without chunks, to which nothing may be added any more; owned by the
 * writer. NULL: it was too much to remember, and must be read.
 */
const struct tw_recording *tw_writer_written(struct tw_writer *w);

/* ---- names ---- */

/* Names that are kept with a recording: bytes that names/kept.h makes and reads. They live as long as the recording. */
struct tw_names_block {
	const uint8_t *bytes;
	size_t n;
};
size_t tw_recording_n_names(const struct tw_recording *r);
const struct tw_names_block *tw_recording_names(const struct tw_recording *r, size_t i);

/* A source file that was put into the recording (trackway bundle --sources), open for reading; -1: it was not. */
#define TW_SOURCES_DIRECTORY "sources"
int tw_recording_source(const struct tw_recording *r, const char *path);

/* ---- files of blocks ---- */

/* Writes a file of blocks that replaces the existing one in one step, when it is closed. `error`: abandons it. */
struct tw_block_file;
enum { TW_INDEX_LEVEL = 9 }; /* zstd's */
int tw_block_file_create(const struct tw_recording *r, const char *name, struct tw_block_file **out);
int tw_block_file_add(struct tw_block_file *f, uint32_t kind, int level, const void *bytes, size_t n);
int tw_block_file_close(struct tw_block_file *f, int error);

/* ---- directory ---- */

/*
 * Makes `dir` an empty directory for a new recording. An existing recording is renamed to `dir`.old, replacing an
 * older recording of that name; nothing else is ever renamed or removed.
 */
int tw_directory_prepare(const char *dir);

/*
 * Removes `dir`, made by tw_directory_prepare, after tw_writer_create has failed: what is there is no recording and
 * would be in the way of the next. tw_recording_detail() is unchanged.
 */
void tw_directory_abandon(const char *dir);

/* Does a recording's directory contain anything besides its files and the sources of trackway bundle? */
int tw_directory_has_others(const char *dir);

/* Removes a recording with its directory, unless that contains something else. */
int tw_directory_remove(const char *dir);

/* ---- header ---- */

/* Writes and reads the header file (text; docs/format.md). tw_header_write replaces it in one step. tw_header_read fills *info with allocated
 * strings, which tw_header_free frees; it leaves *info all zeros on failure. */
int tw_header_write(int dir_fd, const struct tw_recording_info *info);
int tw_header_read(const char *dir, struct tw_recording_info *info);
void tw_header_free(struct tw_recording_info *info);

/* A copy with strings of its own, incomplete. TW_ERR_MEMORY; tw_header_free in any case. */
int tw_info_copy(struct tw_recording_info *to, const struct tw_recording_info *from);

/* Reserves disk space, so that the header can be rewritten when the disk is full. */
int tw_header_reserve(int dir_fd);

/* What a count of the engine's is called, enum tw_count. */
const char *tw_count_name(unsigned count);

/* Names of formats and sinks, as on the command line; -1 if there is none of that name. */
const char *tw_format_name(uint32_t format);
int tw_format_by_name(const char *name);
const char *tw_sink_name(uint32_t sink);
int tw_sink_by_name(const char *name);
const char *tw_follow_name(uint32_t follow);
int tw_follow_by_name(const char *name);

#endif
