#include "channel/output_write.h"
#include "channel/feed.h"
#include "channel/output_state.h"
#include "channel/ring.h"
#include "channel/machine.h"
#include "channel/spool.h"
#include "recording/value_map.h"

#include <stdio.h>
#include <stdlib.h>

void tw_output_say(struct tw_output *o, int error)
{
	struct tw_output_result *r = &o->result;
	tw_failure_sentence(error, r->failure, sizeof r->failure);
	r->said = fprintf(stderr, "trackway: recording stopped, the program continues: %s\n", r->failure) > 0;
}

void tw_output_fail(struct tw_output *o, int error)
{
	if (!atomic_exchange(&o->failed, 1) && !atomic_load(&o->full))
		tw_output_say(o, error);
}

void tw_output_note_odd(struct tw_output *o, int error)
{
	struct tw_output_result *r = &o->result;
	pthread_mutex_lock(&o->lock);
	if (!r->failure[0])
		tw_failure_sentence(error, r->failure, sizeof r->failure);
	pthread_mutex_unlock(&o->lock);
}

int tw_output_stores(const struct tw_output *o)
{
	return o->options.writer && !atomic_load(&o->failed);
}

int tw_output_keeps(const struct tw_output *o, uint32_t id)
{
	return tw_output_stores(o) && (!atomic_load(&o->full) || (int32_t)(id - o->last_kept) <= 0);
}

/* The next piece that begins before `end`, taken off the list; NULL: there is none. */
static struct tw_descriptor_piece *next_piece(struct tw_output *o, uint64_t end)
{
	pthread_mutex_lock(&o->lock);
	struct tw_descriptor_piece *p = o->pieces;
	if (p && p->end - p->n >= end)
		p = NULL;
	if (p)
		o->pieces = p->next;
	pthread_mutex_unlock(&o->lock);
	return p;
}

void tw_output_write_up_to(struct tw_output *o, uint64_t end)
{
	for (struct tw_descriptor_piece *p; (p = next_piece(o, end)); free(p)) {
		int error = tw_output_stores(o) ? tw_writer_described(o->options.writer, p->bytes, p->n, p->stays) : TW_OK;
		if (error)
			tw_output_fail(o, error);
		atomic_store(&o->coded, p->end);
	}
}

void tw_output_write_descriptors(struct tw_output *o)
{
	pthread_mutex_lock(&o->writing);
	tw_output_write_up_to(o, o->described);
	pthread_mutex_unlock(&o->writing);
}

/* Appends to the pieces to be written; usually they continue the last one. */
static int append_piece(struct tw_output *o, const uint8_t *bytes, size_t n, int stays)
{
	struct tw_descriptor_piece *last = o->pieces ? o->newest : NULL;
	o->described += n;
	atomic_store(&o->all_described, o->described);
	if (last && last->bytes + last->n == bytes && last->stays == stays) {
		last->n += n;
		last->end += n;
		return TW_OK;
	}
	struct tw_descriptor_piece *p = malloc(sizeof *p);
	if (!p)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	*p = (struct tw_descriptor_piece){.bytes = bytes, .n = n, .stays = stays, .end = o->described};
	if (last)
		last->next = p;
	else
		o->pieces = p;
	o->newest = p;
	return TW_OK;
}

void tw_output_describe(struct tw_output *o, struct tw_value_family *family, const uint8_t *bytes, size_t n, int stay)
{
	if (o->options.feed)
		tw_feed_block(o->options.feed, TW_BLOCK_DESCRIPTORS, bytes, n);
	if (!tw_output_stores(o) || o->options.discard || atomic_load(&o->full))
		return;
	int error = tw_value_map_add_all(tw_writer_values(o->options.writer), family, bytes, n);
	pthread_mutex_lock(&o->lock);
	if (!error)
		error = append_piece(o, bytes, n, stay);
	pthread_mutex_unlock(&o->lock);
	if (!error && o->spool)
		error = tw_spool_describe(o->spool, bytes, n, o->described);
	if (error)
		tw_output_fail(o, error);
}

void tw_output_forget(struct tw_output *o, uint32_t first)
{
	if (o->options.writer)
		tw_writer_forget(o->options.writer, first);
}

void tw_output_forget_one(struct tw_output *o, uint32_t number)
{
	if (o->options.writer)
		tw_writer_forget_one(o->options.writer, number);
}

/* Descriptors are written to disk at least this often: without them what is in the spool is lost with the collector. */
#define DESCRIPTORS_NS 100000000ull

void tw_output_write_new_descriptors(struct tw_output *o)
{
	const uint64_t now = tw_machine_ns();
	if (!o->spool || now - atomic_load(&o->scribbled) < DESCRIPTORS_NS || pthread_mutex_trylock(&o->writing))
		return;
	atomic_store(&o->scribbled, now);
	tw_output_write_up_to(o, atomic_load(&o->all_described));
	pthread_mutex_unlock(&o->writing);
}

void tw_output_write_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n)
{
	int error = !tw_output_stores(o) ? TW_OK
	            : bytes              ? tw_writer_block(o->options.writer, kind, bytes, n)
	                                 : tw_fail(TW_ERR_MEMORY, "modules");
	if (error)
		tw_output_fail(o, error);
	free(bytes);
}

void tw_output_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n)
{
	if (o->options.feed && bytes)
		tw_feed_block(o->options.feed, kind, bytes, n);
	pthread_mutex_lock(&o->writing);
	tw_output_write_block(o, kind, bytes, n);
	pthread_mutex_unlock(&o->writing);
}

void tw_output_write_ring(struct tw_output *o)
{
	pthread_mutex_lock(&o->writing);
	int error = o->ring && tw_output_stores(o) ? tw_ring_write(o->ring, o->options.writer) : TW_OK;
	if (error)
		tw_output_fail(o, error);
	pthread_mutex_unlock(&o->writing);
}
