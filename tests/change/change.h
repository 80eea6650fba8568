/*
 * A generator of recordings that are wrong inside: contents are decoded, changed, and put together again with every size and checksum right, so that what
 * reads them must itself notice. The same seed makes the same recording (tests/change/recordings.sh).
 */
#ifndef TW_TEST_CHANGE_H
#define TW_TEST_CHANGE_H

#include "recording/recording.h"
#include "recording/transform.h"

/* ---- chance ---- */

/* Everything is drawn from here. */
void seed(uint64_t with);
uint64_t random64(void);

/* One of 0 .. n - 1; 0 where n is 0. */
size_t below(size_t n);

/* Once in n times. */
int once_in(size_t n);

/* ---- bytes ---- */

/* Makes one number of 1, 2, 4 or 8 bytes, which stands at a multiple of its size in these n bytes, another one: near to it, or at the edge of something. */
void twist(void *at, size_t n);

/* Of items of `unit` bytes, from `from` on: some are left out, doubled, moved, or changed by twist(). */
void rearrange(struct tw_bytes *b, size_t from, size_t unit);

/* Replaces n bytes at `at` by others. */
void replace(struct tw_bytes *b, size_t at, size_t n, const void *by, size_t n_by);

void die(const char *what) __attribute__((noreturn));

/* ---- the parts of a recording: each reads what is in the directory `from` and writes it to the directory `to` ---- */

void read_file(int dir, const char *name, struct tw_bytes *to);
void write_file(int dir, const char *name, const struct tw_bytes *b);

/* One zstd frame of all the bytes, at the end of *to; nothing of nothing. */
void compress(const struct tw_bytes *raw, struct tw_bytes *to);

/* All frames there. */
void decompress(const uint8_t *stored, size_t n, size_t n_raw, struct tw_bytes *to);

void change_header(int from, int to);

/* A file of blocks, one of which is changed, or none. */
void copy_blocks(int from, int to, const char *name, int changes);

/* The files of all threads; one of them is changed, or none. */
void copy_threads(const struct tw_recording *r, int from, int to, int changes);

#endif
