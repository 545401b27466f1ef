# shellcheck shell=sh
# Sourced by test/TIER/packages.sh, in the project's directory: `unpack TIER PACKAGE …` unpacks Debian packages below .cache/.
# It installs nothing on this machine and starts no service. It also unpacks the dependencies that this machine lacks.
# If the packages are not available, it prints the reason and succeeds: the tests that need them are then skipped.

cache=.cache

# unpack TIER PACKAGE … ; then calls `finish` with the directory, if it is defined.
unpack() {
  tier=$1
  shift
  # shellcheck disable=SC2086 # The names are words.
  target=$(target_of "$tier" ${based_on-})
  [ ! -d "$target" ] || exit 0
  command -v apt-get >/dev/null 2>&1 || skip 'its packages are downloaded with apt-get, which is not installed; run them on Debian'
  mkdir -p "$cache"
  find "$cache" -maxdepth 1 '(' -name "$tier-*" -o -name 'draft-*' ')' -mmin +60 -exec rm -rf -- {} +
  draft=$(mktemp -d "$PWD/$cache/draft-XXXXXX")
  trap 'rm -rf -- "$draft"' EXIT
  echo "unpacking the packages of the tests in test/$tier" >&2
  mkdir "$draft/debs"
  ! command -v prepare >/dev/null || prepare
  download "$@" || { apt_get update -qq >&2 && download "$@"; } || skip 'apt-get cannot download its packages; its messages above say why'
  extract
  ! command -v finish >/dev/null || finish "$draft/root"
  touch "$draft/root"
  # A concurrent run may have been faster.
  mv -T "$draft/root" "$target" 2>/dev/null || [ -d "$target" ]
}

# target_of TIER … : the directory for the packages of the first tier, which are laid over those of the others.
# Each list of packages has its own directory; test/packages.ts computes the same name.
target_of() {
  echo "$cache/$1-$(for name in "$@"; do cat "test/$name/packages.sh"; done | sha256sum | cut -c1-12)"
}

apt_get() {
  # shellcheck disable=SC2086 # The options are words.
  DEBIAN_FRONTEND=noninteractive apt-get ${apt_options-} "$@"
}

skip() {
  echo "the tests in test/$tier are skipped: $1" >&2
  exit 0
}

download() {
  apt_get install -y -qq --download-only --reinstall --no-install-recommends \
    -o Debug::NoLocking=true -o Dir::Cache::archives="$draft/debs" -- "$@" >"$draft/log" 2>&1 ||
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

# Makes the index of modules in a directory, without which modprobe finds none; for `finish`.
index_modules() {
  kmod=$1/usr/bin/kmod
  [ -x "$kmod" ] || kmod=$(command -v kmod)
  depmod=$(dirname "$1")/depmod
  ln -s "$kmod" "$depmod"
  for kernel in "$1"/usr/lib/modules/*; do "$depmod" -b "$1" "$(basename "$kernel")"; done
}
