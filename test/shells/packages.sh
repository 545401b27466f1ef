#!/bin/sh
# Unpacks the shells whose completion is tried beside bash's, below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack shells zsh fish libpcre2-32-0
