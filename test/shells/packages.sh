#!/bin/sh
# Unpacks below .cache/ the shells other than bash that the tests of completion use.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack shells zsh fish libpcre2-32-0
