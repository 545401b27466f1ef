#!/bin/sh
# Unpacks the browser of the console's tests below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack browser chromium fonts-dejavu-core fontconfig-config
