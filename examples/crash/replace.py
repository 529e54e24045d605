# replace.py DIR [careful]: replaces a file by way of another name, three times.
import os, subprocess, sys

where = sys.argv[1]
for n in range(1, 4):
    with open(f"{where}/new", "w") as file:
        file.write(f"{n} " * 2000)
        file.flush()
        if "careful" in sys.argv:
            os.fsync(file.fileno())
    os.rename(f"{where}/new", f"{where}/conf")
    directory = os.open(where, os.O_RDONLY)
    os.fsync(directory)
    subprocess.run(["flashkeep", "ctl", os.environ["FLASHKEEP_DRIVE"], "mark", str(n)], check=True, stdout=subprocess.DEVNULL)
