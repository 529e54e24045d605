# files_load.sh DIRECTORY FILES URI: makes files durable one by one, and tells the drive past the file system how many.
for n in $(seq "$2"); do
    yes "$n" | head -c 3000 | dd of="$1/f$n" bs=3000 iflag=fullblock conv=fsync 2>/dev/null
    qemu-io -f raw -c "write -q -f -P $n 7M 512" "$3"
done
