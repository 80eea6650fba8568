#include "engine/code/room.h"

struct tw_code_process tw_translator;
