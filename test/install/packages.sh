#!/bin/sh
# Unpacks below .cache/ the program that makes a minimal Debian, and the programs that build and run programs of arm64.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack install mmdebstrap qemu-user-static binutils-aarch64-linux-gnu
