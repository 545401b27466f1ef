#!/bin/sh
# Unpacks what makes a cluster of PostgreSQL servers, below .cache/; PostgreSQL itself is installed by deploy/install-tools.sh.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

unpack database patroni etcd-server python3-etcd
