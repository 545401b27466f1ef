#!/bin/sh
# Runs OpenStack's Cinder in the caller's namespaces: cinder.sh DIRECTORY PACKAGES [CEPH_CONF].
# Its volumes are images of this Ceph cluster, or else thin volumes of LVM in the machine of volume-machine.ts.
# Prints "ready" on standard output, and runs until it is killed.
set -eu
. "$(dirname "$0")/../until-done.sh"
dir=$1
remote=$(realpath "$(dirname "$0")/remote-command.py")
ip link set lo up
# RabbitMQ reads the processes of its own namespace.
mount -t proc proc /proc
mount -t overlay overlay -o "ro,lowerdir=$2/usr:/usr" /usr
# In memory, and in the namespace of mounts alone. Every user may enter it.
mount -t tmpfs -o mode=755 tmpfs "$dir"
cd "$dir"
export HOME="$dir" CEPH_CONF="${3-}"
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

cat >cinder.conf <<END
[DEFAULT]
auth_strategy = keystone
transport_url = rabbit://guest:guest@127.0.0.1:5672/
log_dir = $dir
state_path = $dir/state
api_paste_config = /usr/share/cinder-common/api-paste.ini
osapi_volume_listen = $address
osapi_volume_workers = 1
enabled_backends = volumes
default_volume_type = __DEFAULT__
rpc_response_timeout = 60
service_down_time = 600
quota_volumes = -1
quota_snapshots = -1
quota_gigabytes = -1
[database]
connection = postgresql+psycopg2://postgres@127.0.0.1/cinder
[keystone_authtoken]
www_authenticate_uri = http://$address:5000
auth_url = http://$address:5000
auth_type = password
project_domain_id = default
user_domain_id = default
project_name = admin
username = admin
password = secret
# Cinder accepts a token for at most so many seconds after Keystone revoked it.
token_cache_time = 10
[oslo_concurrency]
lock_path = $dir/run
[volumes]
volume_backend_name = volumes
max_over_subscription_ratio = 1000
suppress_requests_ssl_warnings = true
END
probe=true
if [ -n "$CEPH_CONF" ]; then
  cat >>cinder.conf <<END
volume_driver = cinder.volume.drivers.rbd.RBDDriver
rbd_pool = rbd
rbd_ceph_conf = $CEPH_CONF
rbd_user = admin
rbd_flatten_volume_from_snapshot = false
END
else
  cat >>cinder.conf <<END
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
volume_group = cinder-volumes
lvm_type = thin
lvm_conf_file = none
target_helper = lioadm
target_protocol = iscsi
target_ip_address = 10.0.2.15
iscsi_secondary_ip_addresses = 10.0.2.16
END
  # The virtual machine answers here. It drops packets that have its own address as their source.
  ip route add local 10.0.2.15 dev lo src 127.0.0.1
  # Cinder computes too long on emulated processors, so only the commands of its driver run there.
  mkdir bin
  for name in pvs vgs lvs lvcreate lvchange lvdisplay lvextend lvremove cinder-rtstool; do
    ln -s "$remote" "bin/$name"
  done
  probe='cinder-rtstool verify'
  PATH=$dir/bin:$PATH
fi
mkdir state
cinder-manage --config-file cinder.conf db sync >db.out 2>&1
start() { exec "cinder-$1" --config-file "$dir/cinder.conf" >"$1.out" 2>&1; }
for name in scheduler api; do start "$name" & done
# The driver gives up if its machine has not started yet.
(until_done timeout 10 $probe && start volume) &
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
