#include "recording/recording.h"
#include "recording/transform.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

struct tw_packer {
	struct tw_encoder *encoder;
	ZSTD_CCtx *zstd;
	struct tw_bytes stored[TW_NSTREAMS];
	struct tw_packed packed;
	int begun; /* the first piece has come */
};

struct tw_packer *tw_packer_new(const struct tw_value_map *map, struct tw_encoder_code *code)
{
	struct tw_packer *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->encoder = tw_encoder_new(map, code);
	p->zstd = ZSTD_createCCtx();
	if (p->encoder && p->zstd)
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
	tw_encoder_free(p->encoder);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

int tw_compress(ZSTD_CCtx *zstd, struct tw_bytes *to, const void *bytes, size_t n, int level)
{
	size_t room = n ? ZSTD_compressBound(n) : 0;
	if (room > to->room) {
		free(to->at);
		*to = (struct tw_bytes){.at = malloc(room)};
		if (!to->at)
			return tw_fail(TW_ERR_MEMORY, "%zu bytes", room);
		to->room = room;
	}
	to->n = n ? ZSTD_compressCCtx(zstd, to->at, to->room, bytes, n, level) : 0;
	return ZSTD_isError(to->n) ? tw_fail(TW_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(to->n)) : TW_OK;
}

void tw_packer_begin(struct tw_packer *p)
{
	p->begun = 0;
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
	if (!p->begun) {
		begin_head(p, thread, piece);
		tw_encoder_begin(p->encoder, piece->upper);
		p->begun = 1;
	}
	head->flags |= piece->flags;
	head->insns += piece->insns;
	head->blocks += piece->blocks;
	head->refs += piece->refs;
	head->reads += piece->reads;
	head->writes += piece->writes;
	head->gaps += events->gaps;
	head->stamps += (uint32_t)events->stamps;
	return tw_encoder_add(p->encoder, piece);
}

int tw_packer_end(struct tw_packer *p, int level)
{
	struct tw_file_chunk *head = &p->packed.head;
	struct tw_coded coded;
	int error = tw_encoder_end(p->encoder, &coded);
	for (int i = 0; i < TW_NSTREAMS && !error; i++) {
		error = tw_compress(p->zstd, &p->stored[i], coded.section[i].at, coded.section[i].n, level);
		head->raw[i] = coded.raw[i];
		head->coded[i] = coded.section[i].n;
		head->stored[i] = p->stored[i].n;
		head->section_check[i] = XXH64(p->stored[i].at, p->stored[i].n, 0);
		p->packed.section[i] = p->stored[i].at;
	}
	head->check = XXH64(head, offsetof(struct tw_file_chunk, check), 0);
	return error;
}

const struct tw_packed *tw_packer_packed(const struct tw_packer *p)
{
	return &p->packed;
}
