#!/bin/sh
# Unpacks Patroni and etcd, which make a cluster of PostgreSQL servers, below .cache/. deploy/install-tools.sh installs
# PostgreSQL.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack database patroni etcd-server python3-etcd
