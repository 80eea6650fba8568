# debian_source PACKAGE [DIRECTORY]: its source in DIRECTORY (./source), from Debian's archive (needs deb-src lines) or from where SOURCES has a copy; kept in
# ~/.cache/trackway. What Debian changes of it is left out.
debian_source() {
	local cache=${SOURCES:-${XDG_CACHE_HOME:-$HOME/.cache}/trackway} to=${2:-source}
	mkdir -p "$cache" "$to"
	ls "$cache/$1"_*.orig.tar.* >/dev/null 2>&1 || (cd "$cache" && apt-get -qq source --download-only "$1" >/dev/null 2>&1)
	tar -xf "$(find "$cache" -name "$1_*.orig.tar.*z*" ! -name '*.asc' | sort | head -n 1)" -C "$to" --strip-components=1 2>/dev/null
}
