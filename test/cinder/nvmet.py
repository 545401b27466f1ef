import json, sys
from types import SimpleNamespace
sys.path[:0] = ['CINDER29_AND_NVMET/x29.0.0', 'CINDER29_AND_NVMET/nv']
from oslo_concurrency import lockutils
lockutils.set_defaults('/tmp')
from cinder import privsep
privsep.sys_admin_pctxt.set_client_mode(False)
from cinder.volume.targets import nvmet
def go(shared, action, path, vid, connector):
    conf = SimpleNamespace(target_ip_address='127.0.0.1', target_secondary_ip_addresses=['127.0.0.2'], target_port=4420,
        nvmet_port_id=1, nvmet_ns_id=10, target_prefix='iqn.2010-10.org.openstack:', lvm_share_target=shared,
        target_protocol='nvmet_tcp', nvmeof_conn_info_version=2)
    target = nvmet.NVMET(configuration=conf)
    class V(SimpleNamespace):
        def __getitem__(self, k): return getattr(self, k)
    v = V(id=vid, name_id=vid, provider_location=None)
    if action == 'export':
        v.provider_location = target.create_export(None, v, path)['location']
        target.validate_connector(connector)
        info = target.initialize_connection(v, connector)
        return {'driver_volume_type': info['driver_volume_type'], **info['data']}
    v.provider_location = path if shared else 'x'
    target.terminate_connection(v, connector)
    target.remove_export(None, v)
    return {}
for line in sys.stdin:
    print(json.dumps(go(*json.loads(line))), flush=True)
