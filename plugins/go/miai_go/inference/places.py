"""Where the inference server of this user and this installation listens.

One server a machine, user and installation; agents from which folders are hidden have one for
themselves, which cannot read what they cannot. Its folder is in ``XDG_RUNTIME_DIR`` or, where there
is none, in the temporary folder, and nobody else can look into it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import miai_go
from miai.process.spawning import HIDDEN_FOLDERS, SHARED_FOLDER
from miai_go.errors import InferenceError

PROTOCOL = 1
_LONGEST_PATH = 100  # the kernel takes 107 bytes for a socket's path


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The files of one server.

    Attributes:
      folder: of mode 0700.
      name: of the installation and what is hidden from its clients.
    """

    folder: Path
    name: str

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / f"{self.name}.sock"

    @property
    def start_lock(self) -> Path:
        """Held by the client that starts it."""
        return self.folder / f"{self.name}.start"

    @property
    def run_lock(self) -> Path:
        """Held by the server as long as it lives."""
        return self.folder / f"{self.name}.run"

    @property
    def log(self) -> Path:
        """What it writes to standard error."""
        return self.folder / f"{self.name}.log"


def server_place(folder: Path | None = None) -> ServerPlace:
    """Return where the server is, its folder made and checked.

    Args:
      folder: another folder than the user's own.

    Raises:
      InferenceError: the folder cannot be made, or others have access to it.
    """
    folder = folder or _user_folder()
    installation = f"{PROTOCOL} {sys.executable} {Path(miai_go.__file__).parent}"
    if hidden := os.environ.get(HIDDEN_FOLDERS):
        installation += f" {hidden}"
    name = hashlib.sha256(installation.encode()).hexdigest()[:12]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise InferenceError(f"{folder}: cannot be made: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InferenceError(
            f"{folder}: others have access to it, or it is no folder of yours, so the inference "
            "server does not listen there; remove it or chmod it to 700"
        )
    place = ServerPlace(folder, name)
    if len(os.fsencode(place.socket)) > _LONGEST_PATH:
        raise InferenceError(
            f"{place.socket}: too long for a socket; set XDG_RUNTIME_DIR to a shorter folder"
        )
    return place


def _user_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "miai-go"
    shared = os.environ.get(SHARED_FOLDER) or tempfile.gettempdir()  # an agent's is its own
    return Path(shared) / f"miai-go-{os.getuid()}"
