/*
 * Shadow memory: for each byte of a process who wrote it last, and when.
 *
 * Pages start with an entry for each 8 bytes, and get one for each 4 or each single byte after a smaller write: an
 * entry holds for all bytes of its unit.
 */
#ifndef TW_SHADOW_H
#define TW_SHADOW_H

#include "analyzers/rows.h"

/* `writer` is the user's; 0: nobody has written it. */
struct tw_written {
	uint64_t time;
	uint32_t writer, thread;
};

struct tw_shadow_page;

/* All zeros is memory that nobody has written. */
struct tw_shadow {
	struct tw_rows numbers; /* of pages, by process and page */
	struct tw_shadow_page **pages;
	size_t n_pages, room;
	uint64_t newest_key; /* of the newest page, and 1 */
	uint32_t newest_process;
	struct tw_shadow_page *newest;
};

/* Bytes are written. 0 or TW_ERR_MEMORY. */
int tw_shadow_write(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t bytes, const struct tw_written *by);

/* Nobody has written these bytes. If there are more of them than known pages, they must be whole pages. 0 or TW_ERR_MEMORY. */
int tw_shadow_forget(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t bytes);

/*
 * The last writer of the byte at `address`; *bytes: number of bytes from there on, at most its previous value, with
 * the same entry. Valid until the next write.
 */
const struct tw_written *tw_shadow_read(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t *bytes);

void tw_shadow_free(struct tw_shadow *s);

#endif
