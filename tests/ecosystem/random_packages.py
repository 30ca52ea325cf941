"""Draws random machine-learning packages from PyPI and unpacks their Python files, to measure how many findings are true.

    python tests/ecosystem/random_packages.py SEED COUNT FOLDER
    python tests/ecosystem/random_packages.py NAMES FOLDER
    for package in FOLDER/*; do ag-lsp check --isolated "$package"; done

NAMES is a file with one name per line, to repeat a draw: only these packages are looked up. The
program prints the name of each package with its distribution, and the number of its files.

A package is drawn if its name suggests machine learning and a file imports TensorFlow, Keras,
torch, JAX or flax. The newest source distribution of each package is used, or else the newest
wheel; archives over 8 MB are skipped. The draw depends on the packages that the index lists at that
time.
"""
import concurrent.futures
import io
import os
import pathlib
import random
import re
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile

from pip._internal.models.index import PyPI

INDEX = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/") + "/"
NAMES = re.compile(
    r"jax|torch|tensorflow|keras|^tf-|-tf$|-tf-|flax|optax|neural|deep|lightning|transformer|diffusion|gan-|-gan|"
    r"reinforce|-rl$|^rl-|bayes|-nn$|^nn-|ml-|-ml$|vision|speech|nlp|pinn")
IMPORTS = re.compile(rb"^\s*(import|from) (jax|torch|tensorflow|keras|flax)\b", re.MULTILINE)
MAX_BYTES = 8_000_000
BATCH = 24


def fetch(url):
    with urllib.request.urlopen(url, timeout=120) as response:
        if int(response.headers.get("content-length") or 0) > MAX_BYTES and not url.endswith("/"):
            return None
        return response.read()


def members(url, archive):
    """Returns the Python files of an archive: (path, content)."""
    if url.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            files = [(member.name, tar.extractfile(member).read()) for member in tar if member.isfile()]
    else:
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            files = [(name, packed.read(name)) for name in packed.namelist()]
    safe = [(pathlib.PurePosixPath(name), content) for name, content in files]
    return [(path, content) for path, content in safe
            if path.suffix in (".py", ".ipynb") and not path.is_absolute() and ".." not in path.parts]


def download(name):
    """Returns the file name and the Python files of a package; `None` if the package is not drawn."""
    page = INDEX + name + "/"
    try:
        links = [urllib.parse.urljoin(page, link) for link in re.findall(r'href="([^"#]+)', fetch(page).decode())]
        sources = [link for link in links if link.endswith((".tar.gz", ".zip"))]
        url = (sources or [link for link in links if link.endswith(".whl")])[-1]
        archive = fetch(url)
        files = members(url, archive) if archive else []
    except (OSError, IndexError, ValueError, EOFError, tarfile.TarError, zipfile.BadZipFile):
        return None
    return (url.rsplit("/", 1)[1], files) if any(IMPORTS.search(content) for _, content in files) else None


def drawn_names(seed):
    """Returns the names of the index that suggest machine learning, in the order of the seed."""
    names = [name for name in re.findall(r'<a href="([^"/]+)/">', fetch(INDEX).decode()) if NAMES.search(name)]
    random.Random(seed).shuffle(names)
    return names


def listed_names(path):
    """Returns the names in a file, which may be the output of an earlier draw."""
    return [line.split()[0] for line in path.read_text().splitlines() if line.strip()]


def main():
    if len(sys.argv) == 3:
        names, folder = listed_names(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
        count = len(names)
    else:
        names, count, folder = drawn_names(int(sys.argv[1])), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    unpack(names, count, folder)


def unpack(names, count, folder):
    drawn = 0
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for start in range(0, len(names), BATCH):
            batch = names[start:start + BATCH]
            for name, package in zip(batch, pool.map(download, batch)):
                if package is None or drawn == count:
                    continue
                distribution, files = package
                for path, content in files:
                    target = folder / name / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                drawn += 1
                print(name, distribution, len(files), flush=True)
            if drawn == count:
                return
    sys.exit(f"only {drawn} packages were found")


main()
