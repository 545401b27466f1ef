# shellcheck shell=sh
# Sourced by scripts that run Cinder: `settings HOST` prints Cinder's settings; its other services are at this address.

settings() {
  cat <<END
[DEFAULT]
auth_strategy = keystone
transport_url = rabbit://guest:guest@$1:5672/
log_dir = $PWD
state_path = $PWD/state
api_paste_config = /usr/share/cinder-common/api-paste.ini
osapi_volume_listen = $1
osapi_volume_workers = 1
default_volume_type = __DEFAULT__
# In a virtual machine the driver takes minutes.
rpc_response_timeout = 600
service_down_time = 600
quota_volumes = -1
quota_snapshots = -1
quota_gigabytes = -1
[database]
connection = postgresql+psycopg2://postgres@$1/cinder
[keystone_authtoken]
www_authenticate_uri = http://$1:5000
auth_url = http://$1:5000
auth_type = password
project_domain_id = default
user_domain_id = default
project_name = admin
username = admin
password = secret
# Cinder accepts a token for so many seconds after Keystone revoked it.
token_cache_time = 10
[oslo_concurrency]
lock_path = $PWD/run
END
}
