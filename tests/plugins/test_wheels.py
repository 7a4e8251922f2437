"""What `make dist` builds, and what it gives to whom has nothing but that and what it requires."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.tournaments.support import games_of

import miai

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"
PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]
WEIGHTS = (ROOT / "docs" / "weights.md").read_text("utf-8")
SOURCES = {
    tomllib.loads(path.read_text("utf-8"))["project"]["name"]: path.parent for path in PROJECTS
}


def run(*words: str | Path, status: int = 0, cwd: Path = ROOT) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == status, f"{words}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    settings = (f"BIN={Path(sys.executable).parent}", f"DIST={folder}")
    run("make", "-s", "--old-file=.venv/installed-dev", "dist", *settings)
    return folder


def wheel(folder: Path, name: str) -> zipfile.ZipFile:
    (file,) = folder.glob(f"{name.replace('-', '_')}-{miai.__version__}-*.whl")
    return zipfile.ZipFile(file)


def metadata(archive: zipfile.ZipFile) -> dict[str, list[str]]:
    """Return the fields of a wheel, each with its values, and its long description as ``body``."""
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    message = Parser().parsestr(archive.read(name).decode())
    fields = {field: message.get_all(field, []) for field in message}
    return {**fields, "body": [str(message.get_payload())]}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_a_wheel_has_its_files_its_licence_and_its_readme(name: str, dist: Path) -> None:
    with wheel(dist, name) as archive:
        facts, names = metadata(archive), archive.namelist()
        (licence,) = (file for file in names if file.endswith("licenses/LICENSE"))
        assert archive.read(licence) == (SOURCES[name] / "LICENSE").read_bytes()
    source = SOURCES[name]
    roots = ("framework/", "tournaments/") if name == "miai" else (f"plugins/{source.name}/",)
    tracked = run("git", "ls-files", *(f"{root}*/*" for root in roots)).splitlines()
    files = {re.sub(rf"^({'|'.join(roots)})", "", file) for file in tracked}
    assert {file for file in names if ".dist-info/" not in file} == files
    assert f"{name.replace('-', '_')}/py.typed" in names
    for data in (file for file in names if file.endswith((".safetensors", ".onnx", ".gz"))):
        assert f"`{Path(data).name}`" in WEIGHTS, "its page says what it was made of"
    assert facts["License-Expression"] == [
        "GPL-3.0-or-later" if name == "miai-rbc" else "Apache-2.0"
    ]
    readme = (source / "README.md").read_text("utf-8")
    assert facts["body"] == [readme]
    assert facts["Description-Content-Type"] == ["text/markdown"]
    if name != "miai":  # a reader of a plugin's may have no checkout
        assert not re.findall(r"\]\((?!https?:)", readme)
        assert f"-e plugins/{source.name}\n" in readme


@pytest.mark.slow
def test_a_source_distribution_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    for archive in dist.glob("*.tar.gz"):
        run("tar", "xzf", archive, "-C", tmp_path)
    for source in tmp_path.iterdir():
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", cwd=source)
        (built,) = source.glob("dist/*.whl")
        assert built.read_bytes() == (dist / built.name).read_bytes(), built.name


def test_the_hosted_checks_are_those_of_here_with_the_least_rights() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert "run: bash .ci/run\n" in text
    assert re.findall(r"(?m)^permissions:\n((?:  .*\n)+)", text) == ["  contents: read\n"]
    assert re.findall(r"uses: (\S+)", text) == ["actions/checkout@v4", "actions/setup-python@v5"]
    lowest = tomllib.loads(PROJECTS[0].read_text("utf-8"))["project"]["requires-python"]
    assert f'python: ["{lowest.removeprefix(">=")}", ' in text


def test_no_line_installs_a_name_of_miai_from_an_index() -> None:
    """No index has them, and anybody may register them: folders and files of wheels are named."""
    lines: dict[str, str] = {}
    for name in run(
        "git", "ls-files", "*.md", "*.py", "*.toml", "*.txt", "Makefile", ":!tests"
    ).splitlines():
        text = (ROOT / name).read_text("utf-8")
        lines |= dict.fromkeys(re.findall(r"pip install [^`\n]*", text), name)
    assert len(lines) > 20
    for warned in ("pip install miai", "pip install 'miai[web]'"):
        assert lines.pop(warned), "two sentences say what not to do"
    for line, name in lines.items():
        assert not re.search(r"(?<![\w/.-])miai(-\w+)?(?![\w-])", line), f"{name}: {line}"


def test_every_requirement_has_a_lower_bound() -> None:
    """And each other distribution of miai is required in this version or a later one."""
    release = ".".join(miai.__version__.split(".")[:2])
    for path in PROJECTS:
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
        for text in (each for texts in lists for each in texts):
            requirement = Requirement(text)
            bounds = {each.operator: each.version for each in requirement.specifier}
            assert bounds.keys() & {">=", "=="}, f"{path}: {text}"
            assert requirement.name not in SOURCES or bounds == {">=": release}, text


def borrowed(requirements: list[str], folder: Path) -> None:
    """Link what is required, and what that requires, from this environment, and nothing else."""
    folder.mkdir()
    waiting, found = [Requirement(text) for text in requirements], set(SOURCES)
    while waiting:
        requirement = waiting.pop()
        marker = requirement.marker
        wanted = marker is None or any(
            marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
        )
        name = canonicalize_name(requirement.name)
        if not wanted or name in found:
            continue
        found.add(name)
        # Not what ray brings along, in front of all others once something has imported it.
        (installed, *_) = distributions(name=name, path=[p for p in sys.path if "ray" not in p])
        assert requirement.specifier.contains(installed.version, prereleases=True), requirement
        for top in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            (folder / top).symlink_to(str(installed.locate_file(top)))
        waiting += [Requirement(text) for text in installed.requires or ()]


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the contents of all wheels, and beside it one of what they require."""
    folder = tmp_path_factory.mktemp("unpacked")
    requirements: list[str] = []
    for name in SOURCES:
        with wheel(dist, name) as archive:
            requirements += metadata(archive)["Requires-Dist"]
            archive.extractall(folder / "packages")
    borrowed([text for text in requirements if "extra ==" not in text], folder / "libraries")
    return folder / "packages"


