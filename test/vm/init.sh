#!/busybox sh
# The first program of the virtual machine. Its root has three layers: files that tests write, in memory; the unpacked
# packages; and the host's files, read-only. The kernel's modules lie above them. Then it runs the command in its arguments.
b=/busybox
$b mount -t devtmpfs none /dev
exec </dev/console >/dev/console 2>&1
for module in /modules/*; do $b insmod "$module"; done
mount_share() {
  $b mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose "$1" "$2"
}
mount_share host /host
mount_share packages /packages
$b mount -t tmpfs -o mode=755,size=75% none /memory
$b mkdir /memory/upper /memory/work
$b mount -t overlay -o lowerdir=/packages:/host,upperdir=/memory/upper,workdir=/memory/work none /root
mount_share modules /root/usr/lib/modules
$b mount --move /dev /root/dev
exec $b switch_root /root "$@"
