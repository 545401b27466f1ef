#!/bin/sh
# Runs OpenStack's Cinder in the caller's namespaces, with volumes on a Ceph cluster if one is given:
# cinder.sh PACKAGES [CEPH_CONF].
# Prints "ready" on standard output, and runs until it is killed.
set -eu
. "$(dirname "$0")/../until-done.sh"
. "$(dirname "$0")/settings.sh"
# In memory, and in the namespace of mounts alone. Every user may enter it.
dir=/mnt
# RabbitMQ reads the processes of its own namespace.
mount -t proc proc /proc
ip link set lo up
mount -t overlay overlay -o "ro,lowerdir=$1/usr:/usr" /usr
mount -t tmpfs -o mode=755 tmpfs "$dir"
cd "$dir"
export HOME="$dir" CEPH_CONF="${2-}"
address=127.0.0.1
postgres=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)

# PostgreSQL refuses to run as root.
mkdir db run
chown nobody db
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
as_nobody "$postgres/initdb" -D db -A trust -U postgres --no-sync >initdb.out
as_nobody "$postgres/postgres" -D db -k "$dir/db" -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200 >postgres.out 2>&1 &
until_done psql -h 127.0.0.1 -U postgres -c 'select 1'
for name in keystone cinder; do psql -q -h 127.0.0.1 -U postgres -c "create database $name" >&2; done

RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_MNESIA_BASE="$dir/rabbit" \
  RABBITMQ_LOG_BASE="$dir/rabbit" RABBITMQ_ENABLED_PLUGINS_FILE="$dir/none" RABBITMQ_CONFIG_FILE="$dir/rabbit" \
  ERL_EPMD_ADDRESS=127.0.0.1 /usr/lib/rabbitmq/bin/rabbitmq-server >rabbit.out 2>&1 &

mkdir keys credentials
cat >keystone.conf <<END
[DEFAULT]
log_file = $dir/keystone.log
[database]
connection = postgresql+psycopg2://postgres@127.0.0.1/keystone
[token]
provider = fernet
# In seconds, so that tokens end during a test.
expiration = 180
[fernet_tokens]
key_repository = $dir/keys
[fernet_receipts]
key_repository = $dir/keys
[credential]
key_repository = $dir/credentials
END
manage() { keystone-manage --config-file "$dir/keystone.conf" "$@" >manage.out 2>&1 || { cat manage.out >&2 && return 1; }; }
manage db_sync
manage fernet_setup --keystone-user root --keystone-group root
manage bootstrap --bootstrap-password secret --bootstrap-region-id here \
  --bootstrap-public-url "http://$address:5000/v3" --bootstrap-internal-url "http://$address:5000/v3" --bootstrap-admin-url "http://$address:5000/v3"
keystone-wsgi-public --host "$address" --port 5000 -- --config-file "$dir/keystone.conf" >keystone.out 2>&1 &

settings "$address" >cinder.conf
if [ -n "$CEPH_CONF" ]; then
  cat >>cinder.conf <<END
[DEFAULT]
enabled_backends = rbd
[rbd]
volume_driver = cinder.volume.drivers.rbd.RBDDriver
volume_backend_name = rbd
rbd_pool = rbd
rbd_ceph_conf = $CEPH_CONF
rbd_user = admin
max_over_subscription_ratio = 1000
rbd_flatten_volume_from_snapshot = false
suppress_requests_ssl_warnings = true
END
fi
mkdir state
cinder-manage --config-file cinder.conf db sync >db.out 2>&1
for name in scheduler api ${CEPH_CONF:+volume}; do "cinder-$name" --config-file "$dir/cinder.conf" >"$name.out" 2>&1 & done
until_done curl --silent --fail "http://$address:8776/"

# The catalog tells users the address of Cinder.
keystone() {
  curl --silent --show-error --fail --header 'content-type: application/json' "$@"
}
login='{"auth": {"identity": {"methods": ["password"], "password": {"user":
  {"name": "admin", "domain": {"id": "default"}, "password": "secret"}}},
  "scope": {"project": {"name": "admin", "domain": {"id": "default"}}}}}'
token=$(keystone --include --data "$login" "http://$address:5000/v3/auth/tokens" | tr -d '\r' | sed -n 's/^x-subject-token: //Ip')
add() { keystone --header "x-auth-token: $token" --data "$2" "http://$address:5000/v3/$1"; }
service=$(add services '{"service": {"type": "block-storage", "name": "cinder"}}' | sed 's/.*"id": "\([0-9a-f]*\)".*/\1/')
add endpoints "{\"endpoint\": {\"interface\": \"public\", \"region_id\": \"here\", \"service_id\": \"$service\",
  \"url\": \"http://$address:8776/v3/%(project_id)s\"}}" >endpoint
echo ready
wait
