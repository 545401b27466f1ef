#!/bin/sh
# Runs ember-csi for images of a Ceph cluster, in the caller's namespaces: ember.sh DIRECTORY CINDER_PACKAGES PACKAGES.
# Prints "ready" on standard output, and runs until it is killed.
set -eu
. "$(dirname "$0")/../until-done.sh"
mount -t proc proc /proc
mount -t overlay overlay -o "ro,lowerdir=$2/usr:/usr" /usr
# ember-csi calls sudo, although it runs as root.
mkdir "$1/bin"
printf '#!/bin/sh\nexec "$@"\n' >"$1/bin/sudo"
chmod +x "$1/bin/sudo"
cd "$1"
export PATH="$1/bin:$PATH" HOME="$1" PYTHONPATH="$3/python" PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python
export CSI_ENDPOINT="unix://$1/csi.sock" CSI_MODE=all X_CSI_SPEC_VERSION=1.1.0 X_CSI_NODE_ID=n1 X_CSI_STORAGE_NW_IP=127.0.0.1
export X_CSI_EMBER_CONFIG="{\"plugin_name\": \"ember\", \"state_path\": \"$1/state\", \"slow_operations\": false, \"disable_logs\": true}"
export X_CSI_PERSISTENCE_CONFIG="{\"storage\": \"db\", \"connection\": \"sqlite:///$1/db\"}"
export X_CSI_BACKEND_CONFIG="{\"name\": \"rbd\", \"driver\": \"RBD\", \"rbd_user\": \"admin\", \"rbd_pool\": \"rbd\",
  \"rbd_ceph_conf\": \"$CEPH_CONF\", \"rbd_flatten_volume_from_snapshot\": false}"
/usr/bin/python3 -W ignore "$3/python/bin/ember-csi" >"$1/out" 2>&1 &
until_done test -S "$1/csi.sock" || { cat "$1/out" >&2 && exit 1; }
echo ready
wait
