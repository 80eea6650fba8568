/* What the engine counted of its own work, for `info`. */
#ifndef TW_CLI_ENGINE_H
#define TW_CLI_ENGINE_H

#include "recording/recording.h"
#include "report/json.h"

/* A table; or one sentence, where nothing was counted. */
void tw_engine_print(const struct tw_recording_info *info);

/* The object `engine`, where something was counted. */
void tw_engine_json(struct tw_json *j, const struct tw_recording_info *info);

#endif
