#!/bin/sh
# Unpacks the packages of a minimal Debian below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack install mmdebstrap
