/*
 * Encoding and compressing chunks. The output for a part of a section is compressed as soon as it fills a frame,
 * while it is in the processor's cache: a chunk of a program that writes fast reaches tens of megabytes, and memory
 * that was not touched before is the most expensive.
 */
#define ZSTD_STATIC_LINKING_ONLY /* of ZSTD_c_literalCompressionMode */
#include "recording/recording.h"
#include "recording/transform.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/*
 * A part of a section is compressed in frames of at least this many bytes, at this level, before its end is known. A
 * part that hardly became smaller may still repeat itself at a distance, like what a loop over a table writes each
 * time: after some such frames in a row, frames are long, and such repetitions are searched; after one without any,
 * not for a while. (Not at once: for short programs untouched memory costs more than this saves.)
 */
enum { FRAME_BYTES = 1 << 20, FRAME_LEVEL = 1, LONG_FRAME_BYTES = 8 << 20, IN_A_ROW = 8, NOT_AGAIN = 64 };

/*
 * How a frame is compressed: as its level says; with a search for what was there megabytes before; or quickly, with
 * little search for repetitions but with an entropy code for single bytes. Most of bzip2's values become as small in
 * this way, in half the time: whether a part is like that is determined by trying both ways.
 */
enum how { BY_LEVEL, FAR, QUICKLY };
enum { QUICK_STRIDE = 32, TRIED_FIRST = 3, TRIED_AGAIN = 16, TRIED_BYTES = FRAME_BYTES / 16 };

/* The frames of a part so far, and the bytes they hold. */
struct framed {
	struct tw_bytes frames;
	uint64_t held;
	unsigned wait;  /* for so many more that hardly become smaller; then repetitions are looked for */
	unsigned trial; /* so many more, and both ways are tried */
	int quickly;
};

struct tw_packer {
	struct tw_encoder *encoder;
	ZSTD_CCtx *zstd;
	XXH64_state_t *check; /* of a section */
	struct framed framed[TW_NPARTS];
	struct tw_bytes section; /* one that is small enough to be one frame */
	struct tw_bytes stored[TW_NSTREAMS];
	struct tw_packed packed;
	uint32_t thread;     /* of the chunk */
	int begun, has_head; /* the first piece has come, or begun to */
};

struct tw_packer *tw_packer_new(const struct tw_value_map *map, struct tw_encoder_code *code)
{
	struct tw_packer *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->encoder = tw_encoder_new(map, code);
	p->thread = TW_NO_THREAD;
	p->zstd = ZSTD_createCCtx();
	p->check = XXH64_createState();
	for (int i = 0; i < TW_NPARTS; i++)
		p->framed[i] = (struct framed){.wait = IN_A_ROW, .trial = TRIED_FIRST};
	if (p->encoder && p->zstd && p->check)
		return p;
	tw_packer_free(p);
	return NULL;
}

void tw_packer_free(struct tw_packer *p)
{
	if (!p)
		return;
	for (int i = 0; i < TW_NSTREAMS; i++)
		free(p->stored[i].at);
	for (int i = 0; i < TW_NPARTS; i++)
		free(p->framed[i].frames.at);
	free(p->section.at);
	tw_encoder_free(p->encoder);
	ZSTD_freeCCtx(p->zstd);
	XXH64_freeState(p->check);
	free(p);
}

/* ---- frames ---- */

static int add_frame(ZSTD_CCtx *zstd, struct tw_bytes *to, const void *bytes, size_t n, int level, enum how how)
{
	int error = n ? tw_bytes_reserve(to, ZSTD_compressBound(n)) : TW_OK;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_enableLongDistanceMatching, how == FAR);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_targetLength, how == QUICKLY ? QUICK_STRIDE : 0);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_literalCompressionMode, how == QUICKLY ? ZSTD_ps_enable : ZSTD_ps_auto);
	size_t got = n && !error ? ZSTD_compress2(zstd, to->at + to->n, to->room - to->n, bytes, n) : 0;
	if (ZSTD_isError(got))
		return tw_fail(TW_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(got));
	to->n += got;
	return error;
}

int tw_compress(ZSTD_CCtx *zstd, struct tw_bytes *to, const void *bytes, size_t n, int level)
{
	to->n = 0;
	return add_frame(zstd, to, bytes, n, level, BY_LEVEL);
}

