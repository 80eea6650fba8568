# git log and git fsck of a repository made here, the same every time.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command git
export HOME=$TMP GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git init -q -b main repository || fail "git init"
for i in $(seq "$(full 300 20)"); do
	awk -v i="$i" 'BEGIN { srand(i); for (j = 0; j < 60; j++) print i, j, int(rand() * 1e6) }' >repository/file$((i % 7))
	export GIT_AUTHOR_DATE="$((1600000000 + i * 1000)) +0000" GIT_COMMITTER_DATE="$((1600000000 + i * 1000)) +0000"
	git -C repository add . && git -C repository commit -q -m "commit $i" || fail "git commit"
done
git -C repository -c pack.threads=1 repack -q -a -d
whole git -C repository --no-pager log --stat -p
whole git -C repository fsck --full --no-progress
