/*
 * Programs that are set-uid or set-gid.
 *
 * A recorded program runs with the rights of the user who runs it, so one that would change them cannot be recorded
 * as it is. For most such programs that root runs nothing changes: the file's owner and group are root already. Then
 * the bits have no effect, except that the kernel clears some flags of the personality.
 */
#ifndef TW_SET_ID_H
#define TW_SET_ID_H

/* What execve of a file with this mode would change; NULL: nothing. The user, group and personality are those of the process. */
static inline const char *tw_set_id_changes(unsigned mode, unsigned owner, unsigned group, unsigned euid, unsigned egid,
                                            unsigned personality)
{
	enum { SET_UID = 04000, SET_GID = 02000, GROUP_EXECUTES = 010 };
	const unsigned cleared = 0x740000; /* PER_CLEAR_ON_SETID */
	const int by_user = (mode & SET_UID) != 0, by_group = (mode & (SET_GID | GROUP_EXECUTES)) == (SET_GID | GROUP_EXECUTES);
	if (by_user && (owner != euid || personality & cleared))
		return "set-uid";
	if (by_group && (group != egid || personality & cleared))
		return "set-gid";
	return 0;
}

#endif