/* Compresses the bytes both ways, and chooses one. The result at the normal level is kept. */
static int try_both(ZSTD_CCtx *zstd, struct framed *f, const struct tw_bytes *b)
{
	const size_t before = f->frames.n;
	int error = add_frame(zstd, &f->frames, b->at, b->n, FRAME_LEVEL, QUICKLY);
	const size_t quickly = f->frames.n - before;
	f->frames.n = before;
	if (!error)
		error = add_frame(zstd, &f->frames, b->at, b->n, FRAME_LEVEL, BY_LEVEL);
	const size_t by_level = f->frames.n - before;
	f->quickly = quickly <= by_level + by_level / 16;
	return error;
}

static int add_part(struct tw_packer *p, struct framed *f, const struct tw_bytes *b, int level, int far)
{
	if (far || level != FRAME_LEVEL || b->n < TRIED_BYTES)
		return add_frame(p->zstd, &f->frames, b->at, b->n, level, far ? FAR : BY_LEVEL);
	if (f->trial-- > 0)
		return add_frame(p->zstd, &f->frames, b->at, b->n, level, f->quickly ? QUICKLY : BY_LEVEL);
	f->trial = TRIED_AGAIN;
	return try_both(p->zstd, f, b);
}

/* Compresses what there is of a part, and takes it away. */
static int frame_part(struct tw_packer *p, enum tw_part part, int level)
{
	struct tw_bytes *b = &tw_encoder_coded(p->encoder)->part[part];
	struct framed *f = &p->framed[part];
	const size_t before = f->frames.n;
	const int far = !f->wait && b->n > FRAME_BYTES;
	int error = add_part(p, f, b, level, far);
	const int is_dense = f->frames.n - before > b->n / 8 * 7;
	if (far)
		f->wait = is_dense ? NOT_AGAIN : 0;
	else if (b->n >= FRAME_BYTES)
		f->wait = is_dense ? f->wait - (f->wait > 0) : f->wait > IN_A_ROW ? f->wait : IN_A_ROW;
	f->held += b->n;
	b->n = 0;
	return error;
}

static size_t frame_bytes(const struct framed *f)
{
	return f->wait ? FRAME_BYTES : LONG_FRAME_BYTES;
}

static int frame_full_parts(struct tw_packer *p)
{
	const struct tw_coded *coded = tw_encoder_coded(p->encoder);
	int error = TW_OK;
	for (int i = 0; i < TW_NPARTS && !error; i++)
		if (coded->part[i].n >= frame_bytes(&p->framed[i]))
			error = frame_part(p, (enum tw_part)i, FRAME_LEVEL);
	return error;
}

/* ---- pieces ---- */

void tw_packer_begin(struct tw_packer *p, uint32_t thread)
{
	p->thread = thread;
	p->begun = p->has_head = 0;
}

static void begin(struct tw_packer *p, uint32_t upper)
{
	if (p->begun)
		return;
	tw_encoder_begin(p->encoder, upper, p->thread);
	for (int i = 0; i < TW_NPARTS; i++)
		p->framed[i].held = p->framed[i].frames.n = 0;
	p->begun = 1;
}

struct tw_encoder *tw_packer_encoder(struct tw_packer *p)
{
	begin(p, 0);
	return p->encoder;
}

static void begin_head(struct tw_packer *p, const struct tw_thread_info *thread, const struct tw_chunk *c)
{
	p->packed.thread = *thread;
	p->packed.head = (struct tw_file_chunk){
	    .magic = TW_CHUNK_MAGIC,
	    .version = TW_RECORDING_VERSION,
	    .thread = c->thread,
	    .sequence = c->sequence,
	    .upper = c->upper,
	    .first_insn = c->first_insn,
	    .first_block = c->first_block,
	    .first_ref = c->first_ref,
	};
}

int tw_packer_add(struct tw_packer *p, const struct tw_thread_info *thread, const struct tw_chunk *piece,
                  const struct tw_event_sums *events)
{
	struct tw_file_chunk *head = &p->packed.head;
	begin(p, piece->upper);
	if (!p->has_head)
		begin_head(p, thread, piece);
	p->has_head = 1;
	head->flags |= piece->flags;
	head->insns += piece->insns;
	head->blocks += piece->blocks;
	head->refs += piece->refs;
	head->reads += piece->reads;
	head->writes += piece->writes;
	head->gaps += events->gaps;
	head->stamps += (uint32_t)events->stamps;
	int error = tw_encoder_add(p->encoder, piece);
	return error ? error : frame_full_parts(p);
}

