# SPDX-License-Identifier: BSD-3-Clause
"""Detection of network file systems, whose locks SQLite cannot rely on."""

import re
from pathlib import Path

_MOUNT_TABLE = Path("/proc/self/mounts")  # Linux; elsewhere nothing is detected
_NETWORK = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs", "sshfs"}
)
_OCTAL = re.compile(r"\\([0-7]{3})")


def read_mount_table() -> str:
    """Return the kernel's mount table, or nothing where there is none."""
    try:
        return _MOUNT_TABLE.read_text(errors="surrogateescape")
    except OSError:
        return ""


def network_file_system(path: Path, mount_table: str) -> str | None:
    """Return the type of the network file system that holds the absolute ``path``, or None.

    ``mount_table`` has the format of /proc/mounts: source, mount point and type, separated by spaces.
    """
    best, found = -1, None
    for line in mount_table.split("\n"):
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_unescape(fields[1]))
        # >=: of two mounts on one point the later hides the earlier.
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), fields[2]
    return found if found is not None and found.removeprefix("fuse.") in _NETWORK else None


def _unescape(text: str) -> str:
    # The kernel writes blanks and backslashes of a mount point as three octal digits.
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
