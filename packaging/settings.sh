# What the packages have in common; sourced by bash scripts that are in the repository's root.
# shellcheck shell=bash

# The version stands in one place: it is also the server's on the wire.
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/protocol/limits.go)

# Every file in a package has the time of the newest entry in the Debian changelog, unless the caller says otherwise: two builds of
# the same sources are the same bytes.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(date -u -d "$(sed -n 's/^ -- .*>  //p' packaging/debian/changelog | sed q)" +%s)
fi
export SOURCE_DATE_EPOCH
export LC_ALL=C TZ=UTC
umask 022

# documents DIR lays down the manual pages, in DIR/man, and the completions of shells, in DIR/completions.
documents() {
	local pages=(docs/man/*.1) shell
	mkdir -p "$1/man" "$1/completions"
	[ ! -e "${pages[0]}" ] || install -m 0644 "${pages[@]}" "$1/man"
	env -u GOOS -u GOARCH packaging/program "$1/haricot"
	for shell in bash zsh fish; do
		"$1/haricot" completion "$shell" >"$1/completions/haricot.$shell"
	done
	rm "$1/haricot"
}

# licences FILE writes the licences of everything that is linked into the program for GOOS and GOARCH: most of them ask to
# be passed on with it.
licences() {
	local module folder file
	{
		printf '======== Go\n\n'
		cat "$(go env GOROOT)/LICENSE"
		go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}	{{.Dir}}{{end}}{{end}}' ./cmd/haricot | sort -u |
			while IFS=$'\t' read -r module folder; do
				find "$folder" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort |
					while read -r file; do
						printf '\n======== %s: %s\n\n' "$module" "${file##*/}"
						cat "$file"
					done
			done
	} >"$1"
}