/* ---- sections ---- */

static int has_frames(const struct tw_packer *p, enum tw_part first, unsigned n)
{
	uint64_t held = 0;
	for (unsigned i = 0; i < n; i++)
		held += p->framed[first + i].held;
	return held != 0;
}

/* What is stored of a section continues with these bytes, which stay in place. */
static void put_piece(struct tw_packer *p, int stream, const struct tw_bytes *b)
{
	if (!b->n)
		return;
	p->packed.piece[p->packed.n_pieces++] = (struct iovec){b->at, b->n};
	p->packed.head.stored[stream] += b->n;
	XXH64_update(p->check, b->at, b->n);
}

/* A section of several parts none of which has filled a frame becomes one frame. */
static int store_whole(struct tw_packer *p, int stream, int level)
{
	struct tw_bytes *to = &p->stored[stream];
	p->section.n = 0;
	int error = tw_coded_section(tw_encoder_coded(p->encoder), (unsigned)stream, &p->section);
	if (!error)
		error = tw_compress(p->zstd, to, p->section.at, p->section.n, level);
	p->packed.head.coded[stream] = p->section.n;
	put_piece(p, stream, to);
	return error;
}

/* The others, and single parts: a frame with the lengths of their parts, if there are several, and the parts' frames. */
static int store_framed(struct tw_packer *p, int stream, enum tw_part first, unsigned n, int level)
{
	struct tw_bytes *lengths = &p->stored[stream];
	uint64_t length[TW_NPARTS], *coded = &p->packed.head.coded[stream];
	size_t bytes = n > 1 ? n * sizeof *length : 0;
	int error = TW_OK;
	*coded = bytes;
	for (unsigned i = 0; i < n && !error; i++) {
		error = frame_part(p, first + i, level);
		length[i] = p->framed[first + i].held;
		*coded += length[i];
	}
	if (!error)
		error = tw_compress(p->zstd, lengths, length, bytes, level);
	put_piece(p, stream, lengths);
	for (unsigned i = 0; i < n; i++)
		put_piece(p, stream, &p->framed[first + i].frames);
	return error;
}

static int store_section(struct tw_packer *p, int stream, int level)
{
	struct tw_file_chunk *head = &p->packed.head;
	enum tw_part first;
	unsigned n = tw_section_parts((unsigned)stream, &first);
	XXH64_reset(p->check, 0);
	head->raw[stream] = tw_encoder_coded(p->encoder)->raw[stream];
	head->stored[stream] = 0;
	int error = n == 1 || has_frames(p, first, n) ? store_framed(p, stream, first, n, level) : store_whole(p, stream, level);
	head->section_check[stream] = XXH64_digest(p->check);
	return error;
}

int tw_packer_end(struct tw_packer *p, int level)
{
	struct tw_file_chunk *head = &p->packed.head;
	int error = tw_encoder_end(p->encoder);
	p->packed.n_pieces = 0;
	for (int i = 0; i < TW_NSTREAMS && !error; i++)
		error = store_section(p, i, level);
	head->check = XXH64(head, offsetof(struct tw_file_chunk, check), 0);
	return error;
}

struct tw_encoder *tw_packer_take_encoder(struct tw_packer *p)
{
	struct tw_encoder *e = p->encoder;
	p->encoder = NULL;
	return e;
}

void tw_packer_give_encoder(struct tw_packer *p, struct tw_encoder *e)
{
	tw_encoder_free(p->encoder);
	p->encoder = e;
}

void tw_packer_follow(struct tw_packer *p, uint64_t insns, uint64_t blocks, uint64_t refs)
{
	struct tw_file_chunk *head = &p->packed.head;
	head->first_insn = insns;
	head->first_block = blocks;
	head->first_ref = refs;
	head->check = XXH64(head, offsetof(struct tw_file_chunk, check), 0);
}

const struct tw_packed *tw_packer_packed(const struct tw_packer *p)
{
	return &p->packed;
}
