# ffmpeg: decodes a video it made itself, with several threads; the frames are the same, and under `-f none` it keeps real time.
. "$(dirname "$0")/lib.sh"
need ffmpeg
ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=30:duration=4 -f lavfi -i sine=duration=4 -c:v mpeg4 -q:v 4 -c:a aac -y video.mp4 || exit 1
batch ffmpeg -v error -threads 2 -i video.mp4 -f framemd5 -
for mode in $MODES; do # as a player would: at the speed of the video
	[ "$mode" = none ] || continue
	prefix "$mode"
	begin=$(date +%s.%N)
	"${PREFIX[@]}" ffmpeg -v error -re -threads 2 -i video.mp4 -f null - >play.out 2>play.err
	took=$(echo "$begin $(date +%s.%N)" | awk '{ print $2 - $1 }')
	SAID+="  4 s of video played in $(printf %.1f "$took") s"
	awk "BEGIN { exit !($took < 5) }" || result "$mode" bad "too slow for real time"
done
finish
