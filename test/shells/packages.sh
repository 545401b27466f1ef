#!/bin/sh
# Unpacks the shells, besides bash, whose completion is tested, below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack shells zsh fish libpcre2-32-0
