#include "recording/recording.h"
#include "unit.h"

int main(void)
{
	for (int e = TW_OK; e > TW_ERR_LAST; e--)
		CHECK(tw_error_text(e) && tw_error_text(e)[0]);
	SAME_TEXT(tw_error_text(TW_ERR_LAST), "unknown error");
	SAME_TEXT(tw_error_text(1), "unknown error");
	SAME_TEXT(tw_recording_detail(), "");
	EQUAL(tw_fail(TW_ERR_RANGE, "chunk %d", 7), TW_ERR_RANGE);
	SAME_TEXT(tw_recording_detail(), "chunk 7");
	char text[100];
	SAME_TEXT(tw_failure_sentence(TW_ERR_RANGE, text, sizeof text), "there is no such thread or chunk in the recording (chunk 7)");
	SAME_TEXT(tw_failure_sentence(TW_ERR_SYSTEM, text, sizeof text), "chunk 7");
	return UNIT_END();
}
