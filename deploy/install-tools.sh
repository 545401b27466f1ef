#!/bin/sh
# Installs the Debian packages that this machine lacks for the programs or, by default, for the tests.
# Usage: deploy/install-tools.sh [programs|tests] [--check]; --check lists missing packages, and fails if there are any.
set -eu

purpose=tests
case "${1:-}" in
programs | tests)
  purpose=$1
  shift
  ;;
esac
packages=
need() { # need TOOL PACKAGE
  PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 && return
  case " $packages " in *" $2 "*) ;; *) packages="$packages $2" ;; esac
}
# The package "node", which runs every program, is linked against it.
ls /lib/*/libatomic.so.1 /lib*/libatomic.so.1 2>/dev/null | grep -q . || packages="$packages libatomic1"
need losetup mount
need mount mount
need blkid util-linux
need fallocate util-linux
need flock util-linux
need setpriv util-linux
need cmp diffutils
need mkfs.ext4 e2fsprogs
need filefrag e2fsprogs
need mkfs.xfs xfsprogs
need mkfs.btrfs btrfs-progs
if [ "$purpose" = tests ]; then
  need openssl openssl
  need getfattr attr
  # Debian does not put the server's programs on the PATH.
  ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages="$packages postgresql"
fi

[ -n "$packages" ] || exit 0
if [ "${1:-}" = --check ]; then
  echo "missing packages:$packages" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  # The next program itself reports that it needs root.
  echo "missing packages; install them as root:$packages" >&2
  exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "missing packages; install them with this system's package manager:$packages" >&2
  exit 1
fi
echo "installing packages:$packages" >&2
case " $packages " in
*" postgresql "*)
  # Tests start their own servers, so the package must not start one.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  ;;
esac
apt-get update -qq >&2
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2
