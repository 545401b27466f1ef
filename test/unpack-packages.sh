# shellcheck shell=sh
# Sourced by test/TIER/packages.sh, in the project's directory: `unpack TIER PACKAGE …` unpacks Debian packages below .cache/.
# Nothing is installed on this machine, and no service of theirs starts. What a package needs comes with it, as far as this
# machine has it not. Where they cannot be had it says why and succeeds: the tests that need them are then skipped.

cache=.cache

# unpack TIER PACKAGE … ; then calls `finish`, where that is defined, with the directory.
unpack() {
  tier=$1
  shift
  # Another list is another directory; test/packages.ts knows this name.
  target=$cache/$tier-$(sha256sum "test/$tier/packages.sh" | cut -c1-12)
  [ ! -d "$target" ] || exit 0
  command -v apt-get >/dev/null 2>&1 || skip 'its packages come from Debian, with apt-get'
  mkdir -p "$cache"
  find "$cache" -maxdepth 1 '(' -name "$tier-*" -o -name 'draft-*' ')' -mmin +60 -exec rm -rf -- {} +
  draft=$(mktemp -d "$cache/draft-XXXXXX")
  trap 'rm -rf -- "$draft"' EXIT
  echo "unpacking the packages of the tests in test/$tier" >&2
  mkdir "$draft/debs"
  download "$@" || { apt-get update -qq >&2 && download "$@"; } || skip 'its packages cannot be downloaded'
  extract
  ! command -v finish >/dev/null || finish "$draft/root"
  touch "$draft/root"
  # A run beside this one may have been faster.
  mv -T "$draft/root" "$target" 2>/dev/null || [ -d "$target" ]
}

skip() {
  echo "the tests in test/$tier are skipped: $1" >&2
  exit 0
}

download() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --download-only --reinstall --no-install-recommends \
    -o Debug::NoLocking=true -o Dir::Cache::archives="$PWD/$draft/debs" -- "$@" >"$draft/log" 2>&1 ||
    { cat "$draft/log" >&2 && return 1; }
}

extract() {
  mkdir -p "$draft/root/usr/bin" "$draft/root/usr/sbin" "$draft/root/usr/lib" "$draft/root/usr/lib64"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$draft/root/$name"; done
  for package in "$draft"/debs/*.deb; do
    dpkg-deb --fsys-tarfile "$package" >"$draft/tar"
    tar --extract --file "$draft/tar" --directory "$draft/root" --keep-directory-symlink --no-same-owner \
      --exclude './lib/modules/*/kernel/sound' --exclude './lib/modules/*/kernel/drivers/gpu' \
      --exclude './lib/modules/*/kernel/drivers/media' --exclude './lib/modules/*/kernel/drivers/net/wireless' \
      --exclude './lib/modules/*/kernel/drivers/net/ethernet' --exclude './usr/share/doc'
  done
}
