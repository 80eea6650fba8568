/* How far tw_cc_put (cc/pointer.h) moves the pointer at most, in bytes: there is a piece of code for each even number up to this. Assembly includes it. */
#define TW_CC_MOST_PUT 42
