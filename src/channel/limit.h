/* Limits on a recording. */
#ifndef TW_LIMIT_H
#define TW_LIMIT_H

/* Which limit ended recording. After tw_collector_finish. */
enum tw_limit { TW_LIMIT_NONE, TW_LIMIT_BYTES, TW_LIMIT_TIME };

#endif
