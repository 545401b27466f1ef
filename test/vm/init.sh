#!/busybox sh
# The first program of the virtual machine: lays what the tests write (in memory) over the unpacked packages, and those over
# the files of the machine that runs the tests, which stay as they are. Its arguments are the command that is then run.
b=/busybox
$b mount -t devtmpfs none /dev
exec </dev/console >/dev/console 2>&1
for module in /modules/*; do $b insmod "$module"; done
for share in host packages; do
  $b mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose "$share" "/$share"
done
$b mount -t tmpfs -o mode=755,size=75% none /memory
$b mkdir /memory/upper /memory/work
$b mount -t overlay -o lowerdir=/packages:/host,upperdir=/memory/upper,workdir=/memory/work none /root
$b mount --move /dev /root/dev
exec $b switch_root /root "$@"
