/*
 * Allocated blocks of memory, and to which of them an address belongs: live ones, and freed ones whose memory has not
 * been reallocated since.
 *
 * Ownership is recorded for each 8 bytes, or for a page that belongs entirely to one block. Processes are separate.
 */
#ifndef TW_HEAP_BLOCKS_H
#define TW_HEAP_BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include <trackway/event.h>

struct tw_heap_block {
	uint64_t addr, bytes, serial; /* serial: from 1, of all that were ever allocated */
	uint64_t usable;              /* usable bytes: more than requested if the program has asked for the usable size */
	uint64_t born, died;          /* times */
	uint32_t process, site, path, free_path, free_thread;
	uint32_t thread;
	uint64_t units;    /* of 8 bytes that are still its own; 0: nothing refers to it any more, and its number is reused */
	uint64_t *is_read; /* a bit for each byte; NULL: none was read */
	uint8_t live;
};

struct tw_heap_page;

/* All zeros: none. */
struct tw_heap_blocks {
	struct tw_heap_block *items; /* number 0 is nobody */
	size_t n, room;
	uint32_t *free_numbers;
	size_t n_free, free_room;
	struct tw_heap_page **pages; /* open hash */
	size_t n_pages, pages_room;
	uint64_t serial;
	struct {
		uint64_t key;
		struct tw_heap_page *page;
	} recent[256]; /* of pages asked for, by their lowest bits; key 0: none */
};

/* Adds a live block. Freed blocks are forgotten as far as it covers them. Its number; 0: no memory. `bytes` 0 counts as 1. */
uint32_t tw_heap_blocks_add(struct tw_heap_blocks *b, uint32_t process, uint64_t addr, uint64_t bytes);

/* This many bytes of a live block are usable, not less than before. 0 or TW_ERR_MEMORY. */
int tw_heap_blocks_widen(struct tw_heap_blocks *b, uint32_t number, uint64_t usable);

/* The block that the 8 bytes at addr belong to; 0: none. */
uint32_t tw_heap_blocks_at(struct tw_heap_blocks *b, uint32_t process, uint64_t addr);

/* Memory is newly mapped there: freed blocks no longer own any of it. 0 or TW_ERR_MEMORY. */
int tw_heap_blocks_forget(struct tw_heap_blocks *b, uint32_t process, uint64_t start, uint64_t end);

/* Likewise if this system call mapped memory. */
int tw_heap_blocks_syscall(struct tw_heap_blocks *b, uint32_t process, const struct tw_syscall *call);

/* Whether there are blocks on the page of addr. */
int tw_heap_blocks_near(struct tw_heap_blocks *b, uint32_t process, uint64_t addr);

/* Bytes [from, from + n) of a block are read. 0 or TW_ERR_MEMORY. */
int tw_heap_blocks_read(struct tw_heap_block *block, uint64_t from, uint64_t n);

/* Bytes of it that were never read. */
uint64_t tw_heap_blocks_unread(const struct tw_heap_block *block);

void tw_heap_blocks_free(struct tw_heap_blocks *b);

#endif
