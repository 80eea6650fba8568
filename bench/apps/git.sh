# git: a clone of a local repository over its own transport (several processes, threads), then gc.
. "$(dirname "$0")/lib.sh"
need git
export HOME=$WORK GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git init -q -b main source
for i in $(seq 40); do
	awk -v i="$i" 'BEGIN { srand(i); for (j = 0; j < 200; j++) print i, j, int(rand() * 1e6) }' >source/file$((i % 9))
	export GIT_AUTHOR_DATE="$((1600000000 + i * 1000)) +0000" GIT_COMMITTER_DATE="$((1600000000 + i * 1000)) +0000"
	git -C source add . && git -C source commit -q -m "commit $i" || exit 1
done
RESET() { rm -rf copy; }
cat >steps.sh <<'END'
git clone -q --no-local "file://$PWD/source" copy && git -C copy -c pack.threads=2 gc -q && git -C copy fsck --full --no-progress &&
	git -C copy log --format=%H | md5sum && ls copy/.git/objects/pack | sed 's/.*\.//' | sort
END
batch -v sh steps.sh
finish
