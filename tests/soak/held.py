# SPDX-License-Identifier: MIT
"""What a process holds: kilobytes of memory of its own, open files, mappings."""
import os


def held(pid="self"):
    with open(f"/proc/{pid}/status") as status:
        memory = sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon:", "VmSwap:")))
    with open(f"/proc/{pid}/maps") as maps:
        return memory, len(os.listdir(f"/proc/{pid}/fd")), sum(1 for _ in maps)


def compare(what, operations, before, after, memory):
    """Says both; None, or what has grown. A sanitizer keeps what is freed, to see it used."""
    print(f"{what}: {operations} operations: %d kB, %d files, %d mappings at first" % before + "; %d kB, %d, %d at the end" % after,
          flush=True)
    grown = [after[0] - before[0] > memory and "TT_SANITIZER" not in os.environ, after[1] > before[1] + 1,
             after[2] - before[2] > 64]
    return f"{what}: memory, files or mappings grow: {before} {after}" if any(grown) else None
