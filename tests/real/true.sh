# The smallest real program.
. "$(dirname "$0")/../lib.sh"
whole true
whole false
[ "$(info_value threads)" = 1 ] || fail "true has one thread"
[ "$(info_value instructions)" -gt 10000 ] || fail "the loader is missing from the recording"
