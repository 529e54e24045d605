# verify.py IMAGE: every record that is counted is there.
import sys

image = open(sys.argv[1], "rb").read()
count = int(image[:1].strip(b"\0") or 0)
for n in range(1, count + 1):
    if not image[n * 4096:].startswith(f"record {n}\n".encode()):
        sys.exit(f"{count} records are counted, record {n} is not there")
