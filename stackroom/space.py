"""Whether the state folder can be written, asked before work is begun: a run never fills a disk to the last byte.

SQLite cannot even be read on a disk that is full, so some space is left for search, status and Dagster's records.
"""

import errno
import os
import shutil
import tempfile
from pathlib import Path

RESERVE_MB = 32
"""Left free on the disk of the state folder: more than the artefacts of most files, or the records of a run, take."""

_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_FULL = {errno.ENOSPC, errno.EDQUOT}


def why_not_writable(folder: Path) -> str | None:
    """Return why nothing more is written into a folder, with what to do about it; None if it can be written.

    Args:
        folder: made if it does not exist.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free_mb = shutil.disk_usage(folder).free / 2**20
        if free_mb < RESERVE_MB and not os.statvfs(folder).f_flag & os.ST_RDONLY:
            return (
                f"{folder} cannot be written: only {free_mb:.0f} MB are free on its disk, and {RESERVE_MB} MB are left "
                "for search and Dagster's records; free some space and ingest again"
            )
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return f"{folder} cannot be written ({error.strerror}); {_remedy(error.errno)}"
    return None


def _remedy(number: int | None) -> str:
    if number in _FULL:
        return "free some space on its disk and ingest again"
    if number in _READ_ONLY:
        return "make it writable for this user, or name another state folder in STACKROOM_STATE"
    return "check its disk and ingest again"
