#!/bin/sh
# Unpacks OpenStack's block storage Cinder, with its identity service Keystone and RabbitMQ, below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

# Cinder loads hundreds of modules, and compiles them at every start if it cannot write the results.
finish() {
  /usr/bin/python3 -m compileall -q "$1/usr/lib/python3" || true
}

unpack cinder cinder-api cinder-scheduler cinder-volume keystone rabbitmq-server python3-psycopg2 python3-rtslib-fb python3-rbd python3-rados libiscsi-bin
