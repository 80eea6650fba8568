#include "engine/kernel/room.h"

struct tw_kernel_process tw_kernel;
