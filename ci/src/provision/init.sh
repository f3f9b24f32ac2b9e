#!/bin/busybox sh
# The first program of a guest: loads what leads to the disks, and goes on with what the second holds.
# The kernel hands `endow_place=` and `endow_machine=` of its command line over as variables.
export PATH=/bin
for module in $(busybox cat /modules/order); do
    busybox insmod "/modules/$module" || echo "no module $module"
done
busybox mount -t devtmpfs dev /dev
busybox mount -t ext4 /dev/vda /root || busybox poweroff -f
busybox mkdir -p "/root$endow_place"
busybox mount -t ext4 /dev/vdb "/root$endow_place" || busybox poweroff -f
busybox umount /dev
exec busybox switch_root /root /bin/sh "$endow_place/guest.sh"
