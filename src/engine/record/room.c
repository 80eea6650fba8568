#include "engine/record/room.h"

struct tw_record_process tw_recorder;
