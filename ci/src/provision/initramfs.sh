#!/bin/sh
# initramfs.sh VERSION ARCHITECTURE: makes /kernels/initramfs, which finds a root on a disk, for the kernel in
# /kernels/unpacked: run in the root that guests get, whose programs it uses. Guests load nothing later.
set -eu

version=$1
wanted="virtio_pci virtio_blk ext4 crc32c_generic virtio_console overlay tun veth dummy"
test "$2" != amd64 || wanted="$wanted crc32c_intel"
made=/kernels/made

mkdir -p $made/bin $made/modules $made/proc $made/dev $made/root
cp /bin/busybox $made/bin/busybox
cp /kernels/init.sh $made/init
chmod 755 $made/init
depmod --basedir /kernels/unpacked "$version"
for module in $wanted; do
    modprobe --dirname /kernels/unpacked --set-version "$version" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r file; do
    name=${file##*/}
    case $name in
    *.xz) busybox unxz -c "$file" >"$made/modules/${name%.xz}" ;;
    *) cp "$file" "$made/modules/$name" ;;
    esac
    echo "${name%.xz}" >>$made/modules/order
done
cd $made
find . | busybox cpio -o -H newc >/kernels/initramfs
