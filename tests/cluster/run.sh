#!/bin/sh
# SPDX-License-Identifier: MIT
# The scripts of samples/cluster under the real Slurm, Open MPI and GNU parallel, on this machine alone: all shares
# together turn each file once, and what is done again turns nothing twice.
#
#     sudo tests/cluster/run.sh [IMGTRANSPOSE]       default: build/cli/imgtranspose
#
# Needs root, and on Debian installs what is missing: so it stands apart from the other tests. Kubernetes is only
# played: its pods are processes with its variable. The last line counts what failed.
set -eu
cd "$(dirname "$0")/../.."
samples=$PWD/samples/cluster
command=$(realpath "${1:-build/cli/imgtranspose}")
[ "$(id -u)" = 0 ] || { echo "run.sh: needs root, for Slurm's daemons" >&2; exit 77; }

needed=
command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v srun >/dev/null || needed="slurmctld slurmd slurm-client"
command -v munged >/dev/null || needed="$needed munge"
command -v mpirun >/dev/null || needed="$needed openmpi-bin"
command -v parallel >/dev/null || needed="$needed parallel"
# shellcheck disable=SC2086
[ -z "$needed" ] || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $needed; }

work=$(mktemp -d /tmp/imgtranspose-cluster-XXXXXX)
export IMGTRANSPOSE_WORK="$work"
mkdir "$work/bin"
ln -s "$command" "$work/bin/imgtranspose"
PATH=$work/bin:$PATH
export PATH
daemons=
finish() {
    # shellcheck disable=SC2086
    [ -z "$daemons" ] || kill $daemons 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

failed=0
check() { # what, and a command that is to succeed
    what=$1
    shift
    if "$@" >"$work/check.log" 2>&1; then echo "ok    $what"; else
        echo "FAIL  $what"
        sed 's/^/      /' "$work/check.log" | head -20
        failed=$((failed + 1))
    fi
}

# 120 pictures in three levels, names of all kinds among them; tag 6 makes --auto-orient turn them, too.
python3 - "$work/scans" <<'EOF'
import os, struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(120):
    folder = os.path.join(os.fsencode(sys.argv[1]), b"%d" % (i % 4), b"b c" if i % 3 else b"\xff")
    os.makedirs(folder, exist_ok=True)
    width, height = 20 + i, 10
    rows = b"".join(b"\0" + bytes((x * y + i) % 256 for x in range(width)) for y in range(height))
    exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    with open(os.path.join(folder, [b"%d.png", b"a\n%d", b"-%d.PNG"][i % 3] % i), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                   + chunk(b"eXIf", exif) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
EOF
imgtranspose -q --rotate 90 -r "$work/scans" -d "$work/whole"
imgtranspose -q --auto-orient -r "$work/scans" -d "$work/upright"

# Reports in which each file was turned exactly once, by whichever share.
each_once() { # reports
    python3 - "$@" <<'EOF'
import collections, json, sys
turned, shares = collections.Counter(), []
for name in sys.argv[1:]:
    mine = 0
    for line in open(name):
        event = json.loads(line)
        if event["event"] == "file":
            assert event["status"] in ("turned", "skipped"), event
            turned[event.get("input_bytes", event["input"])] += event["status"] == "turned"
            mine += event["status"] == "turned"
    shares.append(mine)
print("turned by shares:", shares)
assert len(turned) == 120 and set(turned.values()) == {1}, (len(turned), collections.Counter(turned.values()))
assert sum(share > 0 for share in shares) >= min(len(shares), 3), shares
EOF
}
same() { diff -r "$1" "$2"; }

# ---- Open MPI ---------------------------------------------------------------------------------------------
mpi() { mpirun --allow-run-as-root --oversubscribe -n 5 "$samples/mpirun.sh" "$work/scans" "$work/mpi"; }
check "mpirun: five ranks" mpi
check "mpirun: each file once" each_once "$work"/mpi.*.ndjson
check "mpirun: all of them right" same "$work/whole" "$work/mpi"
check "mpirun: once more" mpi
check "mpirun: nothing twice" each_once "$work"/mpi.*.ndjson

# ---- GNU parallel -----------------------------------------------------------------------------------------
parallel_() { "$samples/parallel.sh" "$work/scans" "$work/turned by parallel" 4; }
check "parallel: four jobs" parallel_
check "parallel: each file once" each_once "$work/turned by parallel".*.ndjson
check "parallel: all of them right" same "$work/whole" "$work/turned by parallel"
check "parallel: once more" parallel_
check "parallel: nothing twice" each_once "$work/turned by parallel".*.ndjson

# ---- Kubernetes, played -----------------------------------------------------------------------------------
pods() {
    python3 - "$samples/kubernetes.yaml" "$work" <<'EOF'
import re, subprocess, sys, os
text = open(sys.argv[1]).read()
count = int(re.search(r"completions: (\d+)", text)[1])
script = " ".join(re.search(r"- >-\n((?: {14}.*\n)+)", text)[1].split())
assert f"/{count}\"" in script, script
script = script.replace("/scans", sys.argv[2] + "/scans").replace("/turned", sys.argv[2] + "/pods")
os.makedirs(sys.argv[2] + "/pods", exist_ok=True)
for index in range(count):
    subprocess.run(["sh", "-c", script], env={**os.environ, "JOB_COMPLETION_INDEX": str(index)}, check=True)
EOF
}
reports_away() { mkdir -p "$work/reports"; mv "$work"/pods/.report.*.ndjson "$work/reports"; }
check "kubernetes, played: sixteen pods, twice" eval "pods && pods && reports_away"
check "kubernetes, played: each file once" each_once "$work"/reports/.report.*.ndjson
check "kubernetes, played: all of them right" same "$work/whole" "$work/pods"

# ---- Slurm ------------------------------------------------------------------------------------------------
host=$(hostname -s)
mkdir -p "$work/slurm/state" "$work/slurm/spool" "$work/munge"
dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 2>/dev/null
chown -R munge: "$work/munge"
chmod 700 "$work/munge"
chmod 711 "$work" # for munge's own user
chmod 600 "$work/munge/key"
chmod 755 "$work/munge"
cat >"$work/slurm/slurm.conf" <<EOF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge/socket
SlurmUser=root
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
SlurmctldLogFile=$work/slurm/slurmctld.log
SlurmdLogFile=$work/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SchedulerParameters=requeue_delay=0
MinJobAge=3600
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
EOF
export SLURM_CONF="$work/slurm/slurm.conf"
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --key-file="$work/munge/key" \
    --socket="$work/munge/socket" --pid-file="$work/munge/pid" --log-file="$work/munge/log" \
    --seed-file="$work/munge/seed" >"$work/munged.log" 2>&1 &
daemons="$!"
slurmctld -D -i -f "$SLURM_CONF" >"$work/slurmctld.log" 2>&1 &
daemons="$daemons $!"
slurmd -D -f "$SLURM_CONF" -N "$host" >"$work/slurmd.log" 2>&1 &
daemons="$daemons $!"
up() { for _ in $(seq 60); do sinfo -h -o %t 2>/dev/null | grep -q idle && return; sleep 0.5; done; cat "$work"/slurm*.log; return 1; }
check "slurm: it is up" up
done_() { # a job: waits until it has left the queue
    for _ in $(seq 240); do [ -n "$(squeue -h -j "$1" 2>/dev/null)" ] || return 0; sleep 0.5; done
    squeue
    return 1
}

check "srun: four tasks" srun --ntasks=4 --overcommit "$samples/srun.sh" "$work/scans" "$work/step"
check "srun: each file once" each_once "$work"/step.*.ndjson
check "srun: all of them right" same "$work/whole" "$work/step"

# In place, in an array; then all of it again, one task alone, and one that is requeued in the middle.
cp -r "$work/scans" "$work/place"
mkdir "$work/place.reports"
array() { # options of sbatch
    id=$(sbatch --parsable --output="$work/array.log" "$@" "$samples/slurm_array.sh" "$work/place" "$work/place.reports") && done_ "$id"
}
check "slurm array: sixteen tasks" array
check "slurm array: each file once" each_once "$work"/place.reports/*.ndjson
check "slurm array: all of them right" same "$work/upright" "$work/place"
check "slurm array: all again" array
check "slurm array: one task again" env SHARES=16 sh -c "sbatch --wait --output=$work/array.log --array=3 $samples/slurm_array.sh $work/place $work/place.reports"
check "slurm array: nothing twice" each_once "$work"/place.reports/*.ndjson
check "slurm array: still right" same "$work/upright" "$work/place"

# A requeue kills the tasks, as pre-emption does, wherever they are: in the middle, if there is enough to do.
rm -r "$work/place" "$work/place.reports"
mkdir "$work/place" "$work/place.reports" "$work/upright.5"
for copy in 1 2 3 4 5; do
    cp -r "$work/scans" "$work/place/$copy"
    cp -r "$work/upright" "$work/upright.5/$copy"
done
requeued() {
    id=$(sbatch --parsable --array=0-1 --output="$work/array.log" "$samples/slurm_array.sh" "$work/place" "$work/place.reports")
    for _ in $(seq 400); do
        [ "$(cat "$work"/place.reports/*.ndjson 2>/dev/null | grep -c '"turned"')" -gt 20 ] && break
        sleep 0.02
    done
    scontrol requeue "$id"
    for _ in $(seq 20); do sleep 1; scontrol update "JobId=$id" StartTime=now 2>/dev/null; done # else it waits for minutes
    done_ "$id" || return 1
    grep -h -v '"intent"' "$work"/place.reports/*.ndjson | cut -c 1-40 | uniq -c
    python3 - "$work"/place.reports/*.ndjson <<'EOF'
import json, sys
for name in sys.argv[1:]: # begun, killed, and gone on with what was left
    words = [event.get("status") for event in map(json.loads, open(name))]
    assert "skipped" in words and "turned" in words[words.index("skipped"):], name
EOF
}
check "slurm: tasks that are requeued in the middle" requeued
check "slurm: their files are right" same "$work/upright.5" "$work/place"
check "slurm: no temporary files are left" eval "! find '$work/place' -name '.imgtranspose-*' | grep ."

echo "$failed failed"
[ "$failed" = 0 ]
