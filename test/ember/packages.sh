#!/bin/sh
# Installs ember-csi, a CSI driver over Cinder's storage drivers, from PyPI below .cache/. It runs on the packages of test/cinder.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

# The other modules that ember-csi imports are among the packages of Cinder.
finish() {
  # These versions belong to Cinder 21.
  /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || skip "it needs Debian 12's Python 3.11 and Cinder"
  PYTHONPATH=$1/usr/lib/python3/dist-packages /usr/bin/python3 -m pip --quiet --disable-pip-version-check install \
    --root-user-action=ignore --no-cache-dir --no-deps --target "$1/python" \
    ember-csi==0.9.1 cinderlib==5.2.0 kubernetes==11.0.0 requests-oauthlib==1.3.1 oauthlib==3.2.2 websocket-client==1.8.0 >&2 ||
    skip 'pip cannot install it from PyPI; its messages above say why'
}

unpack ember python3-pip