@pytest.fixture(scope="module")
def installed(dist: Path, unpacked: Path) -> Path:
    """The commands of an environment in which all wheels were installed, without a network."""
    folder = unpacked.parent
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    (packages / "libraries.pth").write_text(f"{folder / 'libraries'}\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", f"--python={folder / 'venv/bin/python'}")
    # From files: of a name, an index might know another's.
    run(*pip, "install", "--no-index", "--no-compile", *sorted(dist.glob("*.whl")))
    return folder / "venv" / "bin"


@pytest.mark.slow
def test_the_wheels_play_with_what_they_require(unpacked: Path, tmp_path: Path) -> None:
    paths = [str(unpacked), str(unpacked.parent / "libraries")]

    def miai_of_wheels(*words: object, status: int = 0) -> str:
        code = f"import sys; sys.path[:0] = {paths}; from miai.cli.main import main; main()"
        # The interpreter without the packages of this environment, which a sandbox would not see.
        command = (os.path.realpath(sys.executable), "-I", "-S", "-c", code)
        return run(*command, *map(str, words), status=status, cwd=tmp_path)

    game = ("phantom_tic_tac_toe", "--x", "ismcts", "--x.simulations", 20, "--o", "random")
    assert re.search(r"^[XO] wins$|^Draw$", miai_of_wheels("play", *game), re.MULTILINE)
    # Not `pip install miai[web]`: anybody may register that name.
    libraries = r"pip install 'anyio>=\S+' 'python-multipart>=\S+' 'sse-starlette>="
    assert re.search(libraries, miai_of_wheels("web", status=2))


@pytest.mark.slow
def test_the_wheels_play_the_demo(installed: Path, tmp_path: Path) -> None:
    """One of its rounds; the agents' kernels are compiled before the agents are confined."""
    config = CONFIGS / "quickstart.toml"
    words = ("tournament", "run", config, "--set", "rounds=1", "--out", "run")
    run(installed / "miai", *words, cwd=tmp_path)
    assert len(games_of(tmp_path / "run")) == 12
    assert list(installed.parent.rglob("uct.*.nbi"))
    assert "broken" not in run(installed / "miai", "plugins", "check", cwd=tmp_path)
